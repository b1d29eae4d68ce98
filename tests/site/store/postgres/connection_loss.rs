//! Connections that break off in the middle: what became of a statement is asked, and never guessed.

use std::sync::Arc;

use landing::waitlist::{Joined, StoreError, Waitlist};
use tokio::{task::JoinSet, time::timeout};

use super::{
    fault_proxy::{Cut, Wire},
    is_outage, open, within,
};
use crate::{
    postgres_server::Server,
    process::{A_WHILE, wait_until},
    store::{addresses, email, erase, join},
};

/// Stands in the address of whoever is cut off.
const MARK: &str = "cut-off";

#[tokio::test(flavor = "multi_thread")]
async fn who_is_cut_off_while_joining_is_new_once() {
    for cut in [Cut::Before, Cut::After] {
        let wire = Wire::to_new_database(MARK).await;
        let list = open(&wire.url);
        join(&list, "ann@example.com").await;
        wire.cut(cut);
        assert_eq!(
            join(&list, "cut-off@example.com").await,
            Joined::New,
            "{cut:?}"
        );
        assert_eq!(wire.cuts(), 1);
        assert_eq!(
            join(&list, "cut-off@example.com").await,
            Joined::AlreadyListed
        );
        assert_eq!(list.count(), 2, "{cut:?}");
        assert_eq!(addresses(&list), ["ann@example.com", "cut-off@example.com"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_there_before_is_told_so_also_after_a_cut() {
    let wire = Wire::to_new_database(MARK).await;
    let list = open(&wire.url);
    join(&list, "cut-off@example.com").await;
    for cut in [Cut::Before, Cut::After] {
        wire.cut(cut);
        let again = join(&list, "CUT-off@example.com").await;
        assert_eq!(again, Joined::AlreadyListed, "{cut:?}");
    }
    assert_eq!((wire.cuts(), list.count()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_erased_was_there_also_when_the_answer_was_cut_off() {
    for cut in [Cut::Before, Cut::After] {
        let wire = Wire::to_new_database(MARK).await;
        let list = open(&wire.url);
        join(&list, "ann@example.com").await;
        // The first statement looks who is there, the second erases.
        for cut_off in [Wire::cut, Wire::cut_the_second] {
            join(&list, "cut-off@example.com").await;
            let named = [email("cut-off@example.com"), email("bob@example.com")];
            cut_off(&wire, cut);
            assert_eq!(list.erase(&named).await, Ok(vec![true, false]), "{cut:?}");
            assert_eq!(list.count(), 1, "{cut:?}");
            assert_eq!(addresses(&list), ["ann@example.com"]);
        }
        assert_eq!(wire.cuts(), 2, "{cut:?}");
    }
}

/// As when the server of the database hangs, with the statement in its hands, and goes on later.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_comes_late_takes_nobody_off_who_has_joined_again() {
    let wire = Wire::to_new_database(MARK).await;
    let list = open(&wire.url);
    join(&list, "cut-off@example.com").await;
    wire.cut_the_second(Cut::Late);
    assert!(erase(&list, "cut-off@example.com").await);
    assert_eq!(wire.cuts(), 1);
    assert_eq!(join(&list, "cut-off@example.com").await, Joined::New);
    wire.let_go().await;
    assert_eq!(addresses(&list), ["cut-off@example.com"]);
    assert_eq!(list.count(), 1);
}

/// Again and again, with many people, each of whom comes twice.
#[tokio::test(flavor = "multi_thread")]
async fn however_often_connections_break_each_is_new_once_and_counted_once() {
    let wire = Wire::to_new_database("example.com").await;
    let list = Arc::new(open(&wire.url));
    wire.cut_one_in(5);
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
    assert!(wire.cuts() > 5, "only {} cuts", wire.cuts());
    assert_eq!((new, list.count()), (640, 640));
    assert_eq!(addresses(&*list).len(), 640);
}

/// Who asks waits as long as an answer may take, and no longer. Who comes after that is told at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_gone_is_told_and_one_that_is_back_is_used() {
    let server = Server::start();
    let list = open(&server.database().parse().expect("a URL"));
    let mut trouble = list.trouble();
    join(&list, "ann@example.com").await;
    server.down("fast");
    within(trouble.wait_for(Option::is_some)).await;
    assert!(is_outage(&list.ready().await.expect_err("it is gone")));
    let ask = || list.join(crate::store::entry("bob@example.com", 1));
    assert!(is_outage(&ask().await.expect_err("it is gone")));
    assert_eq!(list.count(), 1, "the last one known");
    let many = async {
        for _ in 0..10_000 {
            assert!(is_outage(&ask().await.expect_err("it is gone")));
        }
    };
    let done = timeout(A_WHILE, many).await;
    assert!(done.is_ok(), "who comes after that is told at once");
    server.up();
    within(trouble.wait_for(Option::is_none)).await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(join(&list, "bob@example.com").await, Joined::New);
    assert_eq!(list.count(), 2);
}

/// As when its disk is full, or the standby is gone that it waits for: it can be read, and not written to.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_only_reads_is_in_trouble_until_it_writes_again() {
    let server = Server::start();
    let list = open(&server.database().parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    let wait_for = |standby: &str| {
        let setting = format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'");
        server.sql("postgres", &setting);
        server.sql("postgres", "SELECT pg_reload_conf()");
    };
    wait_for("nobody");
    let mut trouble = list.trouble();
    let ask = || list.join(crate::store::entry("bob@example.com", 1));
    assert_eq!(ask().await, Err(StoreError::Unreachable));
    assert!(
        trouble.borrow().is_some(),
        "also when the count was read meanwhile"
    );
    assert_eq!(list.ready().await, Err(StoreError::Unreachable));
    assert_eq!(ask().await, Err(StoreError::Unreachable), "at once");
    wait_for("");
    within(trouble.wait_for(Option::is_none)).await;
    assert_eq!(list.ready().await, Ok(()));
    // The commit that nobody was told of may have become one.
    ask().await.expect("an answer");
    assert_eq!(addresses(&list).len(), 2);
}

/// A commit that waits for its standby is cut off by a restart, and can be seen after it. Who is told of it
/// then would be lost with the server.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_standby_has_is_not_told_of_after_a_restart_either() {
    let server = Server::start();
    let list = open(&server.database().parse().expect("a URL"));
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
async fn who_joins_while_the_database_starts_anew_waits_for_it() {
    let server = Server::start();
    let list = open(&server.database().parse().expect("a URL"));
    for mode in ["fast", "immediate"] {
        server.down(mode);
        let address = format!("{mode}@example.com");
        let (joined, ()) = tokio::join!(join(&list, &address), async {
            tokio::task::block_in_place(|| server.up());
        });
        assert_eq!(joined, Joined::New);
    }
    assert_eq!(list.count(), 2);
}
