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

use landing::waitlist::{
    CorrectOutcome, DatabaseUrl, Erasure, JoinOutcome, OwnerList, PostgresWaitlist, Waitlist,
};
use tokio::task::JoinSet;

use super::{SharedDatabase, open, wait_for_count};
use crate::{
    postgres_server::{self, PostgresServer},
    store::{addresses, email, entries, entry, erase, join, many_items::ManyItems},
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

#[tokio::test(flavor = "multi_thread")]
async fn instances_see_each_others_changes() {
    let database = postgres_server::test_database();
    let instances = open_three(&database);
    join(&*instances[0], "ann@example.com").await;
    for instance in &instances {
        wait_for_count(&**instance, 1).await;
        assert_eq!(
            join(&**instance, "ANN@example.com").await,
            JoinOutcome::AlreadyListed
        );
    }
    assert!(erase(&*instances[1], "ann@example.com").await);
    for instance in &instances {
        wait_for_count(&**instance, 0).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_one_millisecond_keep_their_order() {
    let database = postgres_server::test_database();
    let list = open(&database);
    let people: Vec<_> = (0..2_000)
        .map(|number| format!("{}@example.com", number * 7919 % 2_000))
        .collect();
    let joined = list.join_many(people.iter().map(|typed| entry(typed, 5)).collect());
    joined.await.expect("a response");
    assert_eq!(addresses(&list), people);
}

/// Runs a part of the suite as `make torture NAME=conformance STORE=postgres://…` does, in a database that has another
/// table.
#[test]
fn conformance_suite_cleans_up_its_schemas() {
    let database = SharedDatabase::create();
    database.sql("CREATE TABLE theirs (id int)");
    let suite = Command::new(env::current_exe().expect("the test binary"))
        .args(["store::corrections::postgres", CONCURRENT_JOINS])
        .env("CONFORMANCE_STORE", &database.url)
        .output()
        .expect("the program runs");
    let stdout = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success(), "{stdout}");
    assert!(stdout.contains("4 passed"), "{stdout}");
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

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_report_what_they_did_to_one_person() {
    let url = postgres_server::test_database();
    let instances = [open(&url), open(&url)];
    let mut gone = 0;
    for round in 0..40 {
        let [old, new, other] =
            ["old", "new", "other"].map(|name| email(&format!("{name}{round}@example.com")));
        join(&instances[0], old.as_typed()).await;
        let corrected = instances[0].correct(&old, &new);
        if round % 2 == 0 {
            let (corrected, also) = tokio::join!(corrected, instances[1].correct(&old, &other));
            let outcomes = [corrected, also].map(|outcome| outcome.expect("a response"));
            let is_done = |outcome: &&CorrectOutcome| **outcome == CorrectOutcome::Corrected;
            assert_eq!(outcomes.iter().filter(is_done).count(), 1, "{outcomes:?}");
        } else {
            let erasure = [old.clone()];
            let (corrected, erased) =
                tokio::join!(corrected, instances[1].erase(&erasure, Erasure::Complete));
            let corrected = corrected.expect("a response") == CorrectOutcome::Corrected;
            let erased = erased.expect("a response") == [true];
            assert_ne!(corrected, erased, "{round}");
            gone += usize::from(erased);
        }
        let listed = addresses(&instances[0]);
        assert_eq!(listed.len(), round + 1 - gone, "{listed:?}");
    }
}
