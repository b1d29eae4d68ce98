//! A database that can be read and not written to, or written to and not read.

use std::{sync::Arc, time::Duration};

use landing::waitlist::{Joined, PostgresWaitlist, Selection, StoreError, Waitlist};
use tokio::{
    task::{JoinHandle, block_in_place, spawn_blocking},
    time::sleep,
};

use super::open;
use crate::{
    postgres::{SHARED, Server},
    running::wait_until,
    store::{addresses, entry, join},
};

/// Collects whether there is trouble, each time that this changes.
fn changes_of(list: &PostgresWaitlist) -> JoinHandle<Vec<bool>> {
    let mut trouble = list.trouble();
    tokio::spawn(async move {
        let mut seen = Vec::new();
        while trouble.changed().await.is_ok() {
            seen.push(trouble.borrow_and_update().is_some());
        }
        seen
    })
}

/// As `CREATE INDEX` locks it.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_whose_entries_are_locked_is_one_outage_and_not_ready() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name").to_owned();
    let list = open(&url.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    let changes = changes_of(&list);
    let asleep = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND wait_event = 'PgSleep'"
    );
    let locked = spawn_blocking(move || {
        let lock = "BEGIN; LOCK TABLE waitlist_entries IN SHARE MODE; SELECT pg_sleep(8); COMMIT";
        SHARED.sql(&name, lock);
    });
    block_in_place(|| {
        wait_until("they are locked", || SHARED.sql("postgres", &asleep) != "0");
    });
    let mut trouble = list.trouble();
    let bob = list.join(entry("bob@example.com", 1));
    let watched = async {
        trouble
            .wait_for(Option::is_some)
            .await
            .expect("it is there");
        while !locked.is_finished() {
            if trouble.borrow().is_some() {
                assert_eq!(list.ready().await, Err(StoreError::Unreachable));
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let (bob, ()) = tokio::join!(bob, watched);
    assert_eq!(bob, Ok(Joined::New));
    trouble
        .wait_for(Option::is_none)
        .await
        .expect("it is there");
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(addresses(&list), ["bob@example.com", "ann@example.com"]);
    assert_eq!(list.count(), 2);
    drop(list);
    assert_eq!(changes.await.expect("no panic"), [true, false]);
}

/// A server with a list, and a user who owns it but is no superuser.
fn with_a_user() -> (Server, String) {
    let server = Server::start();
    server.sql("postgres", "CREATE ROLE site LOGIN PASSWORD 'secret'");
    server.sql("postgres", "CREATE DATABASE list OWNER site");
    let url = format!("postgres://site:secret@127.0.0.1:{}/list", server.port);
    (server, url)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_revoked_is_one_outage_and_told_in_postgresqls_words() {
    let (server, url) = with_a_user();
    let list = open(&url.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    let changes = changes_of(&list);
    server.sql("list", "REVOKE INSERT ON waitlist_entries FROM site");
    let mut trouble = list.trouble();
    let asked = list.join(entry("bob@example.com", 1)).await;
    assert_eq!(asked, Err(StoreError::Unreachable));
    let why = trouble.borrow().as_ref().expect("it is told").why.clone();
    assert!(
        why.contains("permission denied for table waitlist_entries"),
        "{why}"
    );
    for _ in 0..40 {
        assert_eq!(list.ready().await, Err(StoreError::Unreachable));
        sleep(Duration::from_millis(50)).await;
    }
    server.sql("list", "GRANT INSERT ON waitlist_entries TO site");
    trouble
        .wait_for(Option::is_none)
        .await
        .expect("it is there");
    assert_eq!(join(&list, "bob@example.com").await, Joined::New);
    drop(list);
    assert_eq!(changes.await.expect("no panic"), [true, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_join_without_an_outage_when_there_is_one_connection_only() {
    let (server, url) = with_a_user();
    let list = Arc::new(open(&url.parse().expect("a URL")));
    join(&*list, "ann@example.com").await;
    let changes = changes_of(&list);
    server.sql("postgres", "ALTER ROLE site CONNECTION LIMIT 1");
    // Those that read the count.
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE usename = 'site' AND query LIKE '%FILTER%'";
    wait_until("the reading one is ended", || {
        server.sql("postgres", end) != "0"
    });
    for number in 0..40 {
        assert_eq!(
            join(&*list, &format!("{number}@example.com")).await,
            Joined::New
        );
        sleep(Duration::from_millis(50)).await;
    }
    drop(list);
    assert!(changes.await.expect("no panic").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_the_count_that_is_missing_is_made_by_the_next_sign_up() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name").to_owned();
    let list = open(&url.parse().expect("a URL"));
    SHARED.sql(&name, "DELETE FROM waitlist_count");
    assert_eq!(join(&list, "ann@example.com").await, Joined::New);
    assert_eq!(list.count(), 1);
    assert_eq!(addresses(&list), ["ann@example.com"]);
    SHARED.sql(&name, "DELETE FROM waitlist_count");
    let read = || {
        list.entries(Selection::default())
            .expect("readable")
            .listed()
    };
    assert_eq!(block_in_place(read), 0);
}
