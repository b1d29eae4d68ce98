//! Changes that another client's change comes between: before they are repeated, or before they are committed.

use std::{slice, sync::Arc, time::SystemTime};

use futures_util::FutureExt;
use landing::waitlist::{
    CorrectOutcome, Erasure, Fact, JoinOutcome, OwnerList, PostgresWaitlist, StoreError, Waitlist,
    WaitlistEntry,
};
use tokio::task::JoinHandle;

use super::{ProxiedDatabase, SharedDatabase};
use crate::{
    fault_proxy::Fault,
    store::{addresses, email, entry, eventually, join},
};

/// Returns a sign-up of somebody who is asked to confirm the address.
fn unconfirmed(typed: &str) -> WaitlistEntry {
    WaitlistEntry {
        asked_at: Some(SystemTime::now()),
        ..entry(typed, 1)
    }
}

/// An instance creates the missing rows of the count while an erasure commits. A sign-up from before it must not find an old
/// epoch in any row.
#[tokio::test(flavor = "multi_thread")]
async fn created_count_rows_have_the_epoch_of_an_erasure_under_way() {
    let database = SharedDatabase::create();
    let first = database.open();
    join(&first, "ann@example.com").await;
    database.sql("DELETE FROM waitlist_count WHERE entries = 0");
    let second = database.open();
    let erasing = database.start_sleeping(
        "BEGIN; UPDATE waitlist_count SET epoch = epoch + 1; SELECT pg_sleep(1); COMMIT",
    );
    join(&second, "bob@example.com").await;
    erasing.await.expect("no panic");
    let epochs = "SELECT count(DISTINCT epoch) FROM waitlist_count";
    assert_eq!(database.sql(epochs), "1");
}

/// The site asks a person again before the database executes the confirmation, whose instance is gone.
#[tokio::test(flavor = "multi_thread")]
async fn late_confirmation_without_effect_lifts_no_suppression() {
    let proxy = ProxiedDatabase::create("late").await;
    let (gone, other) = (proxy.open(), proxy.database.open());
    let late = email("late@example.com");
    assert_eq!(other.suppress(slice::from_ref(&late)).await, Ok(vec![true]));
    let joined = other.join(unconfirmed("late@example.com")).await;
    assert_eq!(joined, Ok(JoinOutcome::New));
    // The first matching statement looks the person up.
    proxy.fail_after(Fault::HoldOpen, 1);
    let joined_at = unconfirmed("late@example.com").joined_at;
    let confirmed = Fact::ConfirmedAt(SystemTime::now());
    let confirming = gone.add_fact(&late, joined_at, confirmed);
    tokio::select! {
        _ = confirming => panic!("the proxy did not hold the statement back"),
        () = proxy.until_fault() => {}
    }
    drop(gone);
    let asked = Fact::AskedAt(SystemTime::now());
    let asking = other.add_fact(&late, joined_at, asked);
    assert_eq!(asking.await, Ok(true));
    proxy.release().await;
    let person = other.person(&late).await.expect("no error");
    assert_eq!(person.expect("listed").confirmed_at, None);
    assert_eq!(other.is_suppressed(&late).await, Ok(true));
}

/// The response to a correction is lost. Before it is repeated, another client corrects the address back.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_correction_does_not_undo_a_later_one() {
    let (proxy, other, correcting) = correct_without_response().await;
    let (late, right) = (email("late@example.com"), email("right@example.com"));
    other.correct(&right, &late).await.expect("no error");
    let corrected = correcting.await.expect("no panic");
    assert!(corrected.is_err(), "the outcome is unknown: {corrected:?}");
    assert_eq!(addresses(&other), ["late@example.com"]);
    assert_eq!(proxy.faults(), 1);
}

/// As above. The person leaves, and another one signs up with the old address.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_correction_changes_no_other_sign_up() {
    let (proxy, other, correcting) = correct_without_response().await;
    let right = email("right@example.com");
    let erased = other
        .erase(slice::from_ref(&right), Erasure::Suppress)
        .await;
    assert_eq!(erased, Ok(vec![true]));
    assert_eq!(join(&other, "late@example.com").await, JoinOutcome::New);
    let corrected = correcting.await.expect("no panic");
    assert!(corrected.is_err(), "the outcome is unknown: {corrected:?}");
    assert_eq!(addresses(&other), ["late@example.com"]);
    assert_eq!(proxy.faults(), 1);
}

/// The response to a correction of the spelling is lost. The repetition finds that it took effect.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_correction_of_the_spelling_succeeds() {
    let proxy = ProxiedDatabase::create("late").await;
    let list = proxy.open();
    join(&list, "late@example.com").await;
    proxy.fail_after(Fault::NoResponse, 1);
    let (old, new) = (email("late@example.com"), email("Late@example.com"));
    let corrected = list.correct(&old, &new).await;
    assert_eq!(corrected, Ok(CorrectOutcome::Corrected));
    assert_eq!(proxy.faults(), 1);
    assert_eq!(addresses(&list), ["Late@example.com"]);
}

/// The response to a confirmation is lost. Before it is repeated, the person leaves, and somebody types the address again.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_confirmation_confirms_no_other_sign_up() {
    let proxy = ProxiedDatabase::create("late").await;
    let (list, other) = (proxy.open(), proxy.database.open());
    let late = email("late@example.com");
    let joined = other.join(unconfirmed("late@example.com")).await;
    assert_eq!(joined, Ok(JoinOutcome::New));
    proxy.fail_after(Fault::NoResponse, 1);
    let confirmed = Fact::ConfirmedAt(SystemTime::now());
    let joined_at = unconfirmed("late@example.com").joined_at;
    let confirmed_late = late.clone();
    let confirming = tokio::spawn(async move {
        let confirming = list.add_fact(&confirmed_late, joined_at, confirmed);
        confirming.await
    });
    proxy.until_fault().await;
    let person = async || other.person(&late).await.expect("no error");
    let is_confirmed = async || !person().await.is_some_and(|it| it.awaits_confirmation());
    assert!(eventually(is_confirmed).await, "the confirmation is lost");
    let erased = other.erase(slice::from_ref(&late), Erasure::Suppress).await;
    assert_eq!(erased, Ok(vec![true]));
    let joined = other.join(unconfirmed("late@example.com")).await;
    assert_eq!(joined, Ok(JoinOutcome::New));
    assert_eq!(confirming.await.expect("no panic"), Ok(false));
    assert!(person().await.expect("listed").awaits_confirmation());
    assert_eq!(other.is_suppressed(&late).await, Ok(true));
}

/// A visitor types a suppressed address while it is imported. The visitor must confirm it.
#[tokio::test(flavor = "multi_thread")]
async fn visitor_of_an_imported_address_is_asked_to_confirm_it() {
    let database = SharedDatabase::create();
    let list = Arc::new(database.open());
    let late = email("late@example.com");
    assert_eq!(list.suppress(slice::from_ref(&late)).await, Ok(vec![true]));
    // While the first one waits for a lock, the others join the next batch.
    let locked = database
        .start_sleeping("BEGIN; LOCK TABLE waitlist_entries IN SHARE MODE; SELECT pg_sleep(60)");
    let first = tokio::spawn({
        let list = Arc::clone(&list);
        async move { join(&*list, "first@example.com").await }
    });
    database.wait_for_lock();
    let mut importing = list.join_all(vec![entry("late@example.com", 1)]);
    assert!(importing.as_mut().now_or_never().is_none(), "it waits");
    let mut joining = list.join(unconfirmed("late@example.com"));
    assert!(joining.as_mut().now_or_never().is_none(), "it waits");
    database.end_sleeping();
    locked.await.expect("no panic");
    first.await.expect("no panic");
    importing.await.expect("no error");
    joining.await.expect("no error");
    let person = list.person(&late).await.expect("no error");
    assert!(person.expect("listed").awaits_confirmation());
    assert_eq!(list.is_suppressed(&late).await, Ok(true));
}

/// A correction that has taken effect, without a response.
type Correcting = JoinHandle<Result<CorrectOutcome, StoreError>>;

/// Corrects an address, and returns once the correction has taken effect. It is repeated when its response does not come.
async fn correct_without_response() -> (ProxiedDatabase, PostgresWaitlist, Correcting) {
    let proxy = ProxiedDatabase::create("late").await;
    let (list, other) = (proxy.open(), proxy.database.open());
    join(&other, "late@example.com").await;
    // The first matching statement looks the person up.
    proxy.fail_after(Fault::NoResponse, 1);
    let correcting = tokio::spawn(async move {
        let (late, right) = (email("late@example.com"), email("right@example.com"));
        list.correct(&late, &right).await
    });
    proxy.until_fault().await;
    let is_corrected = async || addresses(&other) == ["right@example.com"];
    assert!(eventually(is_corrected).await, "the correction is lost");
    (proxy, other, correcting)
}
