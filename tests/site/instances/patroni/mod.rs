//! A database that fails over without a person, as `docs/instances.md` sets it up, while people sign up through three
//! instances and some are erased.
//!
//! `make test` kills, hangs and isolates the primary. `make torture NAME=failover` injects these and other
//! faults in random order.
//!
//! - `machine`: machines in a separate network.
//! - `cluster`: etcd, Patroni and PostgreSQL on these machines.
//! - `recorder`: the clients and the owner, and the history of what they did.
//! - `history`: compares the history with the list.

mod cluster;
mod history;
mod machine;
mod recorder;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, slice, thread,
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use tempfile::TempDir;

use super::{Instance, load_balancer::balancer};
use crate::{
    durability::env_number,
    postgres_server::free_port,
    process::{wait_until, wait_up_to},
    reverse_proxies::{ProxyProcess, haproxy, recipe_below},
};
use cluster::{Cluster, HEADING, RECOVERY_TIMEOUT};
use history::{Operation, Outcome, Violation, violations};
use machine::{Machine, REPORT, enter_network};
use recorder::{BALANCER, Recorder};

/// The name of the test for the test runner.
const TEST: &str =
    "instances::patroni::automatic_failover_neither_loses_nor_doubles_nor_restores_entries";

/// The role and the database of the recipe.
const USER: &str = "landing";
const PASSWORD: &str = "PASSWORD";

/// Sign-ups that must succeed after a fault before the machine comes back.
const SIGN_UPS_PER_STEP: usize = 100;

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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

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
        self.wait_for_sign_ups(SIGN_UPS_PER_STEP);
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
                println!("{REPORT}{fault}: without the standby: {recovered:.1?}");
                self.cluster.kill(primary);
                self.cluster.boot(standby);
                self.cluster.wait_until_not_promoted(standby);
                let since = self.recorder.now();
                self.cluster.boot(primary);
                self.wait_until_recovered_since(since)
            }
        }
    }

    fn wait_for_sign_ups(&self, number: usize) {
        let target = self.recorder.acknowledged() + number;
        wait_until("sign-ups succeed", || {
            thread::sleep(Duration::from_millis(10));
            self.recorder.acknowledged() >= target
        });
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
        self.wait_for_sign_ups(SIGN_UPS_PER_STEP);
        let successes = successes.expect("they were awaited").into_iter();
        successes.map(|(name, at)| (name, at - since)).collect()
    }

    /// Checks the list and the count while nobody signs up. Returns the history and the list.
    fn check(&self) -> (Vec<Operation>, Vec<String>) {
        let (history, _guard) = self.recorder.pause();
        // In one statement: a sign-up that has failed may be committed at any moment.
        let statement = "SELECT email FROM waitlist_entries UNION ALL SELECT sum(entries)::text FROM waitlist_count";
        let lines = self.cluster.sql(USER, statement);
        let (list, counts): (Vec<_>, Vec<_>) = lines
            .lines()
            .map(str::to_owned)
            .partition(|line| line.contains('@'));
        let count = counts[0].parse().expect("a number");
        let found = violations(&history, &list, count);
        for address in found.iter().filter_map(Violation::address) {
            for operation in history.iter().filter(|it| it.address == address) {
                println!("{REPORT}{operation:?}");
            }
        }
        assert_eq!(found, []);
        for instance in &self.instances {
            wait_until("the instance's count is exact", || {
                thread::sleep(Duration::from_millis(10));
                instance.count() == count
            });
        }
        (history, list)
    }
}

/// Plants a lost, a doubled and a resurrected entry and a wrong count in a list, and checks that each is found.
fn assert_checker_finds_planted_faults(history: &[Operation], list: &[String]) {
    let count = list.len() as u64;
    let addresses = |outcomes: &[Outcome]| -> BTreeSet<&String> {
        let found = history.iter().filter(|it| outcomes.contains(&it.outcome));
        found.map(|it| &it.address).collect()
    };
    let added = addresses(&[Outcome::Added]);
    let erased = addresses(&[Outcome::Erased]);
    let maybe_erased = addresses(&[Outcome::Erased, Outcome::MaybeErased, Outcome::NotListed]);
    // One client signs up with such an address, and the owner erases it after the response.
    let first = |is_wanted: &dyn Fn(&String) -> bool| -> String {
        let mut certain = added.iter().filter(|it| recorder::has_one_client(it));
        let found = certain.find(|it| is_wanted(it));
        found.expect("such an entry").to_string()
    };
    let kept = first(&|it| !maybe_erased.contains(it));
    let gone = first(&|it| erased.contains(it));

    let without: Vec<_> = list.iter().filter(|it| **it != kept).cloned().collect();
    let is_lost = [Violation::Lost(kept.clone())];
    assert_eq!(violations(history, &without, count - 1), is_lost);
    let doubled = [list, slice::from_ref(&kept)].concat();
    let is_doubled = [Violation::Doubled(kept)];
    assert_eq!(violations(history, &doubled, count + 1), is_doubled);
    let resurrected = [list, slice::from_ref(&gone)].concat();
    let is_resurrected = [Violation::Resurrected(gone)];
    assert_eq!(violations(history, &resurrected, count + 1), is_resurrected);
    let wrong = Violation::WrongCount {
        entries: count,
        count: count + 1,
    };
    assert_eq!(violations(history, list, count + 1), [wrong]);
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
        let (_, list) = site.check();
        let entries = list.len();
        println!(
            "{REPORT}round {round}: {fault}: recovered after {recovered:.1?}; {entries} entries"
        );
    }
    let (history, list) = site.check();
    assert_checker_finds_planted_faults(&history, &list);
    let Site { recorder, .. } = site;
    let (statuses, erased) = recorder.finish();
    println!(
        "{REPORT}{} faults, {erased} erased, {statuses:?}",
        faults.len()
    );
    let is_expected = |status: &u16| [201, 409, 503].contains(status);
    assert!(statuses.keys().all(is_expected), "{statuses:?}");
    assert!(erased > 0, "no erasure succeeded");
}
