//! Statements that the database executes late: the store retries them on another connection, and the list changes
//! before the first one arrives.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{
    CorrectOutcome, Delivery, DeliveryState, DeliveryStatus, Erasure, Fact, JoinOutcome, Ledger,
    Message, PostgresWaitlist, Waitlist,
};
use tokio::{
    task::block_in_place,
    time::{sleep, timeout},
};

use super::{ProxiedDatabase, is_outage, run_concurrently, within_timeout};
use crate::{
    fault_proxy::Fault,
    process::{TEST_TIMEOUT, wait_until},
    store::{
        addresses, email, entries, entry, erase, join,
        ledger::{hash, id, result, start},
    },
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

/// The database executes an insertion, and cancels the statement that then looks up who was listed before. One of the
/// people is erased before the insertion is repeated.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_lookup_after_a_sign_up_restores_nobody() {
    let proxy = ProxiedDatabase::create("waitlist_entries").await;
    let (list, other) = (Arc::new(proxy.open()), proxy.database.open());
    // This prepares the insertion, so that the lookup is the next statement that names the table.
    assert_eq!(join(&*list, "bob@example.com").await, JoinOutcome::New);
    proxy.set_holding(true);
    let joining = tokio::spawn({
        let list = Arc::clone(&list);
        let two = ["ann@example.com", "bob@example.com"].map(|typed| entry(typed, 1));
        async move { list.join_all(two.to_vec()).await }
    });
    block_in_place(|| wait_until("the lookup is held back", || proxy.held() == 1));
    let locked = proxy
        .database
        .start_sleeping("BEGIN; LOCK TABLE waitlist_entries; SELECT pg_sleep(60)");
    proxy.set_holding(false);
    proxy.database.wait_for_lock();
    proxy.set_holding(true);
    block_in_place(|| wait_until("the lookup is cancelled", || proxy.held() == 2));
    proxy.database.end_sleeping();
    locked.await.expect("no panic");
    assert!(erase(&other, "ann@example.com").await);
    proxy.set_holding(false);
    let joined = joining.await.expect("no panic");
    assert!(joined.is_err(), "{joined:?}");
    assert_eq!(addresses(&other), ["bob@example.com"]);
}

/// Delays, and repeats, each message of an instance in turn, over a history of everything that changes a list. At its
/// end, each message that arrives once more would change something if nothing made it harmless.
#[tokio::test(flavor = "multi_thread")]
async fn late_and_repeated_statements_are_harmless() {
    const BATCH: u64 = 8;
    for fault in [Fault::DeliverLate, Fault::AfterStatement] {
        let mut failed = 0;
        for first in (0..).step_by(BATCH as usize) {
            let batch = first..first + BATCH;
            let have_failed =
                run_concurrently(batch, move |number| assert_harmless(fault, number)).await;
            failed += have_failed.iter().filter(|it| **it).count();
            if have_failed.contains(&false) {
                break;
            }
        }
        assert!(failed > 40, "only {failed} messages");
    }
}

/// The message with this number has a fault. Returns whether the instance sent that message.
async fn assert_harmless(fault: Fault, number: u64) -> bool {
    let proxy = ProxiedDatabase::create("").await;
    let list = proxy.open();
    proxy.fail_after(fault, number);
    let changes = timeout(TEST_TIMEOUT, async {
        sign_up_and_leave(&list).await;
        leave_for_good_and_come_back(&list).await;
        correct_there_and_back(&list).await;
        begin_and_give_back(&list).await;
    });
    changes
        .await
        .unwrap_or_else(|_| panic!("{fault:?} of message {number}: timeout"));
    let has_failed = proxy.faults() > 0;
    if has_failed && fault == Fault::DeliverLate {
        proxy.release().await;
    }
    // A new instance reads the list from the database.
    drop(list);
    let list = proxy.database.open();
    let mut listed = addresses(&list);
    listed.sort();
    let context = format!("{fault:?} of message {number}");
    assert_eq!(
        listed,
        ["bob@example.com", "carl@example.com", "dan@example.com"],
        "{context}"
    );
    assert_eq!(list.count(), 3, "{context}");
    for (typed, expected) in [("carl@example.com", false), ("eve@example.com", true)] {
        let is_suppressed = list.is_suppressed(&email(typed)).await;
        assert_eq!(is_suppressed, Ok(expected), "{context}");
    }
    let confirmed = entries(&list)
        .into_iter()
        .filter(|it| it.confirmed_at.is_some());
    let confirmed: Vec<_> = confirmed.map(|it| it.email.key()).collect();
    assert_eq!(confirmed, ["dan@example.com"], "{context}");
    let deliveries = list.deliveries(&id("launch")).await.expect("readable");
    let attempts: Vec<_> = deliveries
        .iter()
        .map(|it| (it.status.state, it.attempts))
        .collect();
    let expected = [(DeliveryState::Waiting, 1), (DeliveryState::Sending, 2)];
    assert_eq!(attempts, expected, "{context}");
    has_failed
}

async fn sign_up_and_leave(list: &PostgresWaitlist) {
    join(list, "ann@example.com").await;
    join(list, "bob@example.com").await;
    assert_eq!(
        join(list, "ann@example.com").await,
        JoinOutcome::AlreadyListed
    );
    list.ready().await.expect("the list is ready");
    let confirmed = Fact::ConfirmedAt(UNIX_EPOCH);
    let facts = ["ann@example.com", "bob@example.com", "eve@example.com"];
    let facts = facts.map(|typed| (email(typed), confirmed));
    assert_eq!(
        list.add_facts(facts.to_vec()).await,
        Ok(vec![true, true, false])
    );
    assert!(erase(list, "ann@example.com").await);
    assert!(!erase(list, "eve@example.com").await);
    assert_eq!(join(list, "carl@example.com").await, JoinOutcome::New);
    assert!(erase(list, "bob@example.com").await);
    // He has not confirmed since then.
    assert_eq!(join(list, "bob@example.com").await, JoinOutcome::New);
    let before = SystemTime::now() + Duration::from_secs(60);
    assert_eq!(join(list, "fay@example.com").await, JoinOutcome::New);
    let unconfirmed = Erasure::Unconfirmed { before };
    let erased = list.erase(&[email("fay@example.com")], unconfirmed).await;
    assert_eq!(erased, Ok(vec![true]));
}

/// Carl leaves and comes back, and Eve leaves for good.
async fn leave_for_good_and_come_back(list: &PostgresWaitlist) {
    for (typed, was_listed) in [("carl@example.com", true), ("eve@example.com", false)] {
        let erased = list.erase(&[email(typed)], Erasure::Suppress).await;
        assert_eq!(erased, Ok(vec![was_listed]));
        let imported = list.join_all(vec![entry(typed, 1)]).await;
        assert_eq!(imported, Ok(vec![JoinOutcome::Suppressed]));
    }
    assert_eq!(join(list, "carl@example.com").await, JoinOutcome::New);
}

async fn correct_there_and_back(list: &PostgresWaitlist) {
    assert_eq!(join(list, "dan@example.com").await, JoinOutcome::New);
    let (right, wrong) = (email("dan@example.com"), email("den@example.com"));
    for (old, new) in [(&right, &wrong), (&wrong, &right)] {
        let corrected = list.correct(old, new).await;
        assert_eq!(corrected, Ok(CorrectOutcome::Corrected));
    }
    let facts = vec![(right, Fact::ConfirmedAt(UNIX_EPOCH))];
    assert_eq!(list.add_facts(facts).await, Ok(vec![true]));
}

/// The first delivery is given back, and the second one is begun again afterwards.
async fn begin_and_give_back(list: &PostgresWaitlist) {
    let launch = id("launch");
    let message = Message::new(launch.clone(), UNIX_EPOCH, "Hi");
    assert_eq!(list.add_message(message).await, Ok(()));
    let deliveries = [0, 1].map(|person| Delivery::waiting(hash(person)));
    let added = list.add_deliveries(&launch, 0, deliveries.to_vec()).await;
    assert_eq!(added, Ok(true));
    let waiting = DeliveryState::Waiting;
    let first = [0, 1].map(|number| start(number, waiting, 0));
    let begun = list.begin_deliveries(&launch, first.to_vec()).await;
    assert_eq!(begun, Ok(vec![true, true]));
    let given_back = [0, 1].map(|number| result(number, 1, DeliveryStatus::new(waiting)));
    let finished = list.finish_deliveries(&launch, given_back.to_vec()).await;
    assert_eq!(finished, Ok(()));
    let second = vec![start(1, waiting, 1)];
    assert_eq!(list.begin_deliveries(&launch, second).await, Ok(vec![true]));
}

/// The table in `sql.rs` says of each statement that changes something what makes it harmless.
#[test]
fn every_statement_that_changes_something_is_in_the_table() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/waitlist/postgres");
    let source = |name: &str| fs::read_to_string(directory.join(name)).expect("readable");
    let mut changing = 0;
    for file in [
        "sql.rs",
        "ledger_sql.rs",
        "suppression_sql.rs",
        "migrations.rs",
    ] {
        let text = source(file);
        for part in text.split("\npub(super) ").skip(1) {
            let Some(rest) = part.strip_prefix("const ").or(part.strip_prefix("fn ")) else {
                continue;
            };
            let rest = rest.split("\n\n").next().expect("a statement");
            let name = rest.split([':', '(']).next().expect("a name");
            let changes = ["INSERT INTO", "UPDATE {", "DELETE FROM", "_statement!"];
            if changes.iter().any(|change| rest.contains(change)) {
                changing += 1;
                assert!(source("sql.rs").contains(&format!("`{name}`")), "{name}");
            }
        }
    }
    assert!(changing > 10, "only {changing} statements");
}
