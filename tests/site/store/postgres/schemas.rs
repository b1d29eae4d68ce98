//! The schema in which a list is.

use landing::waitlist::{Joined, Waitlist};

use super::{open, refusal, within};
use crate::{
    postgres_server::SHARED,
    store::{addresses, join},
};

/// `"$user"` is in front of `public` unless somebody has changed that.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_created_later_does_not_hide_the_list() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    SHARED.sql(
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
    SHARED.sql(name, &end);
    assert_eq!(join(&list, "ANN@example.com").await, Joined::AlreadyListed);
    assert_eq!(join(&list, "bob@example.com").await, Joined::New);
    let list = open(&url.parse().expect("a URL"));
    assert_eq!(join(&list, "Bob@example.com").await, Joined::AlreadyListed);
    assert_eq!((addresses(&list).len(), list.count()), (2, 2));
    assert_eq!(
        SHARED.sql(name, "SELECT count(*) FROM owner.waitlist_entries"),
        "0"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_path_says_where_a_list_is_created_and_found() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    SHARED.sql(name, r#"CREATE SCHEMA "Of the site""#);
    let there = format!("{url}?options=-csearch_path%3D%22Of%5C%20the%5C%20site%22");
    let list = open(&there.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    let other = open(&url.parse().expect("a URL"));
    assert_eq!(other.count(), 0);
    assert_eq!(open(&there.parse().expect("a URL")).count(), 1);

    let both = format!("{url}?options=-csearch_path%3D%22Of%5C%20the%5C%20site%22,public");
    let told = refusal(&both);
    assert!(told.contains("Of the site, public"), "{told}");
    let told = refusal(&format!("{url}?options=-csearch_path%3Dnowhere"));
    assert!(told.contains("search_path"), "{told}");
}

/// An instance of the version before goes on while the tables are updated, and a new one starts.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_the_first_format_is_updated() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    drop(list);
    SHARED.sql(
        name,
        "ALTER TABLE waitlist_count DROP COLUMN epoch;
         DELETE FROM waitlist_migrations WHERE version = 2",
    );
    let list = open(&url.parse().expect("a URL"));
    assert_eq!(join(&list, "ANN@example.com").await, Joined::AlreadyListed);
    // As the version before did it.
    SHARED.sql(
        name,
        "INSERT INTO waitlist_entries VALUES ('bob@example.com', 'bob@example.com', now(), gen_random_uuid());
         UPDATE waitlist_count SET entries = entries + 1 WHERE slot = 5",
    );
    let mut changes = list.changes();
    within(changes.wait_for(|count| *count == 2)).await;
}
