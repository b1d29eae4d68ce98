//! Several copies over one database.

use std::{
    env,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use landing::waitlist::{DatabaseUrl, Joined, PostgresWaitlist, Waitlist};
use tokio::{task::JoinSet, time::timeout};

use super::open;
use crate::{
    postgres_server::{self, SHARED, Server},
    process::A_WHILE,
    store::{addresses, email, entries, entry, erase, join},
};

fn three(url: &DatabaseUrl) -> [Arc<PostgresWaitlist>; 3] {
    [(); 3].map(|()| Arc::new(open(url)))
}

/// Waits until a copy tells a count.
async fn told(list: &dyn Waitlist, count: u64) {
    let mut changes = list.changes();
    let told = timeout(A_WHILE, changes.wait_for(|told| *told == count));
    assert!(told.await.is_ok(), "it tells {} for {count}", list.count());
}

#[test]
fn copies_that_start_at_once_make_one_list() {
    for _ in 0..5 {
        let url = postgres_server::database();
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
async fn what_one_copy_changes_the_others_tell() {
    let database = postgres_server::database();
    let copies = three(&database);
    join(&*copies[0], "ann@example.com").await;
    for copy in &copies {
        told(&**copy, 1).await;
        assert_eq!(
            join(&**copy, "ANN@example.com").await,
            Joined::AlreadyListed
        );
    }
    assert!(erase(&*copies[1], "ann@example.com").await);
    for copy in &copies {
        told(&**copy, 0).await;
    }
}

/// Everybody comes to all three, and some are erased meanwhile.
async fn meet(copies: [Arc<PostgresWaitlist>; 3]) {
    let mut joins = JoinSet::new();
    for number in 0..900 {
        for copy in &copies {
            let copy = Arc::clone(copy);
            joins.spawn(
                async move { (number, join(&*copy, &format!("{number}@example.com")).await) },
            );
        }
    }
    let mut erased = JoinSet::new();
    for (turn, copy) in copies.iter().enumerate() {
        let copy = Arc::clone(copy);
        erased.spawn(async move {
            // In no order, several at a time, and each by two copies.
            let named =
                (0..60).map(|it| email(&format!("{}@example.com", (it * 37 + turn * 30) % 90)));
            copy.erase(&named.collect::<Vec<_>>())
                .await
                .expect("an answer")
        });
    }
    let mut new = vec![0; 900];
    for (number, joined) in joins.join_all().await {
        new[number] += u64::from(joined == Joined::New);
    }
    erased.join_all().await;
    assert!(
        new[90..].iter().all(|times| *times == 1),
        "each is new once"
    );
    assert!(new[..90].iter().all(|times| *times >= 1));
    let listed = entries(&*copies[0]).len() as u64;
    assert!((810..=900).contains(&listed));
    for copy in &copies {
        told(&**copy, listed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_come_to_several_copies_at_once_each_is_new_once_and_counted_once() {
    let database = postgres_server::database();
    meet(three(&database)).await;
}

/// As CockroachDB is by itself: whoever meets another is told to try again (40001).
#[tokio::test(flavor = "multi_thread")]
async fn serialization_failures_are_tried_again() {
    let server = Server::with(&["default_transaction_isolation = 'serializable'"]);
    meet(three(&server.database().parse().expect("a URL"))).await;
    let failures = server.read("log").matches("could not serialize").count();
    assert!(failures > 0, "nothing was put to the test");
}

/// Copies that count in the same slot, or somebody who changes the rows by hand: who waits for a row counts
/// on from what it is then.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_the_row_of_the_count_counts_on_from_what_it_becomes() {
    let database = SHARED.database();
    let name = database.rsplit('/').next().expect("a name").to_owned();
    let copies = three(&database.parse().expect("a URL"));
    let is_over = Arc::new(AtomicBool::new(false));
    let changing = {
        let (name, is_over) = (name.clone(), Arc::clone(&is_over));
        thread::spawn(move || {
            let change = "UPDATE waitlist_count SET entries = entries + 1; SELECT pg_sleep(0.1);
                          UPDATE waitlist_count SET entries = entries - 1; SELECT pg_sleep(0.1)";
            // One transaction.
            while !is_over.load(Ordering::SeqCst) {
                SHARED.sql(&name, change);
            }
        })
    };
    meet(copies).await;
    is_over.store(true, Ordering::SeqCst);
    changing.join().expect("no panic");
    let counts = "SELECT (SELECT count(*) FROM waitlist_entries) = (SELECT sum(entries) FROM waitlist_count)";
    assert_eq!(SHARED.sql(&name, counts), "t");
}

#[tokio::test(flavor = "multi_thread")]
async fn those_of_one_millisecond_come_in_the_order_they_joined() {
    let database = postgres_server::database();
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
fn the_conformance_suite_runs_in_schemas_of_its_own_and_leaves_nothing() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    SHARED.sql(name, "CREATE TABLE theirs (id int)");
    let suite = Command::new(env::current_exe().expect("it runs"))
        .args(["store::contract::postgres", RACE])
        .env("CONFORMANCE_STORE", &url)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success(), "{told}");
    assert!(told.contains("17 passed"), "{told}");
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'landing%'";
    assert_eq!(SHARED.sql(name, left), "0");
    assert_eq!(
        SHARED.sql(
            name,
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ),
        "1"
    );
}

const RACE: &str = "of_many_who_come_to_several_copies_at_once_each_is_new_once_and_counted_once";
