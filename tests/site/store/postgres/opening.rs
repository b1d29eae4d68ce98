//! What is refused when a list is opened, and what is warned of.

use landing::waitlist::{JoinOutcome, PostgresOpenError, PostgresWaitlist, Waitlist};
use tokio::task::block_in_place;

use super::{RUNTIME, open, open_error};
use crate::{
    postgres_server::{self, PostgresServer, SHARED_SERVER},
    process::wait_until,
    store::join,
};

#[test]
fn open_creates_no_list_unless_asked() {
    let url = postgres_server::test_database();
    let message = PostgresWaitlist::open(&url, RUNTIME.handle()).expect_err("there is none");
    assert!(matches!(message, PostgresOpenError::NoList(_)), "{message}");
    drop(open(&url));
    assert_eq!(
        PostgresWaitlist::open(&url, RUNTIME.handle())
            .expect("there is one")
            .count(),
        0
    );
}

#[test]
fn reports_connection_errors_with_advice() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let message = open_error(&url.replace("secret-of-the-tests", "secret-of-others"));
    assert!(
        message.contains("password authentication failed"),
        "{message}"
    );
    let message = open_error(&SHARED_SERVER.url("no_such_database"));
    assert!(
        message.contains("\"no_such_database\" does not exist"),
        "{message}"
    );
    let message = open_error(&url.replace(&SHARED_SERVER.port.to_string(), "1"));
    assert!(
        message.contains("does not answer") && message.contains("refused"),
        "{message}"
    );

    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0";
    SHARED_SERVER.sql("postgres", latin);
    let message = open_error(&SHARED_SERVER.url("latin"));
    assert!(
        message.contains("LATIN1") && message.contains("ENCODING 'UTF8'"),
        "{message}"
    );

    // As a standby is.
    SHARED_SERVER.sql(
        "postgres",
        &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"),
    );
    let message = open_error(&url);
    assert!(message.contains("does not allow writes"), "{message}");
}

#[test]
fn rejects_a_newer_format_by_its_number() {
    let database = SHARED_SERVER.create_database();
    let name = database.rsplit('/').next().expect("a name");
    drop(open(&database.parse().expect("a URL")));
    SHARED_SERVER.sql(name, "INSERT INTO waitlist_migrations (version) VALUES (7)");
    let message = open_error(&database);
    assert!(
        message.contains("format 7") && message.contains("reads format 2"),
        "{message}"
    );
}

/// One that was made by somebody who may.
#[tokio::test(flavor = "multi_thread")]
async fn serves_an_existing_list_without_create_rights() {
    let database = SHARED_SERVER.create_database();
    let name = database.rsplit('/').next().expect("a name");
    SHARED_SERVER.sql("postgres", &format!("CREATE USER {name} PASSWORD 'secret'"));
    let as_user = database.replace("owner:secret-of-the-tests", &format!("{name}:secret"));
    let message = open_error(&as_user);
    assert!(
        message.contains("permission denied") && message.contains("privileges"),
        "{message}"
    );
    drop(open(&database.parse().expect("a URL")));
    SHARED_SERVER.sql(
        name,
        &format!(
            "GRANT SELECT ON waitlist_migrations TO {name};
         GRANT SELECT, INSERT, DELETE ON waitlist_entries TO {name};
         GRANT SELECT, UPDATE ON waitlist_count TO {name}"
        ),
    );
    let list = open(&as_user.parse().expect("a URL"));
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
}

/// Else an answer would be no promise: the next crash of the database may take it back.
#[tokio::test(flavor = "multi_thread")]
async fn commits_synchronously_despite_synchronous_commit_off() {
    // It writes its log out of its own accord too, but not so often.
    let server =
        PostgresServer::with_settings(&["wal_writer_delay = 10s", "synchronous_commit = off"]);
    let list = open(&server.create_database().parse().expect("a URL"));
    for number in 0..20 {
        join(&list, &format!("{number}@example.com")).await;
    }
    server.down("immediate");
    server.up();
    let listed = "SELECT count(*) FROM waitlist_entries";
    assert_eq!(server.sql("list0", listed), "20");
}

/// Without a setting of its own, a session follows the server's when that is changed.
#[tokio::test(flavor = "multi_thread")]
async fn commits_synchronously_after_a_later_settings_change() {
    let server = PostgresServer::with_settings(&["wal_writer_delay = 10s"]);
    let list = open(&server.create_database().parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    for change in [
        "ALTER SYSTEM SET synchronous_commit = off",
        "SELECT pg_reload_conf()",
        "CHECKPOINT",
    ] {
        server.sql("postgres", change);
    }
    block_in_place(|| {
        wait_until("a new session has the setting", || {
            server.sql("postgres", "SHOW synchronous_commit") == "off"
        });
    });
    for number in 0..20 {
        join(&list, &format!("{number}@example.com")).await;
    }
    server.down("immediate");
    server.up();
    let listed = "SELECT count(*) FROM waitlist_entries";
    assert_eq!(server.sql("list0", listed), "21");
}

#[test]
fn warns_about_fsync_off() {
    let server = PostgresServer::with_settings(&["fsync = off"]);
    let list = open(&server.create_database().parse().expect("a URL"));
    let warning = list.warning().expect("a warning");
    assert!(warning.contains("fsync = off"), "{warning}");
    assert_eq!(open(&postgres_server::test_database()).warning(), None);
}
