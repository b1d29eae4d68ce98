//! The schema of a list, and tables that somebody has changed by hand.

use std::time::SystemTime;

use landing::waitlist::{
    BackupItem, Fact, JoinOutcome, ListKey, OwnerList, RestoreError, Waitlist, WaitlistEntry,
};
use tokio::task::block_in_place;

use super::{SharedDatabase, open_error, open_url};
use crate::store::{addresses, email, entry, join};

/// The default `search_path` has `"$user"` before `public`.
#[tokio::test(flavor = "multi_thread")]
async fn later_schema_does_not_hide_the_list() {
    let database = SharedDatabase::create();
    let list = database.open();
    join(&list, "ann@example.com").await;
    database.sql(
        "CREATE SCHEMA owner;
         CREATE TABLE owner.waitlist_entries (LIKE public.waitlist_entries INCLUDING ALL);
         CREATE TABLE owner.waitlist_count (LIKE public.waitlist_count INCLUDING ALL)",
    );
    // This covers a running instance with old and new connections, and an instance that starts.
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    database.sql(end);
    assert_eq!(
        join(&list, "ANN@example.com").await,
        JoinOutcome::AlreadyListed
    );
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    let list = database.open();
    assert_eq!(
        join(&list, "Bob@example.com").await,
        JoinOutcome::AlreadyListed
    );
    assert_eq!((addresses(&list).len(), list.count()), (2, 2));
    assert_eq!(
        database.sql("SELECT count(*) FROM owner.waitlist_entries"),
        "0"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn search_path_selects_the_schema() {
    let database = SharedDatabase::create();
    database.sql(r#"CREATE SCHEMA "Of the site""#);
    let url = &database.url;
    let with_schema = format!("{url}?options=-csearch_path%3D%22Of%5C%20the%5C%20site%22");
    let list = open_url(&with_schema);
    join(&list, "ann@example.com").await;
    let other = database.open();
    assert_eq!(other.count(), 0);
    assert_eq!(open_url(&with_schema).count(), 1);

    let both = format!("{url}?options=-csearch_path%3D%22Of%5C%20the%5C%20site%22,public");
    let message = open_error(&both);
    assert!(message.contains("Of the site, public"), "{message}");
    let message = open_error(&format!("{url}?options=-csearch_path%3Dnowhere"));
    assert!(message.contains("search_path"), "{message}");
}

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
    let facts = vec![(email("ann@example.com"), confirmed)];
    assert_eq!(list.add_facts(facts).await, Ok(vec![true]));
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
