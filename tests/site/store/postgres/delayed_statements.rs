//! Statements that the database executes late: the store retries them on another connection, and the list changes
//! before the first one arrives.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use futures_util::FutureExt;
use landing::waitlist::{Erasure, JoinOutcome, ListKey, OwnerList, Waitlist};
use tokio::{task::block_in_place, time::timeout};

use super::{ProxiedDatabase, is_outage, run_concurrently, within_timeout};
use crate::{
    fault_proxy::Fault,
    process::{TEST_TIMEOUT, wait_until},
    store::{
        addresses, email, entry, erase, join,
        repeated_calls::{expected, history, known, make},
    },
};

/// The count rows are deleted and created again before the late sign-up arrives.
#[tokio::test(flavor = "multi_thread")]
async fn recreated_count_rows_do_not_admit_a_late_sign_up() {
    let proxy = ProxiedDatabase::create("late").await;
    let (gone, other) = (proxy.open(), proxy.database.open());
    proxy.fail_next(Fault::HoldOpen);
    tokio::select! {
        _ = join(&gone, "late@example.com") => panic!("the statement was not held back"),
        () = proxy.until_fault() => {}
    }
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
    wait_until("the statement is held back", || proxy.held() == 1);
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
    let lock_table = || {
        let statements = "BEGIN; LOCK TABLE waitlist_entries; SELECT pg_sleep(60)";
        proxy.database.start_sleeping(statements)
    };
    // While the committer waits, two sign-ups get into the queue. So it takes both at once.
    let locked = lock_table();
    let first = tokio::spawn({
        let list = Arc::clone(&list);
        async move { join(&*list, "cyd@example.com").await }
    });
    proxy.database.wait_for_lock();
    let mut joining = Box::pin({
        let list = Arc::clone(&list);
        let two = ["ann@example.com", "bob@example.com"].map(|typed| entry(typed, 1));
        async move { list.join_all(two.to_vec()).await }
    });
    assert!(joining.as_mut().now_or_never().is_none(), "both wait");
    proxy.set_holding(true);
    proxy.database.end_sleeping();
    locked.await.expect("no panic");
    assert_eq!(first.await.expect("no panic"), JoinOutcome::New);
    let joining = tokio::spawn(joining);
    wait_until("the lookup is held back", || proxy.held() == 1);
    let locked = lock_table();
    proxy.set_holding(false);
    proxy.database.wait_for_lock();
    proxy.set_holding(true);
    wait_until("the lookup is cancelled", || proxy.held() == 2);
    proxy.database.end_sleeping();
    locked.await.expect("no panic");
    assert!(erase(&other, "ann@example.com").await);
    proxy.set_holding(false);
    let joined = joining.await.expect("no panic");
    assert!(joined.is_err(), "{joined:?}");
    assert_eq!(addresses(&other), ["bob@example.com", "cyd@example.com"]);
}

/// The owner has suppressed an address, and lifts that through another instance before the database executes it.
#[tokio::test(flavor = "multi_thread")]
async fn late_suppression_does_not_undo_that_it_was_lifted() {
    let proxy = ProxiedDatabase::create("late").await;
    let (gone, other) = (proxy.open(), proxy.database.open());
    let late = [email("late@example.com")];
    proxy.fail_next(Fault::HoldOpen);
    tokio::select! {
        _ = gone.suppress(&late) => panic!("the statement was not held back"),
        () = proxy.until_fault() => {}
    }
    drop(gone);
    assert_eq!(other.lift(&late).await, Ok(vec![false]));
    proxy.release().await;
    assert_eq!(other.is_suppressed(&late[0]).await, Ok(false));
}

/// The owner takes somebody off the list who is not on it. The person joins before the database executes that.
#[tokio::test(flavor = "multi_thread")]
async fn late_erasure_suppresses_nobody_who_has_joined_since() {
    for number in 0.. {
        let proxy = ProxiedDatabase::create("").await;
        let (gone, other) = (proxy.open(), proxy.database.open());
        let late = [email("late@example.com")];
        proxy.fail_after(Fault::HoldOpen, number);
        let erased = tokio::select! {
            erased = gone.erase(&late, Erasure::Suppress) => Some(erased),
            () = proxy.until_fault() => None,
        };
        if erased.is_some() {
            assert!(number > 3, "only {number} messages");
            break;
        }
        drop(gone);
        assert_eq!(join(&other, "late@example.com").await, JoinOutcome::New);
        proxy.release().await;
        assert_eq!(addresses(&other), ["late@example.com"], "message {number}");
        let is_suppressed = other.is_suppressed(&late[0]).await;
        assert_eq!(is_suppressed, Ok(false), "message {number}");
    }
}

/// A restore gives the list another key while a suppression is on its way. It does not leave a hash that nobody knows.
#[tokio::test(flavor = "multi_thread")]
async fn late_suppression_adds_no_hash_under_an_earlier_key() {
    let proxy = ProxiedDatabase::create("late").await;
    let (list, other) = (Arc::new(proxy.open()), proxy.database.open());
    let late = email("late@example.com");
    proxy.set_holding(true);
    let suppressing = tokio::spawn({
        let (list, late) = (Arc::clone(&list), late.clone());
        async move { list.suppress(&[late]).await }
    });
    wait_until("the statement is held back", || proxy.held() == 1);
    let key = ListKey::from_slice(&[7; 32]).expect("32 bytes");
    block_in_place(|| other.restore(key, std::iter::empty())).expect("the list is empty");
    proxy.set_holding(false);
    assert_eq!(suppressing.await.expect("no panic"), Ok(vec![true]));
    let suppressions = other.suppressions().await.expect("readable");
    assert_eq!(suppressions.list_key(), key);
    assert!(suppressions.hashes().eq([key.hash(late.key())]));
}

/// Delays, and repeats, each message of an instance in turn, over a history of everything that changes a list. At its
/// end, each message that arrives once more would change something if nothing made it harmless. An instance whose message
/// arrives late has sent it again, or is gone, and the call is made once more at another one.
#[tokio::test(flavor = "multi_thread")]
async fn late_and_repeated_statements_are_harmless() {
    const BATCH: u64 = 8;
    for fault in [Fault::DeliverLate, Fault::HoldOpen, Fault::AfterStatement] {
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

const END_LEASE: &str = "DO $$ BEGIN
    IF to_regclass('waitlist_webhook') IS NOT NULL THEN
        UPDATE waitlist_webhook SET leased_until = now() - interval '1 second';
    END IF;
END $$";

/// The message with this number has a fault. Returns whether the instance sent that message.
async fn assert_harmless(fault: Fault, number: u64) -> bool {
    let proxy = ProxiedDatabase::create("").await;
    let mut list = proxy.open();
    let mut is_proxied = true;
    proxy.fail_after(fault, number);
    let context = format!("{fault:?} of message {number}");
    let changes = timeout(TEST_TIMEOUT, async {
        for call in history() {
            tokio::select! {
                () = make(&call, &list) => {}
                () = proxy.until_fault(), if fault == Fault::HoldOpen && is_proxied => {
                    list = proxy.database.open();
                    is_proxied = false;
                    // As if the lease had ended: the process before may have the events.
                    proxy.database.sql(END_LEASE);
                    make(&call, &list).await;
                }
            }
        }
    });
    let in_time = changes.await.is_ok();
    assert!(in_time, "{context}: timeout");
    let has_failed = proxy.faults() > 0;
    if has_failed && fault != Fault::AfterStatement {
        proxy.release().await;
    }
    // A new instance reads the list from the database.
    drop(list);
    assert_eq!(
        known(&proxy.database.open()).await,
        expected().await,
        "{context}"
    );
    has_failed
}

/// Otherwise the history would not send all statements.
#[test]
fn every_call_that_changes_something_is_in_the_history() {
    // `compact` and `recount` repair a store; the tests of each delay and interrupt them.
    let others = [
        "find",
        "list_key",
        "suppressions",
        "is_suppressed",
        "compact",
        "recount",
        "entries",
        "person",
        "ready",
        "count",
        "watch_count",
        "messages",
        "deliveries",
        "pending_events",
        "events_after",
    ];
    let source = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        fs::read_to_string(path).expect("readable")
    };
    let calls = source("tests/site/store/calls.rs");
    let traits = ["store.rs", "ledger.rs"].map(|it| source(&format!("src/waitlist/{it}")));
    let traits = traits
        .iter()
        .flat_map(|text| text.split("pub trait ").skip(1))
        .filter_map(|text| text.split("\n}").next());
    let named = traits.flat_map(|text| text.split("\n    fn ").skip(1));
    let named = named.map(|text| text.split('(').next().expect("a name"));
    let changing: Vec<_> = named.filter(|name| !others.contains(name)).collect();
    assert!(changing.len() > 10, "{changing:?}");
    for name in changing {
        assert!(calls.contains(&format!(".{name}(")), "{name}");
    }
    let (_, variants) = calls.split_once("enum Call {\n").expect("the enum");
    let (variants, _) = variants.split_once("\n}").expect("its end");
    let variants = variants.lines().map(str::trim);
    let variants = variants.filter(|line| !line.starts_with("//"));
    let name = |text: &str| text.split('(').next().expect("a name").to_owned();
    let made = history().into_iter().map(|call| name(&format!("{call:?}")));
    assert_eq!(
        made.collect::<BTreeSet<_>>(),
        variants.map(name).collect::<BTreeSet<_>>()
    );
}

/// The table in `sql.rs` says of each statement that changes something what makes it harmless.
#[test]
fn every_statement_that_changes_something_is_in_the_table() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/waitlist/postgres");
    let source = |name: &str| fs::read_to_string(directory.join(name)).expect("readable");
    let sql = source("sql.rs");
    let table: Vec<_> = sql.lines().filter(|it| it.starts_with("//! |")).collect();
    let mut changing = 0;
    for file in ["sql.rs", "ledger_sql.rs", "schema.rs", "events.rs"] {
        let text = source(file).replace("\npub(super) ", "\n");
        for rest in text.replace("\nfn ", "\nconst ").split("\nconst ").skip(1) {
            let rest = rest.split("\n\n").next().expect("a statement");
            let name = rest.split([':', '(']).next().expect("a name");
            let changes = [
                "INSERT INTO",
                "UPDATE waitlist_",
                "DELETE FROM",
                "_statement!",
            ];
            if changes.iter().any(|change| rest.contains(change)) {
                changing += 1;
                let is_in = |row: &&str| row.contains(&format!("`{name}`"));
                assert!(table.iter().any(is_in), "{name}");
            }
        }
    }
    assert!(changing > 10, "only {changing} statements");
}
