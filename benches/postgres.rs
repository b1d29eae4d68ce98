//! `make bench-postgres`: durable sign-ups a second through one, two and three instances of the release over
//! one PostgreSQL, beside the rows a second that its own benchmark inserts there, by turns; what an entry
//! takes there; and a list of a million people, moved there and back.

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/site/postgres_server.rs"]
mod postgres_server;
mod server;

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use postgres_server::PostgresServer;
use server::{PROGRAM, Server, free_addr, median, run_wrk, write_people};
use tempfile::TempDir;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target");
/// How often they take turns. The median counts.
const ROUNDS: usize = 5;
/// Of one turn.
const TURN_DURATION: Duration = Duration::from_secs(4);
const INSTANCES: usize = 3;
const CLIENTS: [usize; 3] = [16, 64, 256];
/// Of a list that is moved.
const PEOPLE: usize = 1_000_000;

/// What pgbench does: a row with a key, and nothing to count.
const INSERT: &str = "\\set number random(1, 1000000000000000)\n\
    INSERT INTO people (email, joined_at) VALUES ('person' || :number || '@example.com', now()) \
    ON CONFLICT (email) DO NOTHING;\n";

#[tokio::main]
async fn main() {
    let settings = [
        "max_connections = 400",
        "shared_buffers = 256MB",
        "min_wal_size = 1GB",
        "max_wal_size = 4GB",
    ];
    let database = PostgresServer::in_folder(Path::new(FOLDER), &settings);
    measure_throughput(&database).await;
    measure_transfers(&database);
}

async fn measure_throughput(database: &PostgresServer) {
    let (ours, theirs) = (database.create_database(), database.create_database());
    let name = theirs.rsplit('/').next().expect("a name");
    database.sql(
        name,
        "CREATE TABLE people (email text PRIMARY KEY, joined_at timestamptz NOT NULL)",
    );
    database.write("insert.sql", INSERT);
    // Like a server that has run for a while: the files of its log are there, to be used again. A new one,
    // every second or so, holds up whoever has their turn.
    for statement in [
        "CREATE TABLE much AS SELECT repeat('much', 250) FROM generate_series(1, 1000000)",
        "DROP TABLE much",
        "CHECKPOINT",
    ] {
        database.sql(name, statement);
    }
    // One that has the processors to itself, and several that share them.
    let alone = [start_instance(&ours, 2).await];
    let mut instances = Vec::new();
    for _ in 0..INSTANCES {
        instances.push(start_instance(&ours, 1).await);
    }
    println!("{ROUNDS} turns of {TURN_DURATION:?} each; medians\n");
    println!(
        "| clients | pgbench, rows/s | 1 copy, sign-ups/s | ratio | 2 instances | ratio | 3 instances | ratio | p50, p99 of 3 |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for clients in CLIENTS {
        let mut turns = Vec::new();
        for round in 0..ROUNDS {
            let rows = pgbench(database, name, clients);
            let sign_ups = [1, 2, 3].map(|number| {
                sign_ups(
                    if number == 1 {
                        &alone
                    } else {
                        &instances[..number]
                    },
                    clients,
                    &format!("c{clients}r{round}n{number}"),
                )
            });
            turns.push((rows, sign_ups));
        }
        let rows = median(turns.iter().map(|(rows, _)| *rows).collect());
        let mut line = format!("| {clients} | {rows:.0} |");
        for number in 0..INSTANCES {
            let rate = median(turns.iter().map(|(_, ours)| ours[number].rate).collect());
            let ratio = median(
                turns
                    .iter()
                    .map(|(rows, ours)| ours[number].rate / rows)
                    .collect(),
            );
            line += &format!(" {rate:.0} | {ratio:.2} |");
        }
        let latency = |of: fn(&LoadResult) -> f64| {
            median(
                turns
                    .iter()
                    .map(|(_, ours)| of(&ours[INSTANCES - 1]))
                    .collect(),
            )
        };
        println!(
            "{line} {:.1}, {:.1} ms |",
            latency(|it| it.p50),
            latency(|it| it.p99)
        );
    }
    let list = ours.rsplit('/').next().expect("a name");
    let counts = database.sql(
        list,
        "SELECT (SELECT count(*) FROM waitlist_entries), (SELECT sum(entries) FROM waitlist_count)",
    );
    let (rows, count) = counts.split_once('|').expect("two numbers");
    assert_eq!(rows, count, "the count is exact");
    println!("\n{count} on the list, counted exactly");
}

/// A copy of the site over a database.
async fn start_instance(database: &str, threads: usize) -> Server {
    let addr = free_addr();
    let mut command = Command::new(PROGRAM);
    command
        .args([
            "--addr",
            &addr.to_string(),
            "--trusted-proxies=127.0.0.1",
            "--signups-per-minute=0",
        ])
        .env("TOKIO_WORKER_THREADS", threads.to_string())
        .env("DATABASE_URL", database);
    Server::start(addr, command).await
}

/// Rows a second.
fn pgbench(database: &PostgresServer, name: &str, clients: usize) -> f64 {
    let (clients, seconds) = (clients.to_string(), TURN_DURATION.as_secs().to_string());
    let url = database.url(name);
    let args = [
        "-n",
        "-M",
        "prepared",
        "-j",
        "2",
        "-c",
        &clients,
        "-T",
        &seconds,
        "-f",
        "insert.sql",
        &url,
    ];
    let done = database.run("pgbench", &args);
    let output =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let rate = output
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("pgbench ends with a rate: {output}"))
}

/// What clients have had, who sign up as soon as they have their last answer.
struct LoadResult {
    /// Sign-ups a second.
    rate: f64,
    /// Milliseconds, of the slowest copy.
    p50: f64,
    p99: f64,
}

fn sign_ups(instances: &[Server], clients: usize, tag: &str) -> LoadResult {
    let loads: Vec<_> = thread::scope(|scope| {
        let loading: Vec<_> = instances
            .iter()
            .enumerate()
            .map(|(number, instance)| {
                let threads = if instances.len() == 1 { "-t2" } else { "-t1" };
                let clients =
                    clients / instances.len() + usize::from(number < clients % instances.len());
                let tag = format!("{tag}x{number}");
                scope.spawn(move || load_instance(instance, threads, clients, &tag))
            })
            .collect();
        loading
            .into_iter()
            .map(|it| it.join().expect("wrk runs"))
            .collect()
    });
    let most = |of: fn(&LoadResult) -> f64| loads.iter().map(of).fold(0.0, f64::max);
    LoadResult {
        rate: loads.iter().map(|load| load.rate).sum(),
        p50: most(|load| load.p50),
        p99: most(|load| load.p99),
    }
}

fn load_instance(instance: &Server, threads: &str, clients: usize, tag: &str) -> LoadResult {
    let clients = clients.to_string();
    let call = ["POST", "/api/waitlist", tag];
    let [requests, micros, p50, p99] =
        run_wrk(instance, [threads, "-c", &clients], TURN_DURATION, call);
    LoadResult {
        rate: requests / (micros / 1e6),
        p50: p50 / 1e3,
        p99: p99 / 1e3,
    }
}

/// A list of a million, from a directory into a database, and from there into another directory.
fn measure_transfers(database: &PostgresServer) {
    let folder = TempDir::new_in(FOLDER).expect("make build makes it");
    let here = folder.path();
    write_people(&here.join("people.csv"), PEOPLE).expect("writable");
    landing(
        here,
        &["import", "people.csv", "--store", "sled:first"],
        "first",
    );
    landing(
        here,
        &["export", "--store", "sled:first", "-o", "first.csv"],
        "first",
    );
    let url = database.create_database();
    println!("\n| {PEOPLE} people | people a second |\n|---|---|");
    for (what, from, to) in [
        ("from sled to PostgreSQL", "sled:first", url.as_str()),
        ("the same again", "sled:first", &url),
        ("from PostgreSQL to sled", &url, "sled:second"),
    ] {
        let started = Instant::now();
        let mut export = command(here, from)
            .arg("export")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let out = export.stdout.take().expect("it is piped");
        let import = command(here, to)
            .arg("import")
            .stdin(out)
            .output()
            .expect("it starts");
        assert!(
            export.wait().expect("it ends").success() && import.status.success(),
            "{what}"
        );
        println!(
            "| {what}, `export \\| import` | {:.0} |",
            PEOPLE as f64 / started.elapsed().as_secs_f64()
        );
    }
    for (what, store) in [
        ("export from PostgreSQL", url.as_str()),
        ("check in PostgreSQL", &url),
    ] {
        let started = Instant::now();
        let command = what.split(' ').next().expect("a word");
        landing(here, &[command], store);
        println!(
            "| {what} | {:.0} |",
            PEOPLE as f64 / started.elapsed().as_secs_f64()
        );
    }
    let export = |name: &str, store: &str| {
        landing(here, &["export", "-o", name], store);
        fs::read(here.join(name)).expect("readable")
    };
    let first = fs::read(here.join("first.csv")).expect("readable");
    assert!(
        first == export("database.csv", &url),
        "the list there is the same"
    );
    assert!(
        first == export("second.csv", "sled:second"),
        "and back again"
    );
    let name = url.rsplit('/').next().expect("a name");
    let size = |table: &str, of: &str| -> f64 {
        let size = database.sql(name, &format!("SELECT {of}('{table}')"));
        size.parse::<f64>().expect("a number") / PEOPLE as f64
    };
    println!(
        "\nbytes of each entry: {:.0} in the table, {:.0} in the key's index, {:.0} in that of time",
        size("waitlist_entries", "pg_table_size"),
        size("waitlist_entries_pkey", "pg_relation_size"),
        size("waitlist_entries_by_time", "pg_relation_size"),
    );
}

fn command(here: &Path, store: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(here).env("LANDING_STORE", store);
    command
}

fn landing(here: &Path, args: &[&str], store: &str) {
    let out = File::create(here.join("out")).expect("writable");
    let done = command(here, store).args(args).stdout(out).status();
    assert!(done.expect("it starts").success(), "{args:?}");
}
