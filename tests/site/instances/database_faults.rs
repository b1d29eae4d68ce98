//! Faults of the database, while people sign up by three instances and some are erased. The tests have each fault
//! once, in a fixed order; `make faults MINUTES=20` has them in random order, and a full disk too.

use std::{
    env, fmt, fs,
    os::unix::fs::PermissionsExt,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use tempfile::TempDir;

use super::{Clients, Copy, pausable_proxy::Line};
use crate::{
    postgres_server::{Server, free_port},
    process::{signal, wait_until},
};

const LIST: &str = "list0";

/// What happens to the database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    /// All connections are cut.
    Cut,
    /// Nothing arrives any more, and nothing is closed.
    BlackHole,
    /// A process of the database hangs that serves an instance.
    HungBackend,
    /// All of them hang.
    HungServer,
    /// Somebody has locked the entries, or the count.
    Locked(&'static str),
    /// There is no room left.
    FullDisk,
    /// The right to sign people up is gone.
    Revoked,
    /// An administrator cancels whatever runs.
    Cancelled,
    /// The standby is gone that each commit waits for, and an administrator ends the waits.
    NoStandby(&'static str),
    /// It starts anew.
    Restarted(&'static str),
    /// The standby takes over.
    Failover,
}

const FAULTS: [Fault; 14] = [
    Fault::Cut,
    Fault::BlackHole,
    Fault::HungBackend,
    Fault::HungServer,
    Fault::Locked("waitlist_entries"),
    Fault::Locked("waitlist_count"),
    Fault::FullDisk,
    Fault::Revoked,
    Fault::Cancelled,
    Fault::NoStandby("pg_cancel_backend"),
    Fault::NoStandby("pg_terminate_backend"),
    Fault::Restarted("fast"),
    Fault::Restarted("immediate"),
    Fault::Failover,
];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A small disk in memory, so that it can be full. Only root may make one.
struct Disk(TempDir);

const DISK: &str = "size=400m,mode=755";

impl Disk {
    fn new() -> Self {
        let folder = TempDir::new().expect("a directory");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        let disk = Self(folder);
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", DISK, "tmpfs"])
            .arg(disk.0.path())
            .status();
        assert!(mounted.is_ok_and(|it| it.success()), "run this as root");
        disk
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// The database with its standby, each behind a line, and the instances.
struct Stage {
    first: Server,
    standby: Server,
    /// After the servers, which are on them.
    _disks: Vec<Disk>,
    lines: [Line; 2],
    instances: [Copy; 3],
    random: SmallRng,
    /// In milliseconds.
    pause_max: u64,
}

impl Stage {
    fn new(seed: u64, has_small_disks: bool) -> Self {
        let disks: Vec<_> = (0..2)
            .filter(|_| has_small_disks)
            .map(|_| Disk::new())
            .collect();
        let disk = |at: usize| {
            disks
                .get(at)
                .map_or(env::temp_dir(), |disk| disk.0.path().to_owned())
        };
        let settings = [
            "max_wal_size = 64MB",
            "min_wal_size = 32MB",
            "wal_keep_size = 64MB",
        ];
        let first = Server::in_folder(&disk(0), &settings);
        first.sql("postgres", "CREATE ROLE site LOGIN PASSWORD 'secret'");
        first.sql("postgres", &format!("CREATE DATABASE {LIST} OWNER site"));
        let standby = Server::standby_in(&disk(1), free_port(), &first);
        wait_for_each_other(&first);
        let lines = [Line::to(first.port), Line::to(standby.port)];
        let url = format!(
            "postgres://site:secret@127.0.0.1:{},127.0.0.1:{}/{LIST}",
            lines[0].port, lines[1].port
        );
        let instances = [(); 3].map(|()| Copy::start(&url));
        Self {
            first,
            standby,
            _disks: disks,
            lines,
            instances,
            random: SmallRng::seed_from_u64(seed),
            pause_max: if has_small_disks { 14_000 } else { 5_000 },
        }
    }

    /// For longer than an attempt, at times for longer than a visitor waits.
    fn pause(&mut self) {
        let millis = self.random.random_range(500..self.pause_max);
        thread::sleep(Duration::from_millis(millis));
    }

    fn sql(&self, statement: &str) -> String {
        self.first.sql(LIST, statement)
    }

    fn on_all(&self, what: &str) {
        self.sql(&format!(
            "SELECT count({what}(pid)) FROM pg_stat_activity WHERE usename = 'site'"
        ));
    }

    /// Does it, and undoes it.
    fn suffer(&mut self, fault: Fault) {
        match fault {
            Fault::Cut => self.on_all("pg_terminate_backend"),
            Fault::BlackHole => {
                self.lines.iter().for_each(|line| line.swallow(true));
                self.pause();
                self.lines.iter().for_each(|line| line.swallow(false));
            }
            Fault::HungBackend => {
                let pids = self.sql("SELECT pid FROM pg_stat_activity WHERE usename = 'site'");
                let pids: Vec<u32> = pids
                    .lines()
                    .map(|pid| pid.parse().expect("a pid"))
                    .collect();
                let pid = *pids.choose(&mut self.random).expect("there are some");
                signal(pid, "-STOP");
                self.pause();
                signal(pid, "-CONT");
            }
            Fault::HungServer => {
                let stopped = self.first.processes();
                stopped.iter().for_each(|pid| signal(*pid, "-STOP"));
                self.pause();
                stopped.iter().for_each(|pid| signal(*pid, "-CONT"));
            }
            Fault::Locked(table) => {
                let millis = self.random.random_range(500..self.pause_max);
                self.sql(&format!(
                    "BEGIN; LOCK TABLE {table} IN SHARE MODE; SELECT pg_sleep({millis} / 1000.0); COMMIT"
                ));
            }
            Fault::FullDisk => self.fill_the_disk(),
            Fault::Revoked => {
                self.sql("REVOKE INSERT ON waitlist_entries FROM site");
                self.pause();
                self.sql("GRANT INSERT ON waitlist_entries TO site");
            }
            Fault::Cancelled => {
                for _ in 0..40 {
                    self.on_all("pg_cancel_backend");
                    thread::sleep(Duration::from_millis(50));
                }
            }
            Fault::NoStandby(end) => {
                self.standby.down("fast");
                for _ in 0..20 {
                    self.on_all(end);
                    thread::sleep(Duration::from_millis(100));
                }
                self.pause();
                self.standby.up();
            }
            Fault::Restarted(mode) => {
                self.first.down(mode);
                self.pause();
                self.first.up();
            }
            Fault::Failover => self.fail_over(),
        }
    }

    fn fill_the_disk(&mut self) {
        let ballast = self.first.folder().with_file_name("ballast");
        let mut file = fs::File::create(&ballast).expect("there is room");
        while std::io::Write::write_all(&mut file, &[0; 1 << 16]).is_ok() {}
        self.pause();
        fs::remove_file(&ballast).expect("ours");
        // It stops itself when there is no room for its log.
        if !self.first.is_up() {
            self.first.up();
        }
    }

    fn fail_over(&mut self) {
        self.first.down("immediate");
        self.standby.promote();
        std::mem::swap(&mut self.first, &mut self.standby);
        self.pause();
        // The old one comes back as the standby of the new one, without what only it had.
        let port = self.standby.port;
        let disk = self
            .standby
            .folder()
            .parent()
            .expect("it has one")
            .to_owned();
        self.standby = Server::standby_in(&disk, port, &self.first);
        wait_for_each_other(&self.first);
    }
}

/// From now on nobody is answered before the standby has it.
fn wait_for_each_other(first: &Server) {
    first.sql(
        "postgres",
        "ALTER SYSTEM SET synchronous_standby_names = '*'",
    );
    first.sql("postgres", "SELECT pg_reload_conf()");
    wait_until("the standby is waited for", || {
        let standbys = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        first.sql("postgres", standbys) != "0"
    });
}

/// Erases somebody as the owner does, and says whether that is certain.
fn erase(url: &str, address: &str) -> bool {
    let erased = Command::new(env!("CARGO_BIN_EXE_landing"))
        .env_clear()
        .env("DATABASE_URL", url)
        .args(["erase", address])
        .output()
        .expect("it runs");
    erased.status.success()
}

#[test]
fn whatever_happens_to_the_database_nobody_is_lost_or_doubled_or_comes_back() {
    let minutes = env::var("FAULT_MINUTES")
        .ok()
        .map(|it| it.parse().expect("a number"));
    let seed = env::var("FAULT_SEED")
        .ok()
        .map(|it| it.parse().expect("a number"));
    let seed = seed.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    println!("FAULT_SEED={seed}");
    let mut stage = Stage::new(seed, minutes.is_some());
    let end = minutes.map(|minutes: u64| Instant::now() + Duration::from_secs(60 * minutes));
    let origins = stage
        .instances
        .iter()
        .map(|copy| format!("http://{}", copy.addr));
    let clients = Clients::come_to_all(origins.collect());
    clients.wait_for_more("all is well");
    let (mut suffered, mut erased, mut turn) = (0, Vec::new(), 0);
    loop {
        let fault = match end {
            Some(end) if Instant::now() > end => break,
            Some(_) => *FAULTS.choose(&mut stage.random).expect("there are some"),
            // In the tests each once, but for the disk.
            None if turn == FAULTS.len() => break,
            None => FAULTS[turn],
        };
        turn += 1;
        if fault == Fault::FullDisk && end.is_none() {
            continue;
        }
        let before = stage.instances.each_ref().map(Copy::outages);
        let leaves = clients.anybody().expect("somebody is on the list");
        clients.note_erased(leaves.clone());
        let url = stage.instances[0].database.clone();
        let erasing = thread::spawn({
            let leaves = leaves.clone();
            move || erase(&url, &leaves)
        });
        stage.suffer(fault);
        for copy in &stage.instances {
            copy.wait_for("/readyz", "200");
        }
        clients.wait_for_more(&fault.to_string());
        if erasing.join().expect("no panic") {
            erased.push(leaves);
        }
        for (copy, before) in stage.instances.iter().zip(before) {
            let after = copy.outages();
            let (lost, back) = (after.0 - before.0, after.1 - before.1);
            println!("{fault}: {lost} lost, {back} back");
            assert!(
                lost <= 1,
                "{fault}: an outage is told of once, and not {lost} times"
            );
            assert_eq!(lost, back, "{fault}");
        }
        suffered += 1;
    }
    let told = clients.leave();
    println!(
        "{suffered} faults, {} erased, {:?}",
        erased.len(),
        told.statuses
    );
    let is_expected = |status: &u16| [201, 409, 503].contains(status);
    assert!(told.statuses.keys().all(is_expected), "{:?}", told.statuses);
    for copy in &stage.instances {
        copy.wait_for("/readyz", "200");
    }
    let listed = told.is_kept_by(&stage.first, LIST);
    let people = stage.sql("SELECT email FROM waitlist_entries");
    for address in &erased {
        assert!(!people.lines().any(|it| it == address), "{address} is back");
    }
    assert!(!erased.is_empty(), "erasures were put to the test");
    for copy in &stage.instances {
        wait_until("an instance counts everybody", || copy.count() == listed);
    }
}
