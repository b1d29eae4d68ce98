//! `make bench NAME=postgres`: compares durable sign-ups through one, two and three instances of the release with the
//! rows that pgbench inserts into the same PostgreSQL, in alternating runs.
//!
//! Also measures the size of an entry, and moves a list of a million people to the database and back.

#[allow(dead_code, reason = "the tests use the rest of this module")]
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
use server::{PROGRAM, Server, free_addr, landing_command, median, run_wrk, write_people};
use tempfile::TempDir;

const TARGET_FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target");
/// Runs of each load. The table shows medians.
const ROUNDS: usize = 5;
/// Duration of one run.
const RUN_DURATION: Duration = Duration::from_secs(4);
const INSTANCES: usize = 3;
const CLIENTS: [usize; 3] = [16, 64, 256];
/// The length of the list that is moved.
const PEOPLE: usize = 1_000_000;

/// The statement that pgbench runs. Unlike a sign-up, it updates no counter.
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
    let database = PostgresServer::in_folder(Path::new(TARGET_FOLDER), &settings);
    measure_throughput(&database).await;
    measure_transfers(&database);
}

async fn measure_throughput(database: &PostgresServer) {
    let (list_url, pgbench_url) = (database.create_database(), database.create_database());
    let name = database_name(&pgbench_url);
    database.sql(
        name,
        "CREATE TABLE people (email text PRIMARY KEY, joined_at timestamptz NOT NULL)",
    );
    database.write("insert.sql", INSERT);
    // Fill the WAL, so that PostgreSQL recycles its files like a server that has run for some time. Creating a new
    // file every second or so would slow down some runs.
    for statement in [
        "CREATE TABLE filler AS SELECT repeat('much', 250) FROM generate_series(1, 1000000)",
        "DROP TABLE filler",
        "CHECKPOINT",
    ] {
        database.sql(name, statement);
    }
    // A single instance gets two worker threads. Several instances get one each.
    let single = [start_instance(&list_url, 2).await];
    let mut instances = Vec::new();
    for _ in 0..INSTANCES {
        instances.push(start_instance(&list_url, 1).await);
    }
    println!("medians of {ROUNDS} runs of {RUN_DURATION:?} each\n");
    println!(
        "| clients | pgbench, rows/s | 1 instance, sign-ups/s | ratio | 2 instances | ratio | 3 instances | ratio | p50, p99 of 3 |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for clients in CLIENTS {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let rows = pgbench(database, name, clients);
            let sign_ups = [1, 2, 3].map(|count| {
                sign_ups(
                    if count == 1 {
                        &single
                    } else {
                        &instances[..count]
                    },
                    clients,
                    &format!("c{clients}r{round}n{count}"),
                )
            });
            rounds.push((rows, sign_ups));
        }
        let rows = median(rounds.iter().map(|(rows, _)| *rows).collect());
        let mut line = format!("| {clients} | {rows:.0} |");
        for index in 0..INSTANCES {
            let rate = median(rounds.iter().map(|(_, loads)| loads[index].rate).collect());
            let ratio = median(
                rounds
                    .iter()
                    .map(|(rows, loads)| loads[index].rate / rows)
                    .collect(),
            );
            line += &format!(" {rate:.0} | {ratio:.2} |");
        }
        let latency = |percentile: fn(&LoadResult) -> f64| {
            median(
                rounds
                    .iter()
                    .map(|(_, loads)| percentile(&loads[INSTANCES - 1]))
                    .collect(),
            )
        };
        println!(
            "{line} {:.1}, {:.1} ms |",
            latency(|it| it.p50),
            latency(|it| it.p99)
        );
    }
    let counts = database.sql(
        database_name(&list_url),
        "SELECT (SELECT count(*) FROM waitlist_entries), (SELECT sum(entries) FROM waitlist_count)",
    );
    let (rows, count) = counts.split_once('|').expect("two numbers");
    assert_eq!(rows, count, "the count is exact");
    println!("\n{count} people on the list, and the count is exact");
}

fn database_name(url: &str) -> &str {
    url.rsplit('/').next().expect("a name")
}

/// Starts an instance of the site with a database.
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

/// Runs pgbench, and returns the rows per second.
fn pgbench(database: &PostgresServer, name: &str, clients: usize) -> f64 {
    let (clients, seconds) = (clients.to_string(), RUN_DURATION.as_secs().to_string());
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
    rate.unwrap_or_else(|| panic!("no rate in the output of pgbench: {output}"))
}

/// The result of a load, in which each client signs up as soon as it has the response to its previous
/// sign-up.
struct LoadResult {
    /// Sign-ups per second.
    rate: f64,
    /// Milliseconds, of the slowest instance.
    p50: f64,
    p99: f64,
}

/// Loads the instances, and divides the clients between them.
fn sign_ups(instances: &[Server], clients: usize, tag: &str) -> LoadResult {
    let loads: Vec<_> = thread::scope(|scope| {
        let loading: Vec<_> = instances
            .iter()
            .enumerate()
            .map(|(index, instance)| {
                let threads = if instances.len() == 1 { "-t2" } else { "-t1" };
                let clients =
                    clients / instances.len() + usize::from(index < clients % instances.len());
                let tag = format!("{tag}x{index}");
                scope.spawn(move || load_instance(instance, threads, clients, &tag))
            })
            .collect();
        loading
            .into_iter()
            .map(|it| it.join().expect("wrk runs"))
            .collect()
    });
    let maximum = |value: fn(&LoadResult) -> f64| loads.iter().map(value).fold(0.0, f64::max);
    LoadResult {
        rate: loads.iter().map(|load| load.rate).sum(),
        p50: maximum(|load| load.p50),
        p99: maximum(|load| load.p99),
    }
}

fn load_instance(instance: &Server, threads: &str, clients: usize, tag: &str) -> LoadResult {
    let clients = clients.to_string();
    let call = ["POST", "/api/waitlist", tag];
    let [requests, micros, p50, p99] =
        run_wrk(instance, [threads, "-c", &clients], RUN_DURATION, call);
    LoadResult {
        rate: requests / (micros / 1e6),
        p50: p50 / 1e3,
        p99: p99 / 1e3,
    }
}

/// Moves a list of a million people from a directory to a database, and from there to another directory.
fn measure_transfers(database: &PostgresServer) {
    let folder = TempDir::new_in(TARGET_FOLDER).expect("`make build` creates the directory");
    let directory = folder.path();
    write_people(&directory.join("people.csv"), PEOPLE).expect("writable");
    run_landing(
        directory,
        &["import", "people.csv", "--store", "sled:first"],
        "first",
    );
    run_landing(
        directory,
        &["export", "--store", "sled:first", "-o", "first.csv"],
        "first",
    );
    let url = database.create_database();
    println!("\n| {PEOPLE} people | people/s |\n|---|---|");
    for (name, from, to) in [
        ("from sled to PostgreSQL", "sled:first", url.as_str()),
        ("the same again", "sled:first", &url),
        ("from PostgreSQL to sled", &url, "sled:second"),
    ] {
        let started = Instant::now();
        let mut export = command(directory, from)
            .arg("export")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let out = export.stdout.take().expect("standard output is piped");
        let import = command(directory, to)
            .arg("import")
            .stdin(out)
            .output()
            .expect("the program starts");
        assert!(
            export.wait().expect("the program ends").success() && import.status.success(),
            "{name}"
        );
        println!(
            "| {name}, `export \\| import` | {:.0} |",
            PEOPLE as f64 / started.elapsed().as_secs_f64()
        );
    }
    for command in ["export", "check"] {
        let started = Instant::now();
        run_landing(directory, &[command], &url);
        println!(
            "| {command} with PostgreSQL | {:.0} |",
            PEOPLE as f64 / started.elapsed().as_secs_f64()
        );
    }
    let export = |file: &str, store: &str| {
        run_landing(directory, &["export", "-o", file], store);
        fs::read(directory.join(file)).expect("readable")
    };
    let first = fs::read(directory.join("first.csv")).expect("readable");
    assert!(
        first == export("database.csv", &url),
        "the list in the database is the same"
    );
    assert!(
        first == export("second.csv", "sled:second"),
        "the list in the second directory is the same"
    );
    let size = |table: &str, function: &str| -> f64 {
        let statement = format!("SELECT {function}('{table}')");
        let size = database.sql(database_name(&url), &statement);
        size.parse::<f64>().expect("a number") / PEOPLE as f64
    };
    println!(
        "\nbytes per entry: {:.0} in the table, {:.0} in the index of keys, {:.0} in the index of times",
        size("waitlist_entries", "pg_table_size"),
        size("waitlist_entries_pkey", "pg_relation_size"),
        size("waitlist_entries_by_time", "pg_relation_size"),
    );
}

fn command(directory: &Path, store: &str) -> Command {
    let mut command = landing_command(directory);
    command.env("LANDING_STORE", store);
    command
}

fn run_landing(directory: &Path, args: &[&str], store: &str) {
    let out = File::create(directory.join("out")).expect("writable");
    let status = command(directory, store).args(args).stdout(out).status();
    assert!(status.expect("the program starts").success(), "{args:?}");
}
