//! A database that fails over without a person, as `docs/instances.md` sets it up, while people sign up through three
//! instances and some are erased.
//!
//! `make test` kills, hangs and isolates the primary. `make torture NAME=failover` injects these and other
//! faults in random order.
//!
//! - `machine`: machines in a separate network.
//! - `cluster`: etcd, Patroni and PostgreSQL on these machines.

mod cluster;
pub(super) mod machine;

use std::{collections::BTreeMap, thread, time::Duration};

use rand::{RngExt, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use tempfile::TempDir;

use super::{
    Instance, check_list,
    load_balancer::balancer,
    recorder::{BALANCER, Recorder},
};
use crate::{
    durability::env_number,
    postgres_server::free_port,
    process::wait_up_to,
    reverse_proxies::{ProxyProcess, haproxy, recipe_below},
};
use cluster::{Cluster, HEADING, RECOVERY_TIMEOUT};
use machine::{Machine, REPORT, enter_network};

/// The name of the test for the test runner.
const TEST: &str =
    "instances::patroni::automatic_failover_neither_loses_nor_doubles_nor_restores_entries";

/// The role and the database of the recipe.
const USER: &str = "landing";
const PASSWORD: &str = "PASSWORD";

/// A fault of the primary.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    /// The machine loses its power.
    Killed,
    /// All processes of the machine hang, and resume when another database is the primary.
    Hung,
    /// The machine has no network.
    Isolated,
    /// Patroni hangs, and PostgreSQL goes on, also after another database is the primary.
    PatroniHung,
    /// All processes of the machine hang, and resume some time later, perhaps while another database takes over.
    Suspended,
    /// The standby is lost, then the primary. The old standby returns first.
    BothKilled,
}

/// The fault of `make test`. A round takes 40 seconds.
const FEW_FAULTS: [Fault; 1] = [Fault::Killed];

/// `make torture NAME=failover` chooses from these.
const FAULTS: [Fault; 6] = [
    Fault::Killed,
    Fault::Hung,
    Fault::Isolated,
    Fault::PatroniHung,
    Fault::Suspended,
    Fault::BothKilled,
];

/// The cluster, the instances and the clients.
struct Site {
    recorder: Recorder,
    instances: [Instance; 3],
    _balancers: [ProxyProcess; 2],
    cluster: Cluster,
    random: SmallRng,
    _folder: TempDir,
}

impl Site {
    fn start(random: SmallRng) -> Self {
        let folder = TempDir::new().expect("a directory");
        let cluster = Cluster::start(folder.path());
        cluster.sql(
            "postgres",
            &format!("CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'"),
        );
        let create =
            format!("CREATE DATABASE {USER} OWNER {USER} ENCODING 'UTF8' TEMPLATE template0");
        cluster.sql("postgres", &create);
        let direct = cluster.url(USER, PASSWORD, USER);
        // The documented alternative to a URL with two hosts.
        let mut command = haproxy(folder.path(), &recipe_below(HEADING, "haproxy"), [""; 3]);
        let port = 5432;
        let database_balancer = ProxyProcess::start_at(&mut command, ("10.0.0.8", port));
        let balanced = format!("postgres://{USER}:{PASSWORD}@10.0.0.8/{USER}");
        let instances = [&direct, &direct, &balanced].map(|url| Instance::start(url));
        let balancer_folder = TempDir::new_in(folder.path()).expect("a directory");
        let port = free_port();
        let site_balancer = balancer(&balancer_folder, &instances, port);
        let origins = vec![
            ("a", format!("http://{}", instances[0].addr)),
            ("b", format!("http://{}", instances[1].addr)),
            ("c through HAProxy", format!("http://{}", instances[2].addr)),
            (BALANCER, format!("http://127.0.0.1:{port}")),
        ];
        Self {
            recorder: Recorder::start(origins, &direct),
            instances,
            _balancers: [database_balancer, site_balancer],
            cluster,
            random,
            _folder: folder,
        }
    }

    /// Injects a fault, waits until people can sign up again, and ends the fault. Returns the time until each site
    /// acknowledged a sign-up.
    fn inject(&mut self, fault: Fault) -> BTreeMap<&'static str, Duration> {
        let primary = self.cluster.wait_until_redundant();
        self.recorder.wait_for_sign_ups("before the fault");
        match fault {
            Fault::Killed => {
                self.cluster.kill(primary);
                let recovered = self.wait_until_recovered();
                self.cluster.boot(primary);
                recovered
            }
            Fault::Hung => {
                let stopped = self.cluster.machine(primary).stop("");
                let recovered = self.wait_until_recovered();
                Machine::resume(&stopped);
                recovered
            }
            Fault::Isolated => {
                self.cluster.machine(primary).set_isolated(true);
                let recovered = self.wait_until_recovered();
                self.cluster.machine(primary).set_isolated(false);
                recovered
            }
            Fault::PatroniHung => {
                let stopped = self.cluster.machine(primary).stop("/usr/bin/patroni");
                // Until then, people sign up with the old primary.
                self.cluster.wait_until_replaced(primary);
                let recovered = self.wait_until_recovered();
                self.check();
                Machine::resume(&stopped);
                recovered
            }
            Fault::Suspended => {
                let stopped = self.cluster.machine(primary).stop("");
                let since = self.recorder.now();
                let pause = self.random.random_range(1_000..40_000);
                thread::sleep(Duration::from_millis(pause));
                Machine::resume(&stopped);
                self.wait_until_recovered_since(since)
            }
            Fault::BothKilled => {
                let standby = 3 - primary;
                self.cluster.kill(standby);
                let recovered = self.wait_until_recovered();
                println!("{REPORT}{fault:?}: without the standby: {recovered:.1?}");
                self.cluster.kill(primary);
                self.cluster.boot(standby);
                self.cluster.wait_until_not_promoted(standby);
                let since = self.recorder.now();
                self.cluster.boot(primary);
                self.wait_until_recovered_since(since)
            }
        }
    }

    /// Waits until each site has acknowledged a sign-up that was sent after now. Returns how long each took.
    fn wait_until_recovered(&self) -> BTreeMap<&'static str, Duration> {
        self.wait_until_recovered_since(self.recorder.now())
    }

    fn wait_until_recovered_since(&self, since: Duration) -> BTreeMap<&'static str, Duration> {
        let mut successes = None;
        wait_up_to(RECOVERY_TIMEOUT, "people can sign up again", || {
            thread::sleep(Duration::from_millis(10));
            successes = self.recorder.successes_since(since);
            successes.is_some()
        });
        self.recorder.wait_for_sign_ups("after the fault");
        let successes = successes.expect("they were awaited").into_iter();
        successes.map(|(name, at)| (name, at - since)).collect()
    }

    /// Checks the list and the count, and returns the number of entries.
    fn check(&self) -> usize {
        let sql = |statement: &str| self.cluster.sql(USER, statement);
        check_list(&self.recorder, &self.instances, sql)
    }
}

#[test]
fn automatic_failover_neither_loses_nor_doubles_nor_restores_entries() {
    if !enter_network(TEST) {
        return;
    }
    let rounds = env_number("FAILOVER_ROUNDS", 0);
    let seed = env_number("FAILOVER_SEED", rand::rng().random_range(0..1_000_000));
    println!("{REPORT}FAILOVER_SEED={seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let any = |_| *FAULTS.choose(&mut random).expect("a fault");
    let faults = match rounds {
        0 => FEW_FAULTS.to_vec(),
        rounds => (0..rounds).map(any).collect(),
    };
    let mut site = Site::start(random);
    for (round, fault) in (1..).zip(&faults) {
        let recovered = site.inject(*fault);
        site.cluster.wait_until_redundant();
        let entries = site.check();
        println!(
            "{REPORT}round {round}: {fault:?}: recovered after {recovered:.1?}; {entries} entries"
        );
    }
    site.check();
    let Site { recorder, .. } = site;
    println!("{REPORT}{} faults, {:?}", faults.len(), recorder.finish());
}
