//! The schema of a list.

use landing::waitlist::{JoinOutcome, Waitlist};

use super::{SharedDatabase, open_error, open_url};
use crate::store::{addresses, join};

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
