//! Faults of the database while people sign up through three instances, and the owner erases, corrects and sends.
//!
//! The test injects each fault once, in a fixed order. `make torture NAME=faults MINUTES=20` injects them in
//! random order, and also fills the disk.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{Instance, check_list, owner::Owner, recorder::Recorder, resume, suspend};
use crate::{
    durability::env_number,
    fault_proxy::FaultProxy,
    postgres_server::{PostgresServer, free_port},
    process::{has_stopped, signal, signal_if_running, wait_until},
};

const LIST: &str = "list0";

/// A fault of the database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    /// All connections are closed.
    Disconnected,
    /// Connections stay open, but no byte arrives.
    BlackHole,
    /// The backend of one connection hangs.
    HungBackend,
    /// All processes of the database hang.
    HungServer,
    /// A transaction has locked this table.
    Locked(&'static str),
    /// The disk is full.
    FullDisk,
    /// The instances may not insert entries.
    Revoked,
    /// An administrator cancels all running statements.
    Cancelled,
    /// The standby that each commit waits for is down. An administrator ends the waits with this function.
    LostStandby(&'static str),
    /// The database restarts, stopped in this mode.
    Restarted(&'static str),
    /// The standby takes over.
    Failover,
}

/// The faults of `make test`. The others have tests of their own, with one instance, in `store/postgres/`.
const FEW_FAULTS: [Fault; 5] = [
    Fault::BlackHole,
    Fault::HungBackend,
    Fault::HungServer,
    Fault::Restarted("immediate"),
    Fault::Failover,
];

/// `make torture NAME=faults` chooses from these.
const FAULTS: [Fault; 14] = [
    Fault::Disconnected,
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

/// A small tmpfs, which the test can fill. Only root may mount one.
struct SmallDisk(TempDir);

const MOUNT_OPTIONS: &str = "size=400m,mode=755";

impl SmallDisk {
    fn new() -> Self {
        let folder = TempDir::new().expect("a directory");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permitted");
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

/// The database and its standby, each behind a proxy, and the instances.
struct Cluster {
    primary: PostgresServer,
    standby: PostgresServer,
    /// Dropped after the servers, whose data they hold.
    _disks: Vec<SmallDisk>,
    proxies: [FaultProxy; 2],
    /// Runs the proxies.
    _runtime: Runtime,
    instances: [Instance; 3],
    random: SmallRng,
    /// Longest pause, in milliseconds.
    pause_max: u64,
}

impl Cluster {
    fn new(seed: u64, has_small_disks: bool) -> Self {
        let disks: Vec<_> = (0..2)
            .filter(|_| has_small_disks)
            .map(|_| SmallDisk::new())
            .collect();
        let disk = |index: usize| {
            disks
                .get(index)
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
        let runtime = Runtime::new().expect("a runtime");
        let proxies =
            [primary.port, standby.port].map(|port| runtime.block_on(FaultProxy::start(port, "")));
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
            _runtime: runtime,
            instances,
            random: SmallRng::seed_from_u64(seed),
            pause_max: if has_small_disks { 14_000 } else { 5_000 },
        }
    }

    /// Waits for a random time: longer than the timeout of an attempt, and sometimes than the timeout of a request.
    fn pause(&mut self) {
        let millis = self.random.random_range(500..self.pause_max);
        thread::sleep(Duration::from_millis(millis));
    }

    fn sql(&self, statement: &str) -> String {
        self.primary.sql(LIST, statement)
    }

    fn call_for_all_backends(&self, function: &str) {
        self.sql(&format!(
            "SELECT count({function}(pid)) FROM pg_stat_activity WHERE usename = 'site'"
        ));
    }

    /// Injects a fault, and ends it.
    fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::Disconnected => self.call_for_all_backends("pg_terminate_backend"),
            Fault::BlackHole => {
                self.proxies.iter().for_each(|proxy| proxy.set_paused(true));
                self.pause();
                self.proxies
                    .iter()
                    .for_each(|proxy| proxy.set_paused(false));
            }
            Fault::HungBackend => {
                let pid = self.suspend_a_backend();
                self.pause();
                signal(pid, "-CONT");
            }
            Fault::HungServer => {
                let suspended = suspend(&self.primary);
                self.pause();
                resume(&suspended);
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
            Fault::LostStandby(function) => {
                self.standby.down("fast");
                for _ in 0..20 {
                    self.call_for_all_backends(function);
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

    /// Stops a backend. One of a command of the owner may be ending, so another one is chosen then.
    fn suspend_a_backend(&mut self) -> u32 {
        loop {
            let pids = self.sql("SELECT pid FROM pg_stat_activity WHERE usename = 'site'");
            let pids: Vec<&str> = pids.lines().collect();
            let pid = pids.choose(&mut self.random).expect("a backend");
            let pid = pid.parse().expect("a pid");
            if signal_if_running(pid, "-STOP") && has_stopped(pid) {
                return pid;
            }
        }
    }

    fn fill_disk(&mut self) {
        let ballast = self.primary.folder().with_file_name("ballast");
        let mut file = fs::File::create(&ballast).expect("writable");
        // To the last page. PostgreSQL would write to the rest, so an outage could end and begin again.
        for bytes in [1 << 16, 1 << 9] {
            while std::io::Write::write_all(&mut file, &vec![0; bytes]).is_ok() {}
        }
        self.pause();
        fs::remove_file(&ballast).expect("removable");
        // PostgreSQL shuts down when it cannot write its WAL.
        if !self.primary.is_up() {
            self.primary.up();
        }
    }

    fn fail_over(&mut self) {
        self.primary.down("immediate");
        self.standby.promote();
        std::mem::swap(&mut self.primary, &mut self.standby);
        self.pause();
        // The old primary is rebuilt as a standby of the new one.
        let port = self.standby.port;
        let disk = self.standby.folder().parent().expect("a parent").to_owned();
        // A small disk does not have room for both.
        fs::remove_dir_all(self.standby.folder()).expect("removable");
        self.standby = PostgresServer::standby_in(&disk, port, &self.primary);
        enable_synchronous_replication(&self.primary);
    }
}

/// Makes each commit wait for the standby, and waits until the setting applies.
fn enable_synchronous_replication(primary: &PostgresServer) {
    primary.set_synchronous_standby("*");
    wait_until("the standby is synchronous", || {
        let standbys = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        primary.sql("postgres", standbys) != "0"
    });
}

#[test]
fn no_database_fault_loses_duplicates_or_restores_an_entry() {
    let minutes = env_number("FAULT_MINUTES", 0);
    let seed = env_number("FAULT_SEED", rand::rng().random_range(0..1_000_000));
    println!("FAULT_SEED={seed}");
    let mut cluster = Cluster::new(seed, minutes > 0);
    let end = (minutes > 0).then(|| Instant::now() + Duration::from_secs(60 * minutes));
    let origins = ["a", "b", "c"].into_iter().zip(&cluster.instances);
    let origins = origins.map(|(name, it)| (name, format!("http://{}", it.addr)));
    let clients = Recorder::start(origins.collect(), &cluster.instances[0].database);
    clients.wait_for_sign_ups("without a fault");
    let mut owner = Owner::new(&cluster.instances[0].database);
    let mut round = 0;
    loop {
        let fault = match end {
            Some(end) if Instant::now() > end => break,
            Some(_) => *FAULTS.choose(&mut cluster.random).expect("a fault"),
            None if round == FEW_FAULTS.len() => break,
            None => FEW_FAULTS[round],
        };
        round += 1;
        let before = cluster.instances.each_ref().map(Instance::outages);
        let running = owner.start();
        cluster.inject(fault);
        for instance in &cluster.instances {
            instance.wait_for("/readyz", "200");
        }
        clients.wait_for_sign_ups(&format!("{fault:?}"));
        owner.finish(running);
        for (instance, before) in cluster.instances.iter().zip(before) {
            let after = instance.outages();
            let (starts, ends) = (after.0 - before.0, after.1 - before.1);
            println!("{fault:?}: outages: {starts} started, {ends} ended");
            assert!(
                starts <= 1 && starts == ends,
                "{fault:?}: an outage is logged once, and its end too: {:#?}",
                instance.log_without_requests()
            );
        }
    }
    for instance in &cluster.instances {
        instance.wait_for("/readyz", "200");
    }
    check_list(&clients, &cluster.instances, |it| cluster.sql(it));
    println!("{round} faults, {:?}", clients.finish());
    owner.assert_promises(&cluster.primary, LIST);
}
