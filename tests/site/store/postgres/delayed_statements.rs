//! Statements that the database executes late: the store retries them on another connection, and the list changes
//! before the first one arrives.

use std::{sync::Arc, time::Duration};

use landing::waitlist::{Erasure, JoinOutcome, PostgresWaitlist, Waitlist};
use tokio::{
    task::block_in_place,
    time::{sleep, timeout},
};

use super::{ProxiedDatabase, is_outage, run_concurrently, within_timeout};
use crate::{
    fault_proxy::Fault,
    process::{TEST_TIMEOUT, wait_until},
    store::{addresses, email, entry, erase, join},
};

/// The database executes a sign-up only after its retry and an erasure.
#[tokio::test(flavor = "multi_thread")]
async fn late_sign_up_does_not_restore_an_erased_person() {
    let proxy = ProxiedDatabase::create("late").await;
    let list = proxy.open();
    proxy.fail_next(Fault::DeliverLate);
    assert_eq!(join(&list, "late@example.com").await, JoinOutcome::New);
    assert_eq!(proxy.faults(), 1);
    assert!(erase(&list, "late@example.com").await);
    proxy.release().await;
    assert_eq!(addresses(&list), [""; 0]);
    join(&list, "ann@example.com").await;
    assert_eq!((addresses(&list).len(), list.count()), (1, 1));
}

/// Signs up, and abandons the sign-up once the proxy holds its statement back.
async fn join_until_held(list: &PostgresWaitlist, proxy: &ProxiedDatabase) {
    let held = async {
        while proxy.faults() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = join(list, "late@example.com") => panic!("the proxy did not hold the statement back"),
        held = timeout(TEST_TIMEOUT, held) => held.expect("no timeout"),
    }
}

/// The instance that sent the late sign-up has stopped, and the person has joined through another one.
#[tokio::test(flavor = "multi_thread")]
async fn late_sign_up_of_a_gone_instance_restores_nobody() {
    let proxy = ProxiedDatabase::create("late").await;
    let (gone, other) = (proxy.open(), proxy.database.open());
    proxy.fail_next(Fault::HoldOpen);
    join_until_held(&gone, &proxy).await;
    drop(gone);
    assert_eq!(proxy.faults(), 1);
    assert_eq!(join(&other, "late@example.com").await, JoinOutcome::New);
    assert!(erase(&other, "late@example.com").await);
    proxy.release().await;
    assert_eq!(addresses(&other), [""; 0]);
    join(&other, "ann@example.com").await;
    assert_eq!((addresses(&other).len(), other.count()), (1, 1));
}

/// The count rows are deleted and created again before the late sign-up arrives.
#[tokio::test(flavor = "multi_thread")]
async fn recreated_count_rows_do_not_admit_a_late_sign_up() {
    let proxy = ProxiedDatabase::create("late").await;
    let (gone, other) = (proxy.open(), proxy.database.open());
    proxy.fail_next(Fault::HoldOpen);
    join_until_held(&gone, &proxy).await;
    drop(gone);
    assert!(!erase(&other, "late@example.com").await);
    proxy.database.sql("DELETE FROM waitlist_count");
    join(&other, "ann@example.com").await;
    proxy.release().await;
    assert_eq!(addresses(&other), ["ann@example.com"]);
}

/// The database executes a sign-up, but its response is lost. The person is erased before the retry.
#[tokio::test(flavor = "multi_thread")]
async fn retried_sign_up_does_not_restore_an_erased_person() {
    let proxy = ProxiedDatabase::create("late").await;
    let (list, other) = (Arc::new(proxy.open()), proxy.database.open());
    proxy.fail_next(Fault::NoResponse);
    let joining = tokio::spawn({
        let list = Arc::clone(&list);
        async move { list.join(entry("late@example.com", 1)).await }
    });
    let mut changes = other.watch_count();
    within_timeout(changes.wait_for(|count| *count == 1)).await;
    assert!(erase(&other, "late@example.com").await);
    let joined = joining.await.expect("no panic");
    let error = joined.expect_err("the outcome is unknown");
    assert!(is_outage(&error), "{error:?}");
    assert_eq!(addresses(&other), [""; 0]);
    assert_eq!(join(&*list, "late@example.com").await, JoinOutcome::New);
    assert_eq!(addresses(&other), ["late@example.com"]);
}

/// A statement with two sign-ups fails because of an erasure, and is repeated. Meanwhile the visitor of the first one has
/// given up, and the owner has erased that person.
#[tokio::test(flavor = "multi_thread")]
async fn abandoned_sign_up_is_not_repeated_after_an_erasure() {
    let proxy = ProxiedDatabase::create("late").await;
    let (list, other) = (Arc::new(proxy.open()), proxy.database.open());
    assert_eq!(join(&other, "late@example.com").await, JoinOutcome::New);
    assert_eq!(join(&*list, "ann@example.com").await, JoinOutcome::New);
    let join_later = |typed: &'static str| {
        let list = Arc::clone(&list);
        tokio::spawn(async move { list.join(entry(typed, 1)).await })
    };
    // While this one waits for a lock, the others join the next batch.
    let locked = proxy
        .database
        .start_sleeping("BEGIN; LOCK TABLE waitlist_entries IN SHARE MODE; SELECT pg_sleep(60)");
    let first = join_later("first@example.com");
    proxy.database.wait_for_lock();
    let (abandoned, other_sign_up) = (
        join_later("late@example.com"),
        join_later("bob@example.com"),
    );
    proxy.set_holding(true);
    proxy.database.end_sleeping();
    locked.await.expect("no panic");
    assert_eq!(first.await.expect("no panic"), Ok(JoinOutcome::New));
    block_in_place(|| wait_until("the statement is held back", || proxy.held() == 1));
    abandoned.abort();
    assert!(abandoned.await.is_err_and(|error| error.is_cancelled()));
    assert!(erase(&other, "late@example.com").await);
    proxy.set_holding(false);
    assert_eq!(other_sign_up.await.expect("no panic"), Ok(JoinOutcome::New));
    let mut listed = addresses(&other);
    listed.sort();
    assert_eq!(
        listed,
        ["ann@example.com", "bob@example.com", "first@example.com"]
    );
}

/// Delays each message of an instance in turn: connecting, signing up, erasing, suppressing and checking readiness.
#[tokio::test(flavor = "multi_thread")]
async fn every_late_statement_is_harmless() {
    const BATCH: u64 = 8;
    let mut delayed = 0;
    for first in (0..).step_by(BATCH as usize) {
        let were_delayed = run_concurrently(first..first + BATCH, assert_late_is_harmless).await;
        delayed += were_delayed.iter().filter(|it| **it).count();
        if were_delayed.contains(&false) {
            break;
        }
    }
    assert!(delayed > 8, "only {delayed} messages");
}

/// Delays the message with this number. Returns whether the instance sent that message.
async fn assert_late_is_harmless(number: u64) -> bool {
    let proxy = ProxiedDatabase::create("").await;
    let list = proxy.open();
    let changes = timeout(TEST_TIMEOUT, async {
        proxy.fail_after(Fault::DeliverLate, number);
        join(&list, "ann@example.com").await;
        join(&list, "bob@example.com").await;
        assert_eq!(
            join(&list, "ann@example.com").await,
            JoinOutcome::AlreadyListed
        );
        list.ready().await.expect("the list is ready");
        assert!(erase(&list, "ann@example.com").await, "message {number}");
        assert!(!erase(&list, "eve@example.com").await);
        assert_eq!(join(&list, "carl@example.com").await, JoinOutcome::New);
        assert!(erase(&list, "bob@example.com").await, "message {number}");
        assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
        // Carl leaves and comes back, and Eve leaves for good.
        for (typed, was_listed) in [("carl@example.com", true), ("eve@example.com", false)] {
            let erased = list.erase(&[email(typed)], Erasure::Suppress).await;
            assert_eq!(erased, Ok(vec![was_listed]), "message {number}");
            let imported = list.join_all(vec![entry(typed, 1)]).await;
            assert_eq!(
                imported,
                Ok(vec![JoinOutcome::Suppressed]),
                "message {number}"
            );
        }
        assert_eq!(join(&list, "carl@example.com").await, JoinOutcome::New);
    });
    changes.await.expect("no timeout");
    let was_delayed = proxy.faults() > 0;
    if was_delayed {
        proxy.release().await;
    }
    // A new instance reads the list from the database.
    drop(list);
    let list = proxy.database.open();
    let mut listed = addresses(&list);
    listed.sort();
    assert_eq!(
        listed,
        ["bob@example.com", "carl@example.com"],
        "message {number}"
    );
    assert_eq!(list.count(), 2, "message {number}");
    for (typed, expected) in [("carl@example.com", false), ("eve@example.com", true)] {
        let is_suppressed = list.is_suppressed(&email(typed)).await;
        assert_eq!(is_suppressed, Ok(expected), "message {number}");
    }
    was_delayed
}
