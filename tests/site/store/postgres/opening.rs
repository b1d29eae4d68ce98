//! What is refused when a list is opened, and what is warned of.

use landing::waitlist::{DatabaseError, Joined, PostgresWaitlist, Waitlist};
use tokio::task::block_in_place;

use super::{RUNTIME, open, refusal};
use crate::{
    postgres_server::{self, SHARED, Server},
    process::wait_until,
    store::join,
};

#[test]
fn a_database_without_a_list_is_left_alone_unless_one_is_to_be_made() {
    let url = postgres_server::database();
    let told = PostgresWaitlist::open(&url, RUNTIME.handle()).expect_err("there is none");
    assert!(matches!(told, DatabaseError::NoList(_)), "{told}");
    drop(open(&url));
    assert_eq!(
        PostgresWaitlist::open(&url, RUNTIME.handle())
            .expect("there is one")
            .count(),
        0
    );
}

#[test]
fn a_server_that_refuses_or_is_not_there_is_told_with_what_to_do() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    let told = refusal(&url.replace("secret-of-the-tests", "secret-of-others"));
    assert!(told.contains("password authentication failed"), "{told}");
    let told = refusal(&SHARED.url("no_such_database"));
    assert!(
        told.contains("\"no_such_database\" does not exist"),
        "{told}"
    );
    let told = refusal(&url.replace(&SHARED.port.to_string(), "1"));
    assert!(
        told.contains("does not answer") && told.contains("refused"),
        "{told}"
    );

    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0";
    SHARED.sql("postgres", latin);
    let told = refusal(&SHARED.url("latin"));
    assert!(
        told.contains("LATIN1") && told.contains("ENCODING 'UTF8'"),
        "{told}"
    );

    // As a standby is.
    SHARED.sql(
        "postgres",
        &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"),
    );
    let told = refusal(&url);
    assert!(told.contains("does not allow writes"), "{told}");
}

#[test]
fn a_list_of_a_newer_format_is_refused_by_its_number() {
    let database = SHARED.database();
    let name = database.rsplit('/').next().expect("a name");
    drop(open(&database.parse().expect("a URL")));
    SHARED.sql(name, "INSERT INTO waitlist_migrations (version) VALUES (7)");
    let told = refusal(&database);
    assert!(
        told.contains("format 7") && told.contains("reads format 2"),
        "{told}"
    );
}

/// One that was made by somebody who may.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_make_tables_can_serve_a_list_that_is_there() {
    let database = SHARED.database();
    let name = database.rsplit('/').next().expect("a name");
    SHARED.sql("postgres", &format!("CREATE USER {name} PASSWORD 'secret'"));
    let as_user = database.replace("owner:secret-of-the-tests", &format!("{name}:secret"));
    let told = refusal(&as_user);
    assert!(
        told.contains("permission denied") && told.contains("privileges"),
        "{told}"
    );
    drop(open(&database.parse().expect("a URL")));
    SHARED.sql(
        name,
        &format!(
            "GRANT SELECT ON waitlist_migrations TO {name};
         GRANT SELECT, INSERT, DELETE ON waitlist_entries TO {name};
         GRANT SELECT, UPDATE ON waitlist_count TO {name}"
        ),
    );
    let list = open(&as_user.parse().expect("a URL"));
    assert_eq!(join(&list, "ann@example.com").await, Joined::New);
}

/// Else an answer would be no promise: the next crash of the database may take it back.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_waits_for_the_disk_also_where_the_database_would_not() {
    // It writes its log out of its own accord too, but not so often.
    let server = Server::with(&["wal_writer_delay = 10s", "synchronous_commit = off"]);
    let list = open(&server.database().parse().expect("a URL"));
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
async fn an_answer_waits_for_the_disk_also_when_the_setting_is_changed_later() {
    let server = Server::with(&["wal_writer_delay = 10s"]);
    let list = open(&server.database().parse().expect("a URL"));
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
fn warns_of_a_database_that_does_not_sync() {
    let server = Server::with(&["fsync = off"]);
    let list = open(&server.database().parse().expect("a URL"));
    let warning = list.warning().expect("a warning");
    assert!(warning.contains("fsync = off"), "{warning}");
    assert_eq!(open(&postgres_server::database()).warning(), None);
}
