//! Connections that break off in the middle: what became of a statement is asked, and never guessed.

use std::sync::Arc;

use landing::waitlist::{JoinOutcome, StoreError, Waitlist};
use tokio::{task::JoinSet, time::timeout};

use super::{
    fault_proxy::{Fault, FaultProxy},
    is_outage, open, within_timeout,
};
use crate::{
    postgres_server::PostgresServer,
    process::{TEST_TIMEOUT, wait_until},
    store::{addresses, email, erase, join},
};

/// Stands in the address of whoever is cut off.
const INTERRUPTED: &str = "cut-off";

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_join_is_new_once() {
    for cut in [Fault::BeforeStatement, Fault::AfterStatement] {
        let proxy = FaultProxy::to_new_database(INTERRUPTED).await;
        let list = open(&proxy.url);
        join(&list, "ann@example.com").await;
        proxy.fail_next(cut);
        assert_eq!(
            join(&list, "cut-off@example.com").await,
            JoinOutcome::New,
            "{cut:?}"
        );
        assert_eq!(proxy.faults(), 1);
        assert_eq!(
            join(&list, "cut-off@example.com").await,
            JoinOutcome::AlreadyListed
        );
        assert_eq!(list.count(), 2, "{cut:?}");
        assert_eq!(addresses(&list), ["ann@example.com", "cut-off@example.com"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_repeated_join_is_already_listed() {
    let proxy = FaultProxy::to_new_database(INTERRUPTED).await;
    let list = open(&proxy.url);
    join(&list, "cut-off@example.com").await;
    for cut in [Fault::BeforeStatement, Fault::AfterStatement] {
        proxy.fail_next(cut);
        let again = join(&list, "CUT-off@example.com").await;
        assert_eq!(again, JoinOutcome::AlreadyListed, "{cut:?}");
    }
    assert_eq!((proxy.faults(), list.count()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_erasure_reports_who_was_listed() {
    for cut in [Fault::BeforeStatement, Fault::AfterStatement] {
        let proxy = FaultProxy::to_new_database(INTERRUPTED).await;
        let list = open(&proxy.url);
        join(&list, "ann@example.com").await;
        // The first statement looks who is there, the second erases.
        for cut_off in [FaultProxy::fail_next, FaultProxy::fail_second] {
            join(&list, "cut-off@example.com").await;
            let named = [email("cut-off@example.com"), email("bob@example.com")];
            cut_off(&proxy, cut);
            assert_eq!(list.erase(&named).await, Ok(vec![true, false]), "{cut:?}");
            assert_eq!(list.count(), 1, "{cut:?}");
            assert_eq!(addresses(&list), ["ann@example.com"]);
        }
        assert_eq!(proxy.faults(), 2, "{cut:?}");
    }
}

/// As when the server of the database hangs, with the statement in its hands, and goes on later.
#[tokio::test(flavor = "multi_thread")]
async fn late_erasure_keeps_a_person_who_joined_again() {
    let proxy = FaultProxy::to_new_database(INTERRUPTED).await;
    let list = open(&proxy.url);
    join(&list, "cut-off@example.com").await;
    proxy.fail_second(Fault::DeliverLate);
    assert!(erase(&list, "cut-off@example.com").await);
    assert_eq!(proxy.faults(), 1);
    assert_eq!(join(&list, "cut-off@example.com").await, JoinOutcome::New);
    proxy.release().await;
    assert_eq!(addresses(&list), ["cut-off@example.com"]);
    assert_eq!(list.count(), 1);
}

/// Again and again, with many people, each of whom comes twice.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_disconnects_lose_and_duplicate_no_sign_up() {
    let proxy = FaultProxy::to_new_database("example.com").await;
    let list = Arc::new(open(&proxy.url));
    proxy.fail_one_in(5);
    let mut clients = JoinSet::new();
    for client in 0..16 {
        let list = Arc::clone(&list);
        clients.spawn(async move {
            let mut new = 0;
            for number in 0..40 {
                let address = format!("{client}-{number}@example.com");
                let other = Arc::clone(&list);
                let (one, two) = tokio::join!(join(&*list, &address), join(&*other, &address));
                assert_ne!(one, two, "{address}");
                new += 1;
            }
            new
        });
    }
    let new: u64 = clients.join_all().await.iter().sum();
    assert!(proxy.faults() > 5, "only {} cuts", proxy.faults());
    assert_eq!((new, list.count()), (640, 640));
    assert_eq!(addresses(&*list).len(), 640);
}

/// Who asks waits as long as an answer may take, and no longer. Who comes after that is told at once.
#[tokio::test(flavor = "multi_thread")]
async fn fails_fast_during_an_outage_and_recovers() {
    let server = PostgresServer::start();
    let list = open(&server.create_database().parse().expect("a URL"));
    let mut outage = list.outage();
    join(&list, "ann@example.com").await;
    server.down("fast");
    within_timeout(outage.wait_for(Option::is_some)).await;
    assert!(is_outage(&list.ready().await.expect_err("it is gone")));
    let ask = || list.join(crate::store::entry("bob@example.com", 1));
    assert!(is_outage(&ask().await.expect_err("it is gone")));
    assert_eq!(list.count(), 1, "the last one known");
    let many = async {
        for _ in 0..10_000 {
            assert!(is_outage(&ask().await.expect_err("it is gone")));
        }
    };
    let done = timeout(TEST_TIMEOUT, many).await;
    assert!(done.is_ok(), "who comes after that is told at once");
    server.up();
    within_timeout(outage.wait_for(Option::is_none)).await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    assert_eq!(list.count(), 2);
}

/// As when its disk is full, or the standby is gone that it waits for: it can be read, and not written to.
#[tokio::test(flavor = "multi_thread")]
async fn read_only_database_is_an_outage_until_it_writes_again() {
    let server = PostgresServer::start();
    let list = open(&server.create_database().parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    let wait_for = |standby: &str| {
        let setting = format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'");
        server.sql("postgres", &setting);
        server.sql("postgres", "SELECT pg_reload_conf()");
    };
    wait_for("nobody");
    let mut outage = list.outage();
    let ask = || list.join(crate::store::entry("bob@example.com", 1));
    assert_eq!(ask().await, Err(StoreError::Unreachable));
    assert!(
        outage.borrow().is_some(),
        "also when the count was read meanwhile"
    );
    assert_eq!(list.ready().await, Err(StoreError::Unreachable));
    assert_eq!(ask().await, Err(StoreError::Unreachable), "at once");
    wait_for("");
    within_timeout(outage.wait_for(Option::is_none)).await;
    assert_eq!(list.ready().await, Ok(()));
    // The commit that nobody was told of may have become one.
    ask().await.expect("an answer");
    assert_eq!(addresses(&list).len(), 2);
}

/// A commit that waits for its standby is cut off by a restart, and can be seen after it. Who is told of it
/// then would be lost with the server.
#[tokio::test(flavor = "multi_thread")]
async fn unreplicated_commit_is_not_acknowledged_after_a_restart() {
    let server = PostgresServer::start();
    let list = open(&server.create_database().parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    server.sql(
        "postgres",
        "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
    );
    server.sql("postgres", "SELECT pg_reload_conf()");
    let restart = tokio::task::spawn_blocking(move || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        wait_until("a commit waits for a standby", || {
            server.sql("postgres", waiting) != "0"
        });
        server.down("fast");
        server.up();
        server
    });
    let person = |number| crate::store::entry(&format!("{number}@example.com"), 1);
    // The server heeds the setting some time after it was told: who joins before is answered.
    let mut answered = 0;
    let cut_off = loop {
        match list.join(person(answered)).await {
            Ok(_) => answered += 1,
            Err(error) => break error,
        }
    };
    let _server = restart.await.expect("it starts again");
    assert!(is_outage(&cut_off), "{cut_off:?}");
    assert_eq!(addresses(&list).len(), answered + 2, "it can be seen");
    let again = list.join(person(answered)).await.expect_err("nobody waits");
    assert!(is_outage(&again), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn join_waits_for_a_database_restart() {
    let server = PostgresServer::start();
    let list = open(&server.create_database().parse().expect("a URL"));
    for mode in ["fast", "immediate"] {
        server.down(mode);
        let address = format!("{mode}@example.com");
        let (joined, ()) = tokio::join!(join(&list, &address), async {
            tokio::task::block_in_place(|| server.up());
        });
        assert_eq!(joined, JoinOutcome::New);
    }
    assert_eq!(list.count(), 2);
}
