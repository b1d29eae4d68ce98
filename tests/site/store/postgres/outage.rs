//! Outages: a database that rejects writes or reads.

use std::{sync::Arc, time::Duration};

use landing::waitlist::{JoinOutcome, Outage, OwnerList, PostgresWaitlist, Selection, Waitlist};
use tokio::{
    task::{JoinHandle, block_in_place},
    time::sleep,
};

use super::{SharedDatabase, is_outage, open_url, within_timeout};
use crate::{
    postgres_server::{FIRST_DATABASE, PostgresServer},
    process::wait_until,
    store::{addresses, entry, join},
};

/// Records each start (`true`) and end (`false`) of an outage.
fn record_changes(list: &PostgresWaitlist) -> JoinHandle<Vec<bool>> {
    let mut outage = list.outage();
    tokio::spawn(async move {
        let mut seen = Vec::new();
        while outage.changed().await.is_ok() {
            seen.push(outage.borrow_and_update().is_some());
        }
        seen
    })
}

/// With the lock that `CREATE INDEX` takes.
#[tokio::test(flavor = "multi_thread")]
async fn locked_table_is_one_outage_and_not_ready() {
    let database = SharedDatabase::create();
    let list = database.open();
    join(&list, "ann@example.com").await;
    let changes = record_changes(&list);
    let locked = database.start_sleeping(
        "BEGIN; LOCK TABLE waitlist_entries IN SHARE MODE; SELECT pg_sleep(8); COMMIT",
    );
    let mut outage = list.outage();
    let bob = list.join(entry("bob@example.com", 1));
    let watch = async {
        within_timeout(outage.wait_for(Option::is_some)).await;
        while !locked.is_finished() {
            if outage.borrow().is_some() {
                let error = list.ready().await.expect_err("nobody can join");
                assert!(is_outage(&error), "{error:?}");
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let (bob, ()) = tokio::join!(bob, watch);
    assert_eq!(bob, Ok(JoinOutcome::New));
    within_timeout(outage.wait_for(Option::is_none)).await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(addresses(&list), ["bob@example.com", "ann@example.com"]);
    assert_eq!(list.count(), 2);
    drop(list);
    assert_eq!(changes.await.expect("no panic"), [true, false]);
}

/// Starts a server with a database, and returns the URL of the database's owner. The owner is not a superuser.
fn server_with_user() -> (PostgresServer, String) {
    let server = PostgresServer::start();
    server.sql("postgres", "CREATE ROLE site LOGIN PASSWORD 'secret'");
    server.sql("postgres", "CREATE DATABASE list OWNER site");
    let url = format!("postgres://site:secret@127.0.0.1:{}/list", server.port);
    (server, url)
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_privilege_is_one_outage_with_postgresql_error() {
    let (server, url) = server_with_user();
    let list = open_url(&url);
    join(&list, "ann@example.com").await;
    let changes = record_changes(&list);
    server.sql("list", "REVOKE INSERT ON waitlist_entries FROM site");
    let mut outage = list.outage();
    let error = list.join(entry("bob@example.com", 1)).await;
    let error = error.expect_err("nobody can join").to_string();
    assert!(error.contains("permission denied"), "{error}");
    let reason = outage.borrow().as_ref().expect("an outage").reason.clone();
    assert!(
        reason.contains("permission denied for table waitlist_entries"),
        "{reason}"
    );
    for _ in 0..40 {
        assert!(list.ready().await.is_err());
        sleep(Duration::from_millis(50)).await;
    }
    server.sql("list", "GRANT INSERT ON waitlist_entries TO site");
    within_timeout(outage.wait_for(Option::is_none)).await;
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    drop(list);
    assert_eq!(changes.await.expect("no panic"), [true, false]);
}

/// Writes to the table's file fail, as on a full disk, until `TRUNCATE` gives the table a new file.
#[tokio::test(flavor = "multi_thread")]
async fn full_disk_is_one_outage_with_postgresql_error() {
    let server = PostgresServer::start();
    let list = open_url(&server.create_database());
    let file = server.sql(
        FIRST_DATABASE,
        "SELECT pg_relation_filepath('waitlist_entries')",
    );
    let changes = record_changes(&list);
    server.down("fast");
    let file = server.folder().join("data").join(file);
    std::fs::remove_file(&file).expect("removable");
    std::os::unix::fs::symlink("/dev/full", &file).expect("writable");
    server.up();
    let full = "No space left on device";
    let mut outage = list.outage();
    let is_reported =
        |outage: &Option<Outage>| outage.as_ref().is_some_and(|it| it.reason.contains(full));
    // The restart may cause an earlier outage.
    let joining = list.join(entry("ann@example.com", 1));
    let reported = async {
        within_timeout(outage.wait_for(is_reported)).await;
    };
    let (joined, ()) = tokio::join!(joining, reported);
    let error = joined.expect_err("nobody can join").to_string();
    assert!(
        error.contains("could not extend file") && error.contains(full),
        "{error}"
    );
    let people = vec![entry("bob@example.com", 1)];
    let error = list.join_all(people).await;
    let error = error.expect_err("nobody can be imported").to_string();
    assert!(error.contains(full), "{error}");
    server.sql(FIRST_DATABASE, "TRUNCATE waitlist_entries CASCADE");
    within_timeout(outage.wait_for(Option::is_none)).await;
    assert_eq!(join(&list, "carl@example.com").await, JoinOutcome::New);
    drop(list);
    let changes = changes.await.expect("no panic");
    assert!(
        changes.ends_with(&[true, false]) && changes.len() <= 4,
        "{changes:?}"
    );
}

/// The owner's trigger takes 30 ms for each row. The probe that ends an outage must still finish in time.
#[tokio::test(flavor = "multi_thread")]
async fn outage_ends_despite_a_slow_trigger() {
    let database = SharedDatabase::create();
    let list = database.open();
    database.sql(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(0.03); RETURN NEW; END $$;
         CREATE TRIGGER slow BEFORE INSERT ON waitlist_entries FOR EACH ROW EXECUTE FUNCTION slow();
         ALTER TABLE waitlist_entries RENAME TO away",
    );
    let joined = list.join(entry("ann@example.com", 1)).await;
    assert!(joined.is_err(), "there is no table");
    database.sql("ALTER TABLE away RENAME TO waitlist_entries");
    let mut outage = list.outage();
    within_timeout(outage.wait_for(Option::is_none)).await;
    // The last attempt for ann may meet the table that is back.
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
}

/// A sign-up reads the existing entries, and lifts a suppression.
#[tokio::test(flavor = "multi_thread")]
async fn list_without_a_privilege_is_not_ready() {
    let (server, url) = server_with_user();
    let list = open_url(&url);
    join(&list, "ann@example.com").await;
    for privilege in [
        "SELECT ON waitlist_entries",
        "DELETE ON waitlist_suppressed",
    ] {
        server.sql("list", &format!("REVOKE {privilege} FROM site"));
        let joined = list.join(entry("bob@example.com", 1)).await;
        joined.expect_err("nobody can join");
        sleep(Duration::from_millis(1_100)).await;
        assert!(list.ready().await.is_err(), "{privilege}");
        server.sql("list", &format!("GRANT {privilege} TO site"));
        let mut outage = list.outage();
        within_timeout(outage.wait_for(Option::is_none)).await;
        assert_eq!(list.ready().await, Ok(()));
    }
}

/// Other clients change the same rows when the database is back. This is not a second outage.
#[tokio::test(flavor = "multi_thread")]
async fn conflict_after_an_outage_is_no_outage() {
    let database = SharedDatabase::create();
    let list = database.open();
    database.sql(
        "CREATE SEQUENCE conflicts;
         CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN
                 IF NEW.email LIKE 'ann%' AND nextval('conflicts') <= 3 THEN
                     RAISE EXCEPTION 'not always' USING ERRCODE = '40001';
                 END IF;
                 RETURN NEW;
             END $$;
         CREATE TRIGGER conflict BEFORE INSERT ON waitlist_entries FOR EACH ROW EXECUTE FUNCTION conflict()",
    );
    let changes = record_changes(&list);
    // Until after three statement timeouts. They begin an outage also if the two requests are not in one batch.
    let locked = "BEGIN; LOCK TABLE waitlist_entries IN SHARE MODE; SELECT pg_sleep(8.5); COMMIT";
    let locked = database.start_sleeping(locked);
    // In one batch: the check ends the outage, and then the sign-up conflicts.
    let (ready, joined) = (list.ready(), list.join(entry("ann@example.com", 1)));
    let (ready, joined) = tokio::join!(ready, joined);
    assert!(
        ready.is_err() && joined == Ok(JoinOutcome::New),
        "{joined:?}"
    );
    assert!(locked.is_finished());
    let mut outage = list.outage();
    within_timeout(outage.wait_for(Option::is_none)).await;
    drop(list);
    assert_eq!(changes.await.expect("no panic"), [true, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_available_connection_is_no_outage() {
    let (server, url) = server_with_user();
    let list = Arc::new(open_url(&url));
    join(&*list, "ann@example.com").await;
    let changes = record_changes(&list);
    server.sql("postgres", "ALTER ROLE site CONNECTION LIMIT 1");
    // End the connection that reads the count.
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE usename = 'site' AND query LIKE 'SELECT slot%'";
    wait_until("the count's connection is terminated", || {
        server.sql("postgres", end) != "0"
    });
    for number in 0..40 {
        assert_eq!(
            join(&*list, &format!("{number}@example.com")).await,
            JoinOutcome::New
        );
        sleep(Duration::from_millis(50)).await;
    }
    drop(list);
    assert!(changes.await.expect("no panic").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_up_recreates_a_missing_count_row() {
    let database = SharedDatabase::create();
    let list = database.open();
    database.sql("DELETE FROM waitlist_count");
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
    assert_eq!(list.count(), 1);
    assert_eq!(addresses(&list), ["ann@example.com"]);
    database.sql("DELETE FROM waitlist_count");
    let read = || {
        list.entries(Selection::default())
            .expect("readable")
            .selected_count()
    };
    assert_eq!(block_in_place(read), 0);
}
