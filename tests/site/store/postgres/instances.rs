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

use landing::waitlist::{DatabaseUrl, JoinOutcome, PostgresWaitlist, Waitlist};
use tokio::{task::JoinSet, time::timeout};

use super::open;
use crate::{
    postgres_server::{self, PostgresServer, SHARED_SERVER},
    process::TEST_TIMEOUT,
    store::{addresses, email, entries, entry, erase, join},
};

fn open_three(url: &DatabaseUrl) -> [Arc<PostgresWaitlist>; 3] {
    [(); 3].map(|()| Arc::new(open(url)))
}

/// Waits until a instance tells a count.
async fn wait_for_count(list: &dyn Waitlist, count: u64) {
    let mut changes = list.watch_count();
    let reached = timeout(TEST_TIMEOUT, changes.wait_for(|current| *current == count));
    assert!(
        reached.await.is_ok(),
        "it tells {} for {count}",
        list.count()
    );
}

#[test]
fn concurrent_starts_create_one_list() {
    for _ in 0..5 {
        let url = postgres_server::test_database();
        let lists: Vec<_> = thread::scope(|scope| {
            let starting: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&url))).collect();
            starting
                .into_iter()
                .map(|it| it.join().expect("it starts"))
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

/// Everybody comes to all three, and some are erased meanwhile.
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
    let mut erased = JoinSet::new();
    for (turn, instance) in instances.iter().enumerate() {
        let instance = Arc::clone(instance);
        erased.spawn(async move {
            // In no order, several at a time, and each by two instances.
            let named =
                (0..60).map(|it| email(&format!("{}@example.com", (it * 37 + turn * 30) % 90)));
            instance
                .erase(&named.collect::<Vec<_>>())
                .await
                .expect("an answer")
        });
    }
    let mut new = vec![0; 900];
    for (number, joined) in joins.join_all().await {
        new[number] += u64::from(joined == JoinOutcome::New);
    }
    erased.join_all().await;
    assert!(
        new[90..].iter().all(|times| *times == 1),
        "each is new once"
    );
    assert!(new[..90].iter().all(|times| *times >= 1));
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

/// As CockroachDB is by itself: whoever meets another is told to try again (40001).
#[tokio::test(flavor = "multi_thread")]
async fn retries_serialization_failures() {
    let server = PostgresServer::with_settings(&["default_transaction_isolation = 'serializable'"]);
    join_and_erase_concurrently(open_three(
        &server.create_database().parse().expect("a URL"),
    ))
    .await;
    let failures = server.read("log").matches("could not serialize").count();
    assert!(failures > 0, "nothing was put to the test");
}

/// Copies that count in the same slot, or somebody who changes the rows by hand: who waits for a row counts
/// on from what it is then.
#[tokio::test(flavor = "multi_thread")]
async fn count_updates_wait_for_a_locked_row() {
    let database = SHARED_SERVER.create_database();
    let name = database.rsplit('/').next().expect("a name").to_owned();
    let instances = open_three(&database.parse().expect("a URL"));
    let is_over = Arc::new(AtomicBool::new(false));
    let changing = {
        let (name, is_over) = (name.clone(), Arc::clone(&is_over));
        thread::spawn(move || {
            let change = "UPDATE waitlist_count SET entries = entries + 1; SELECT pg_sleep(0.1);
                          UPDATE waitlist_count SET entries = entries - 1; SELECT pg_sleep(0.1)";
            // One transaction.
            while !is_over.load(Ordering::SeqCst) {
                SHARED_SERVER.sql(&name, change);
            }
        })
    };
    join_and_erase_concurrently(instances).await;
    is_over.store(true, Ordering::SeqCst);
    changing.join().expect("no panic");
    let counts = "SELECT (SELECT count(*) FROM waitlist_entries) = (SELECT sum(entries) FROM waitlist_count)";
    assert_eq!(SHARED_SERVER.sql(&name, counts), "t");
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_one_millisecond_keep_their_order() {
    let database = postgres_server::test_database();
    let list = open(&database);
    let people: Vec<_> = (0..2_000)
        .map(|number| format!("{}@example.com", number * 7919 % 2_000))
        .collect();
    let joined = list.join_all(people.iter().map(|typed| entry(typed, 5)).collect());
    joined.await.expect("an answer");
    assert_eq!(addresses(&list), people);
}

/// As `make conformance STORE=postgres://…` does it, with a database of the owner's.
#[test]
fn conformance_suite_cleans_up_its_schemas() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    SHARED_SERVER.sql(name, "CREATE TABLE theirs (id int)");
    let suite = Command::new(env::current_exe().expect("it runs"))
        .args(["store::conformance::postgres", CONCURRENT_JOINS])
        .env("CONFORMANCE_STORE", &url)
        .output()
        .expect("it runs");
    let stdout = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success(), "{stdout}");
    assert!(stdout.contains("17 passed"), "{stdout}");
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'landing%'";
    assert_eq!(SHARED_SERVER.sql(name, left), "0");
    assert_eq!(
        SHARED_SERVER.sql(
            name,
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ),
        "1"
    );
}

const CONCURRENT_JOINS: &str = "concurrent_joins_across_instances_are_new_and_counted_once";
