//! The schema of a list.

use std::time::{Duration, UNIX_EPOCH};

use landing::waitlist::{Erasure, Fact, JoinOutcome, OwnerList, Waitlist};

use super::{SharedDatabase, open_error, open_url, within_timeout};
use crate::store::{addresses, email, entries, entry, join};

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

/// An instance of the previous version keeps running while a new instance migrates the tables.
/// Instances of the version before this one keep running during the migration, with their own statements.
#[tokio::test(flavor = "multi_thread")]
async fn older_instances_keep_working_on_a_migrated_list() {
    let database = SharedDatabase::create();
    database.open();
    database.sql(
        "DROP TABLE waitlist_facts, waitlist_suppressed, waitlist_departures, waitlist_key, waitlist_deliveries,
            waitlist_messages;
         ALTER TABLE waitlist_entries DROP COLUMN source;
         DELETE FROM waitlist_migrations WHERE version >= 3",
    );
    let join = |name: &str| {
        database.sql(&format!(
            "INSERT INTO waitlist_entries (key, email, joined_at, id)
             VALUES ('{name}@example.com', '{name}@example.com', now(), gen_random_uuid());
             UPDATE waitlist_count SET entries = entries + 1 WHERE slot = 5"
        ));
    };
    join("ann");
    let list = database.open();
    join("bob");
    let confirmed = |name: &str| {
        let at = UNIX_EPOCH + Duration::from_secs(5);
        (email(&format!("{name}@example.com")), Fact::ConfirmedAt(at))
    };
    let recorded = list
        .add_facts(vec![confirmed("ann"), confirmed("bob")])
        .await;
    assert_eq!(recorded, Ok(vec![true, true]));
    // An older instance corrects one person, and erases the other.
    database.sql(
        "UPDATE waitlist_entries SET key = 'eve@example.com', email = 'eve@example.com'
             WHERE key = 'bob@example.com';
         DELETE FROM waitlist_entries WHERE key = 'ann@example.com';
         UPDATE waitlist_count SET entries = entries - 1 WHERE slot = 5",
    );
    let left = entries(&list);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].email, email("eve@example.com"));
    assert_eq!(
        left[0].confirmed_at,
        Some(UNIX_EPOCH + Duration::from_secs(5))
    );
    assert_eq!(database.sql("SELECT count(*) FROM waitlist_facts"), "1");
    // An older instance adds a suppressed person. The new one lifts the suppression.
    let erased = list
        .erase(&[email("dan@example.com")], Erasure::Suppress)
        .await;
    assert_eq!(erased, Ok(vec![false]));
    join("dan");
    let joined = list.join_all(vec![entry("dan@example.com", 1)]).await;
    assert_eq!(joined, Ok(vec![JoinOutcome::AlreadyListed]));
    assert_eq!(
        crate::store::join(&list, "dan@example.com").await,
        JoinOutcome::AlreadyListed
    );
    let is_suppressed = list.is_suppressed(&email("dan@example.com")).await;
    assert_eq!(is_suppressed, Ok(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn migrates_a_list_of_the_first_format() {
    let database = SharedDatabase::create();
    let list = database.open();
    join(&list, "ann@example.com").await;
    drop(list);
    database.sql(
        "ALTER TABLE waitlist_count DROP COLUMN epoch;
         ALTER TABLE waitlist_entries DROP COLUMN source;
         DROP TABLE waitlist_facts, waitlist_suppressed, waitlist_departures, waitlist_key, waitlist_deliveries,
            waitlist_messages;
         DELETE FROM waitlist_migrations WHERE version >= 2",
    );
    let list = database.open();
    assert_eq!(
        join(&list, "ANN@example.com").await,
        JoinOutcome::AlreadyListed
    );
    // The statements of the previous version.
    database.sql("INSERT INTO waitlist_entries VALUES ('bob@example.com', 'bob@example.com', now(), gen_random_uuid());
         UPDATE waitlist_count SET entries = entries + 1 WHERE slot = 5",
    );
    let mut changes = list.watch_count();
    within_timeout(changes.wait_for(|count| *count == 2)).await;
}
