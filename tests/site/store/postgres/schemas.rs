//! Tables that somebody has changed by hand. `database.txt` of the commands has schemas.

use std::time::SystemTime;

use landing::waitlist::{
    BackupItem, Fact, JoinOutcome, ListKey, OwnerList, RestoreError, Waitlist, WaitlistEntry,
};
use tokio::task::block_in_place;

use super::SharedDatabase;
use crate::store::{add_fact, addresses, entry, join};

#[tokio::test(flavor = "multi_thread")]
async fn backup_is_restored_into_emptied_tables() {
    let database = SharedDatabase::create();
    join(&database.open(), "ann@example.com").await;
    database.sql("TRUNCATE waitlist_entries, waitlist_count, waitlist_key");
    let key = ListKey::from_slice(&[7; 32]).expect("32 bytes");
    let person = BackupItem::Person(entry("bob@example.com", 1));
    let restored = block_in_place(|| database.open().restore(key, [Ok(person)].into_iter()));
    restored.expect("the tables are empty");
    let list = database.open();
    assert_eq!((addresses(&list).len(), list.count()), (1, 1));
    assert_eq!(list.list_key().await, Ok(key));
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
}

/// PostgreSQL has microseconds, and the stores have milliseconds.
#[tokio::test(flavor = "multi_thread")]
async fn person_whose_time_was_set_by_hand_can_confirm() {
    let database = SharedDatabase::create();
    let list = database.open();
    let unconfirmed = WaitlistEntry {
        asked_at: Some(SystemTime::now()),
        ..entry("ann@example.com", 1)
    };
    assert_eq!(list.join(unconfirmed).await, Ok(JoinOutcome::New));
    database.sql("UPDATE waitlist_entries SET asked_at = '2026-01-01 00:00:00.123456Z'");
    let confirmed = Fact::ConfirmedAt(SystemTime::now());
    let confirmed = add_fact(&list, "ann@example.com", confirmed).await;
    assert_eq!(confirmed, Ok(true));
}

/// While it waited for a lock, all instances would wait behind it.
#[tokio::test(flavor = "multi_thread")]
async fn restore_into_a_list_with_people_locks_nothing() {
    let database = SharedDatabase::create();
    let list = database.open();
    join(&list, "ann@example.com").await;
    let locked = database
        .start_sleeping("BEGIN; SELECT FROM waitlist_count FOR UPDATE; SELECT pg_sleep(60)");
    let key = ListKey::from_slice(&[7; 32]).expect("32 bytes");
    let restored = block_in_place(|| list.restore(key, std::iter::empty()));
    assert!(
        matches!(restored, Err(RestoreError::NotEmpty)),
        "{restored:?}"
    );
    assert!(!locked.is_finished(), "the rows are still locked");
    database.end_sleeping();
    locked.await.expect("no panic");
}
