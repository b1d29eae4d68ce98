//! Statements that arrive late: each in turn is held back, repeated on another connection, and let through after
//! the list has changed.

use std::{sync::Arc, time::Duration};

use landing::waitlist::{JoinOutcome, Waitlist};
use tokio::time::timeout;

use super::{
    fault_proxy::{Fault, FaultProxy},
    is_outage, open, within_timeout,
};
use crate::{
    postgres_server::SHARED_SERVER,
    process::TEST_TIMEOUT,
    store::{addresses, entry, erase, join},
};

/// A sign-up hangs in the database, is repeated, and the person is erased. Then it is done.
#[tokio::test(flavor = "multi_thread")]
async fn late_sign_up_does_not_restore_an_erased_person() {
    let proxy = FaultProxy::to_new_database("late").await;
    let list = open(&proxy.url);
    proxy.fail_next(Fault::DeliverLate);
    assert_eq!(join(&list, "late@example.com").await, JoinOutcome::New);
    assert_eq!(proxy.faults(), 1);
    assert!(erase(&list, "late@example.com").await);
    proxy.release().await;
    assert_eq!(addresses(&list), [""; 0]);
    join(&list, "ann@example.com").await;
    assert_eq!((addresses(&list).len(), list.count()), (1, 1));
}

/// The same, but the instance that sent it is gone, and the person has joined by another.
#[tokio::test(flavor = "multi_thread")]
async fn late_sign_up_of_a_gone_instance_restores_nobody() {
    let proxy = FaultProxy::to_new_database("late").await;
    let (gone, other) = (open(&proxy.url), open(&proxy.direct));
    proxy.fail_next(Fault::HoldOpen);
    {
        let joining = join(&gone, "late@example.com");
        let given_up = timeout(Duration::from_millis(300), joining).await;
        assert!(given_up.is_err(), "it is held back");
    }
    drop(gone);
    assert_eq!(proxy.faults(), 1);
    assert_eq!(join(&other, "late@example.com").await, JoinOutcome::New);
    assert!(erase(&other, "late@example.com").await);
    proxy.release().await;
    assert_eq!(addresses(&other), [""; 0]);
    join(&other, "ann@example.com").await;
    assert_eq!((addresses(&other).len(), other.count()), (1, 1));
}

/// The same, and the rows of the count were deleted and created again in between.
#[tokio::test(flavor = "multi_thread")]
async fn recreated_count_rows_do_not_admit_a_late_sign_up() {
    let proxy = FaultProxy::to_new_database("late").await;
    let (gone, other) = (open(&proxy.url), open(&proxy.direct));
    proxy.fail_next(Fault::HoldOpen);
    let joining = timeout(Duration::from_millis(300), join(&gone, "late@example.com"));
    assert!(joining.await.is_err(), "it is held back");
    drop(gone);
    assert!(!erase(&other, "late@example.com").await);
    SHARED_SERVER.sql(&proxy.name, "DELETE FROM waitlist_count");
    join(&other, "ann@example.com").await;
    proxy.release().await;
    assert_eq!(addresses(&other), ["ann@example.com"]);
}

/// A sign-up is done, and the instance is not told. Before it repeats it, the person is erased.
#[tokio::test(flavor = "multi_thread")]
async fn retried_sign_up_does_not_restore_an_erased_person() {
    let proxy = FaultProxy::to_new_database("late").await;
    let (list, other) = (Arc::new(open(&proxy.url)), open(&proxy.direct));
    proxy.fail_next(Fault::NoResponse);
    let joining = tokio::spawn({
        let list = Arc::clone(&list);
        async move { list.join(entry("late@example.com", 1)).await }
    });
    let mut changes = other.watch_count();
    within_timeout(changes.wait_for(|count| *count == 1)).await;
    assert!(erase(&other, "late@example.com").await);
    let joined = joining.await.expect("no panic");
    let error = joined.expect_err("signing up again tells");
    assert!(is_outage(&error), "{error:?}");
    assert_eq!(addresses(&other), [""; 0]);
    assert_eq!(join(&*list, "late@example.com").await, JoinOutcome::New);
    assert_eq!(addresses(&other), ["late@example.com"]);
}

/// Every message of an instance in turn, whatever it is: of the beginning, of a sign-up, of an erasure, of a
/// question.
#[tokio::test(flavor = "multi_thread")]
async fn every_late_statement_is_harmless() {
    let mut held = 0;
    for number in 0.. {
        let proxy = FaultProxy::to_new_database("").await;
        let list = open(&proxy.url);
        let all = timeout(TEST_TIMEOUT, async {
            proxy.fail_after(Fault::DeliverLate, number);
            join(&list, "ann@example.com").await;
            join(&list, "bob@example.com").await;
            assert_eq!(
                join(&list, "ann@example.com").await,
                JoinOutcome::AlreadyListed
            );
            list.ready().await.expect("it is ready");
            assert!(erase(&list, "ann@example.com").await, "message {number}");
            assert!(!erase(&list, "eve@example.com").await);
            assert_eq!(join(&list, "carl@example.com").await, JoinOutcome::New);
            assert!(erase(&list, "bob@example.com").await, "message {number}");
            assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
        });
        all.await.expect("it ends");
        let was_held = proxy.faults() > 0;
        if was_held {
            proxy.release().await;
        }
        // A new process, that knows nothing.
        drop(list);
        let list = open(&proxy.direct);
        let mut listed = addresses(&list);
        listed.sort();
        assert_eq!(
            listed,
            ["bob@example.com", "carl@example.com"],
            "message {number}"
        );
        assert_eq!(list.count(), 2, "message {number}");
        if !was_held {
            break;
        }
        held += 1;
    }
    assert!(held > 8, "only {held} messages");
}
