//! The schema in which a list is.

use landing::waitlist::{JoinOutcome, Waitlist};

use super::{open, open_error, within_timeout};
use crate::{
    postgres_server::SHARED_SERVER,
    store::{addresses, join},
};

/// `"$user"` is in front of `public` unless somebody has changed that.
#[tokio::test(flavor = "multi_thread")]
async fn later_schema_does_not_hide_the_list() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    SHARED_SERVER.sql(
        name,
        "CREATE SCHEMA owner;
         CREATE TABLE owner.waitlist_entries (LIKE public.waitlist_entries INCLUDING ALL);
         CREATE TABLE owner.waitlist_count (LIKE public.waitlist_count INCLUDING ALL)",
    );
    // One that runs, with another connection too, and one that starts.
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    );
    SHARED_SERVER.sql(name, &end);
    assert_eq!(
        join(&list, "ANN@example.com").await,
        JoinOutcome::AlreadyListed
    );
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    let list = open(&url.parse().expect("a URL"));
    assert_eq!(
        join(&list, "Bob@example.com").await,
        JoinOutcome::AlreadyListed
    );
    assert_eq!((addresses(&list).len(), list.count()), (2, 2));
    assert_eq!(
        SHARED_SERVER.sql(name, "SELECT count(*) FROM owner.waitlist_entries"),
        "0"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn search_path_selects_the_schema() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    SHARED_SERVER.sql(name, r#"CREATE SCHEMA "Of the site""#);
    let there = format!("{url}?options=-csearch_path%3D%22Of%5C%20the%5C%20site%22");
    let list = open(&there.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    let other = open(&url.parse().expect("a URL"));
    assert_eq!(other.count(), 0);
    assert_eq!(open(&there.parse().expect("a URL")).count(), 1);

    let both = format!("{url}?options=-csearch_path%3D%22Of%5C%20the%5C%20site%22,public");
    let message = open_error(&both);
    assert!(message.contains("Of the site, public"), "{message}");
    let message = open_error(&format!("{url}?options=-csearch_path%3Dnowhere"));
    assert!(message.contains("search_path"), "{message}");
}

/// An instance of the version before goes on while the tables are updated, and a new one starts.
#[tokio::test(flavor = "multi_thread")]
async fn migrates_a_list_of_the_first_format() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    drop(list);
    SHARED_SERVER.sql(
        name,
        "ALTER TABLE waitlist_count DROP COLUMN epoch;
         DELETE FROM waitlist_migrations WHERE version = 2",
    );
    let list = open(&url.parse().expect("a URL"));
    assert_eq!(
        join(&list, "ANN@example.com").await,
        JoinOutcome::AlreadyListed
    );
    // As the version before did it.
    SHARED_SERVER.sql(
        name,
        "INSERT INTO waitlist_entries VALUES ('bob@example.com', 'bob@example.com', now(), gen_random_uuid());
         UPDATE waitlist_count SET entries = entries + 1 WHERE slot = 5",
    );
    let mut changes = list.watch_count();
    within_timeout(changes.wait_for(|count| *count == 2)).await;
}
