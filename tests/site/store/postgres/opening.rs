//! Opening a list: errors, warnings, privileges and synchronous commits.

use std::time::UNIX_EPOCH;

use landing::waitlist::{
    CorrectOutcome, Erasure, Fact, JoinOutcome, OwnerList, PostgresWaitlist, Waitlist,
};
use tokio::task::block_in_place;

use super::{ProxiedDatabase, RUNTIME, SharedDatabase, open, open_error, open_url};
use crate::{
    fault_proxy::Fault,
    postgres_server::{self, FIRST_DATABASE, PostgresServer},
    process::wait_until,
    store::{add_fact, email, entries, join},
};

#[test]
fn open_creates_no_list_unless_asked() {
    let url = postgres_server::test_database();
    let error = PostgresWaitlist::open(&url, RUNTIME.handle(), false)
        .err()
        .expect("there is no list");
    assert!(error.is_no_list(), "{error}");
    drop(open(&url));
    let list = PostgresWaitlist::open(&url, RUNTIME.handle(), false);
    assert_eq!(list.expect("there is a list").count(), 0);
}

/// The connection breaks while the store looks for a pooler.
#[tokio::test(flavor = "multi_thread")]
async fn lost_connection_is_not_mistaken_for_a_pooler() {
    for others in 0..4 {
        let proxy = ProxiedDatabase::create("pg_backend_pid").await;
        proxy.fail_after(Fault::BeforeStatement, others);
        let url = proxy.url().parse().expect("a valid URL");
        let opened = block_in_place(|| PostgresWaitlist::open(&url, RUNTIME.handle(), true));
        let error = opened.err().expect("the connection was closed");
        assert!(error.is_transient(), "{error}");
    }
}

/// Another user, who may create tables, creates the list.
#[tokio::test(flavor = "multi_thread")]
async fn serves_an_existing_list_without_create_rights() {
    let database = SharedDatabase::create();
    let (url, user) = (database.create_user(), &database.name);
    let message = open_error(&url);
    assert!(
        message.contains("permission denied") && message.contains("privileges"),
        "{message}"
    );
    drop(database.open());
    // As in docs/instances.md.
    database.sql(&format!(
        "GRANT SELECT ON waitlist_migrations TO {user};
         GRANT SELECT, INSERT, UPDATE, DELETE ON waitlist_entries TO {user};
         GRANT SELECT, UPDATE ON waitlist_count TO {user};
         GRANT SELECT ON waitlist_key TO {user};
         GRANT SELECT, INSERT, DELETE ON waitlist_suppressed TO {user};
         GRANT SELECT, INSERT ON waitlist_departures TO {user}"
    ));
    let list = open_url(&url);
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
    let (ann, eve) = (email("ann@example.com"), email("eve@example.com"));
    let confirmed = add_fact(&list, "ann@example.com", Fact::ConfirmedAt(UNIX_EPOCH)).await;
    assert_eq!(confirmed, Ok(true));
    let corrected = list.correct(&ann, &eve).await;
    assert_eq!(corrected, Ok(CorrectOutcome::Corrected));
    let listed = entries(&list);
    assert_eq!(listed[0].confirmed_at, Some(UNIX_EPOCH));
    let erased = list.erase(&[eve], Erasure::Suppress).await;
    assert_eq!(erased, Ok(vec![true]));
    assert_eq!(
        list.is_suppressed(&email("eve@example.com")).await,
        Ok(true)
    );
    assert_eq!(join(&list, "eve@example.com").await, JoinOutcome::New);
    assert_eq!(
        list.is_suppressed(&email("eve@example.com")).await,
        Ok(false)
    );
}

/// With `synchronous_commit = off`, a crash of the database can lose acknowledged sign-ups. A session that does not set it
/// follows later changes of the server's setting.
#[tokio::test(flavor = "multi_thread")]
async fn commits_synchronously_whatever_the_server_says() {
    for is_set_later in [false, true] {
        // The WAL writer also flushes in the background. The delay keeps it from doing so before the crash.
        let off = if is_set_later {
            ""
        } else {
            "synchronous_commit = off"
        };
        let server = PostgresServer::with_settings(&["wal_writer_delay = 10s", off]);
        let list = open_url(&server.create_database());
        join(&list, "ann@example.com").await;
        if is_set_later {
            for change in [
                "ALTER SYSTEM SET synchronous_commit = off",
                "SELECT pg_reload_conf()",
                "CHECKPOINT",
            ] {
                server.sql("postgres", change);
            }
            wait_until("new sessions have the setting", || {
                server.sql("postgres", "SHOW synchronous_commit") == "off"
            });
        }
        for number in 0..20 {
            join(&list, &format!("{number}@example.com")).await;
        }
        server.down("immediate");
        server.up();
        let listed = "SELECT count(*) FROM waitlist_entries";
        assert_eq!(server.sql(FIRST_DATABASE, listed), "21", "{is_set_later}");
    }
}

#[test]
fn warns_about_fsync_off() {
    let server = PostgresServer::with_settings(&["fsync = off"]);
    let list = open_url(&server.create_database());
    let warning = list.warning().expect("a warning");
    assert!(warning.contains("fsync = off"), "{warning}");
    assert_eq!(open(&postgres_server::test_database()).warning(), None);
}
