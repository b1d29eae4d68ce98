//! Several instances over one database.

use std::{
    env,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use landing::waitlist::{DatabaseUrl, Erasure, JoinOutcome, OwnerList, PostgresWaitlist, Waitlist};
use tokio::task::JoinSet;

use super::{SharedDatabase, open, wait_for_count};
use crate::{
    postgres_server::{self, PostgresServer},
    store::{email, entries, entry, erase, join},
};

fn open_three(url: &DatabaseUrl) -> [Arc<PostgresWaitlist>; 3] {
    [(); 3].map(|()| Arc::new(open(url)))
}

#[test]
fn concurrent_starts_create_one_list() {
    for _ in 0..5 {
        let url = postgres_server::test_database();
        let lists: Vec<_> = thread::scope(|scope| {
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&url))).collect();
            opening
                .into_iter()
                .map(|it| it.join().expect("no panic"))
                .collect()
        });
        assert!(lists.iter().all(|list| list.count() == 0));
    }
}

/// 900 people join through all three instances at once, while the first 90 of them are erased.
async fn join_and_erase_concurrently(instances: [Arc<PostgresWaitlist>; 3]) {
    let mut joins = JoinSet::new();
    for number in 0..900 {
        for instance in &instances {
            let instance = Arc::clone(instance);
            joins.spawn(async move {
                (
                    number,
                    join(&*instance, &format!("{number}@example.com")).await,
                )
            });
        }
    }
    let mut erasures = JoinSet::new();
    for (number, instance) in instances.iter().enumerate() {
        let instance = Arc::clone(instance);
        erasures.spawn(async move {
            // The addresses are in mixed order, and instances erase some of the same ones.
            let erased = (0..60).map(|it| (it * 37 + number * 30) % 90);
            let erased = erased.map(|it| email(&format!("{it}@example.com")));
            instance
                .erase(&erased.collect::<Vec<_>>(), Erasure::Complete)
                .await
                .expect("a response")
        });
    }
    let mut times_new = vec![0; 900];
    for (number, joined) in joins.join_all().await {
        times_new[number] += u64::from(joined == JoinOutcome::New);
    }
    erasures.join_all().await;
    assert!(
        times_new[90..].iter().all(|times| *times == 1),
        "each person is new once"
    );
    assert!(times_new[..90].iter().all(|times| *times >= 1));
    let listed = entries(&*instances[0]).len() as u64;
    assert!((810..=900).contains(&listed));
    for instance in &instances {
        wait_for_count(&**instance, listed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_joins_across_instances_are_new_and_counted_once() {
    let database = postgres_server::test_database();
    join_and_erase_concurrently(open_three(&database)).await;
}

/// Number of attempts to make transactions conflict. Nearly always, the first one succeeds.
const SERIALIZATION_ROUNDS_MAX: usize = 20;

/// Serializable transactions, the default of CockroachDB, fail with 40001 when they conflict, and must be retried.
#[tokio::test(flavor = "multi_thread")]
async fn retries_serialization_failures() {
    let server = PostgresServer::with_settings(&["default_transaction_isolation = 'serializable'"]);
    // Whether transactions conflict is chance.
    for _ in 0..SERIALIZATION_ROUNDS_MAX {
        let url = server.create_database().parse().expect("a valid URL");
        join_and_erase_concurrently(open_three(&url)).await;
        if server.read("log").contains("could not serialize") {
            return;
        }
    }
    panic!("no transaction conflicted");
}

/// An update of a locked count row waits, and then adds to its new value. Rows are locked when instances share one, or
/// when somebody changes one by hand.
#[tokio::test(flavor = "multi_thread")]
async fn count_updates_wait_for_a_locked_row() {
    let database = Arc::new(SharedDatabase::create());
    let instances = open_three(&database.url.parse().expect("a valid URL"));
    let is_over = Arc::new(AtomicBool::new(false));
    let changes = {
        let (database, is_over) = (Arc::clone(&database), Arc::clone(&is_over));
        thread::spawn(move || {
            // psql runs these statements in one transaction.
            let change = "UPDATE waitlist_count SET entries = entries + 1; SELECT pg_sleep(0.1);
                          UPDATE waitlist_count SET entries = entries - 1; SELECT pg_sleep(0.1)";
            while !is_over.load(Ordering::SeqCst) {
                database.sql(change);
            }
        })
    };
    join_and_erase_concurrently(instances).await;
    is_over.store(true, Ordering::SeqCst);
    changes.join().expect("no panic");
    let counts = "SELECT (SELECT count(*) FROM waitlist_entries) = (SELECT sum(entries) FROM waitlist_count)";
    assert_eq!(database.sql(counts), "t");
}

/// Runs a part of the suite as `make torture NAME=conformance STORE=postgres://…` does, in a database that has another
/// table.
#[test]
fn conformance_suite_cleans_up_its_schemas() {
    let database = SharedDatabase::create();
    database.sql("CREATE TABLE theirs (id int)");
    let suite = Command::new(env::current_exe().expect("the test binary"))
        .args(["store::changes::postgres", CONCURRENT_JOINS])
        .env("CONFORMANCE_STORE", &database.url)
        .output()
        .expect("the program runs");
    let stdout = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success(), "{stdout}");
    assert!(stdout.contains("7 passed"), "{stdout}");
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'landing%'";
    assert_eq!(database.sql(schemas), "0");
    assert_eq!(
        database.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"),
        "1"
    );
}

const CONCURRENT_JOINS: &str = "concurrent_joins_across_instances_are_new_and_counted_once";

/// Instances that have no key yet learn it before their next sign-up takes effect.
#[tokio::test(flavor = "multi_thread")]
async fn instances_learn_the_suppressions_of_others() {
    let database = SharedDatabase::create();
    let instances: Vec<_> = (0..3).map(|_| database.open()).collect();
    for (number, list) in (0..).zip(&instances) {
        join(list, &format!("{number}@example.com")).await;
    }
    let import = async |list: &PostgresWaitlist, typed: &str| {
        let joined = list.join_all(vec![entry(typed, 1)]).await;
        joined.expect("a response")[0]
    };
    let suppress = async |list: &PostgresWaitlist, typed: &str| {
        let erased = list.erase(&[email(typed)], Erasure::Suppress).await;
        erased.expect("a response")
    };
    assert_eq!(suppress(&instances[0], "0@example.com").await, [true]);
    // An erasure raises the epoch too, and must not hide that there is a key now.
    assert!(erase(&instances[1], "1@example.com").await);
    for list in &instances {
        let imported = import(list, "0@example.com").await;
        assert_eq!(imported, JoinOutcome::Suppressed);
    }
    assert_eq!(suppress(&instances[2], "1@example.com").await, [false]);
    assert_eq!(database.sql("SELECT count(*) FROM waitlist_key"), "1");
    // The visitor comes back through another instance.
    assert_eq!(join(&instances[1], "0@example.com").await, JoinOutcome::New);
    assert_eq!(
        import(&instances[0], "0@example.com").await,
        JoinOutcome::AlreadyListed
    );
    assert_eq!(
        database.sql("SELECT count(*) FROM waitlist_suppressed"),
        "1"
    );
}
