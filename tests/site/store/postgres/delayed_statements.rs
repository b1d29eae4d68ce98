//! Statements that arrive late: each in turn is held back, repeated on another connection, and let through after
//! the list has changed.

use std::{sync::Arc, time::Duration};

use landing::waitlist::{Joined, Waitlist};
use tokio::time::timeout;

use super::{
    fault_proxy::{Cut, Wire},
    is_outage, open, within,
};
use crate::{
    postgres_server::SHARED,
    process::A_WHILE,
    store::{addresses, entry, erase, join},
};

/// A sign-up hangs in the database, is repeated, and the person is erased. Then it is done.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_sign_up_does_not_list_an_erased_person() {
    let wire = Wire::to_new_database("late").await;
    let list = open(&wire.url);
    wire.cut(Cut::Late);
    assert_eq!(join(&list, "late@example.com").await, Joined::New);
    assert_eq!(wire.cuts(), 1);
    assert!(erase(&list, "late@example.com").await);
    wire.let_go().await;
    assert_eq!(addresses(&list), [""; 0]);
    join(&list, "ann@example.com").await;
    assert_eq!((addresses(&list).len(), list.count()), (1, 1));
}

/// The same, but the instance that sent it is gone, and the person has joined by another.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_sign_up_of_an_instance_that_is_gone_does_not_list_an_erased_person() {
    let wire = Wire::to_new_database("late").await;
    let (gone, other) = (open(&wire.url), open(&wire.direct));
    wire.cut(Cut::Held);
    {
        let joining = join(&gone, "late@example.com");
        let given_up = timeout(Duration::from_millis(300), joining).await;
        assert!(given_up.is_err(), "it is held back");
    }
    drop(gone);
    assert_eq!(wire.cuts(), 1);
    assert_eq!(join(&other, "late@example.com").await, Joined::New);
    assert!(erase(&other, "late@example.com").await);
    wire.let_go().await;
    assert_eq!(addresses(&other), [""; 0]);
    join(&other, "ann@example.com").await;
    assert_eq!((addresses(&other).len(), other.count()), (1, 1));
}

/// The same, and the rows of the count were deleted and created again in between.
#[tokio::test(flavor = "multi_thread")]
async fn new_rows_of_the_count_do_not_let_a_late_sign_up_pass() {
    let wire = Wire::to_new_database("late").await;
    let (gone, other) = (open(&wire.url), open(&wire.direct));
    wire.cut(Cut::Held);
    let joining = timeout(Duration::from_millis(300), join(&gone, "late@example.com"));
    assert!(joining.await.is_err(), "it is held back");
    drop(gone);
    assert!(!erase(&other, "late@example.com").await);
    SHARED.sql(&wire.name, "DELETE FROM waitlist_count");
    join(&other, "ann@example.com").await;
    wire.let_go().await;
    assert_eq!(addresses(&other), ["ann@example.com"]);
}

/// A sign-up is done, and the instance is not told. Before it repeats it, the person is erased.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_that_is_repeated_does_not_list_an_erased_person() {
    let wire = Wire::to_new_database("late").await;
    let (list, other) = (Arc::new(open(&wire.url)), open(&wire.direct));
    wire.cut(Cut::Mute);
    let joining = tokio::spawn({
        let list = Arc::clone(&list);
        async move { list.join(entry("late@example.com", 1)).await }
    });
    let mut changes = other.changes();
    within(changes.wait_for(|count| *count == 1)).await;
    assert!(erase(&other, "late@example.com").await);
    let joined = joining.await.expect("no panic");
    let error = joined.expect_err("signing up again tells");
    assert!(is_outage(&error), "{error:?}");
    assert_eq!(addresses(&other), [""; 0]);
    assert_eq!(join(&*list, "late@example.com").await, Joined::New);
    assert_eq!(addresses(&other), ["late@example.com"]);
}

/// Every message of an instance in turn, whatever it is: of the beginning, of a sign-up, of an erasure, of a
/// question.
#[tokio::test(flavor = "multi_thread")]
async fn no_statement_does_harm_when_it_arrives_late() {
    let mut held = 0;
    for number in 0.. {
        let wire = Wire::to_new_database("").await;
        let list = open(&wire.url);
        let all = timeout(A_WHILE, async {
            wire.cut_later(Cut::Late, number);
            join(&list, "ann@example.com").await;
            join(&list, "bob@example.com").await;
            assert_eq!(join(&list, "ann@example.com").await, Joined::AlreadyListed);
            list.ready().await.expect("it is ready");
            assert!(erase(&list, "ann@example.com").await, "message {number}");
            assert!(!erase(&list, "eve@example.com").await);
            assert_eq!(join(&list, "carl@example.com").await, Joined::New);
            assert!(erase(&list, "bob@example.com").await, "message {number}");
            assert_eq!(join(&list, "bob@example.com").await, Joined::New);
        });
        all.await.expect("it ends");
        let was_held = wire.cuts() > 0;
        if was_held {
            wire.let_go().await;
        }
        // A new process, that knows nothing.
        drop(list);
        let list = open(&wire.direct);
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
