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

use super::{Clients, Instance, pausable_proxy::PausableProxy};
use crate::{
    postgres_server::{PostgresServer, free_port},
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
    LostStandby(&'static str),
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
    Fault::LostStandby("pg_cancel_backend"),
    Fault::LostStandby("pg_terminate_backend"),
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
struct SmallDisk(TempDir);

const MOUNT_OPTIONS: &str = "size=400m,mode=755";

impl SmallDisk {
    fn new() -> Self {
        let folder = TempDir::new().expect("a directory");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        let disk = Self(folder);
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", MOUNT_OPTIONS, "tmpfs"])
            .arg(disk.0.path())
            .status();
        assert!(mounted.is_ok_and(|it| it.success()), "run this as root");
        disk
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// The database with its standby, each behind a line, and the instances.
struct Cluster {
    primary: PostgresServer,
    standby: PostgresServer,
    /// After the servers, which are on them.
    _disks: Vec<SmallDisk>,
    proxies: [PausableProxy; 2],
    instances: [Instance; 3],
    random: SmallRng,
    /// In milliseconds.
    pause_max: u64,
}

impl Cluster {
    fn new(seed: u64, has_small_disks: bool) -> Self {
        let disks: Vec<_> = (0..2)
            .filter(|_| has_small_disks)
            .map(|_| SmallDisk::new())
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
        let primary = PostgresServer::in_folder(&disk(0), &settings);
        primary.sql("postgres", "CREATE ROLE site LOGIN PASSWORD 'secret'");
        primary.sql("postgres", &format!("CREATE DATABASE {LIST} OWNER site"));
        let standby = PostgresServer::standby_in(&disk(1), free_port(), &primary);
        enable_synchronous_replication(&primary);
        let proxies = [
            PausableProxy::to(primary.port),
            PausableProxy::to(standby.port),
        ];
        let url = format!(
            "postgres://site:secret@127.0.0.1:{},127.0.0.1:{}/{LIST}",
            proxies[0].port, proxies[1].port
        );
        let instances = [(); 3].map(|()| Instance::start(&url));
        Self {
            primary,
            standby,
            _disks: disks,
            proxies,
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
        self.primary.sql(LIST, statement)
    }

    fn call_for_all_backends(&self, what: &str) {
        self.sql(&format!(
            "SELECT count({what}(pid)) FROM pg_stat_activity WHERE usename = 'site'"
        ));
    }

    /// Does it, and undoes it.
    fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::Cut => self.call_for_all_backends("pg_terminate_backend"),
            Fault::BlackHole => {
                self.proxies.iter().for_each(|proxy| proxy.set_paused(true));
                self.pause();
                self.proxies
                    .iter()
                    .for_each(|proxy| proxy.set_paused(false));
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
                let stopped = self.primary.processes();
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
            Fault::FullDisk => self.fill_disk(),
            Fault::Revoked => {
                self.sql("REVOKE INSERT ON waitlist_entries FROM site");
                self.pause();
                self.sql("GRANT INSERT ON waitlist_entries TO site");
            }
            Fault::Cancelled => {
                for _ in 0..40 {
                    self.call_for_all_backends("pg_cancel_backend");
                    thread::sleep(Duration::from_millis(50));
                }
            }
            Fault::LostStandby(end) => {
                self.standby.down("fast");
                for _ in 0..20 {
                    self.call_for_all_backends(end);
                    thread::sleep(Duration::from_millis(100));
                }
                self.pause();
                self.standby.up();
            }
            Fault::Restarted(mode) => {
                self.primary.down(mode);
                self.pause();
                self.primary.up();
            }
            Fault::Failover => self.fail_over(),
        }
    }

    fn fill_disk(&mut self) {
        let ballast = self.primary.folder().with_file_name("ballast");
        let mut file = fs::File::create(&ballast).expect("there is room");
        while std::io::Write::write_all(&mut file, &[0; 1 << 16]).is_ok() {}
        self.pause();
        fs::remove_file(&ballast).expect("ours");
        // It stops itself when there is no room for its log.
        if !self.primary.is_up() {
            self.primary.up();
        }
    }

    fn fail_over(&mut self) {
        self.primary.down("immediate");
        self.standby.promote();
        std::mem::swap(&mut self.primary, &mut self.standby);
        self.pause();
        // The old one comes back as the standby of the new one, without what only it had.
        let port = self.standby.port;
        let disk = self
            .standby
            .folder()
            .parent()
            .expect("it has one")
            .to_owned();
        self.standby = PostgresServer::standby_in(&disk, port, &self.primary);
        enable_synchronous_replication(&self.primary);
    }
}

/// From now on nobody is answered before the standby has it.
fn enable_synchronous_replication(primary: &PostgresServer) {
    primary.sql(
        "postgres",
        "ALTER SYSTEM SET synchronous_standby_names = '*'",
    );
    primary.sql("postgres", "SELECT pg_reload_conf()");
    wait_until("the standby is waited for", || {
        let standbys = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        primary.sql("postgres", standbys) != "0"
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
fn no_database_fault_loses_duplicates_or_restores_an_entry() {
    let minutes = env::var("FAULT_MINUTES")
        .ok()
        .map(|it| it.parse().expect("a number"));
    let seed = env::var("FAULT_SEED")
        .ok()
        .map(|it| it.parse().expect("a number"));
    let seed = seed.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    println!("FAULT_SEED={seed}");
    let mut cluster = Cluster::new(seed, minutes.is_some());
    let end = minutes.map(|minutes: u64| Instant::now() + Duration::from_secs(60 * minutes));
    let origins = cluster
        .instances
        .iter()
        .map(|instance| format!("http://{}", instance.addr));
    let clients = Clients::start_for_all(origins.collect());
    clients.wait_for_sign_ups("all is well");
    let (mut injected, mut erased, mut turn) = (0, Vec::new(), 0);
    loop {
        let fault = match end {
            Some(end) if Instant::now() > end => break,
            Some(_) => *FAULTS.choose(&mut cluster.random).expect("there are some"),
            // In the tests each once, but for the disk.
            None if turn == FAULTS.len() => break,
            None => FAULTS[turn],
        };
        turn += 1;
        if fault == Fault::FullDisk && end.is_none() {
            continue;
        }
        let before = cluster.instances.each_ref().map(Instance::outages);
        let erased_address = clients.any_acknowledged().expect("somebody is on the list");
        clients.note_erased(erased_address.clone());
        let url = cluster.instances[0].database.clone();
        let erasing = thread::spawn({
            let erased_address = erased_address.clone();
            move || erase(&url, &erased_address)
        });
        cluster.inject(fault);
        for instance in &cluster.instances {
            instance.wait_for("/readyz", "200");
        }
        clients.wait_for_sign_ups(&fault.to_string());
        if erasing.join().expect("no panic") {
            erased.push(erased_address);
        }
        for (instance, before) in cluster.instances.iter().zip(before) {
            let after = instance.outages();
            let (lost, back) = (after.0 - before.0, after.1 - before.1);
            println!("{fault}: {lost} lost, {back} back");
            assert!(
                lost <= 1,
                "{fault}: an outage is told of once, and not {lost} times"
            );
            assert_eq!(lost, back, "{fault}");
        }
        injected += 1;
    }
    let outcomes = clients.finish();
    println!(
        "{injected} faults, {} erased, {:?}",
        erased.len(),
        outcomes.statuses
    );
    let is_expected = |status: &u16| [201, 409, 503].contains(status);
    assert!(
        outcomes.statuses.keys().all(is_expected),
        "{:?}",
        outcomes.statuses
    );
    for instance in &cluster.instances {
        instance.wait_for("/readyz", "200");
    }
    let listed = outcomes.assert_stored_in(&cluster.primary, LIST);
    let people = cluster.sql("SELECT email FROM waitlist_entries");
    for address in &erased {
        assert!(!people.lines().any(|it| it == address), "{address} is back");
    }
    assert!(!erased.is_empty(), "erasures were put to the test");
    for instance in &cluster.instances {
        wait_until("an instance counts everybody", || {
            instance.count() == listed
        });
    }
}
