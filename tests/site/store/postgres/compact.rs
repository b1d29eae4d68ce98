//! Compaction of a database, and commands of two processes on one person.

use landing::waitlist::{CorrectOutcome, Erasure, Waitlist};
use tokio::task::{block_in_place, spawn_blocking};

use super::{SharedDatabase, open, open_url};
use crate::{
    postgres_server::{self, FIRST_DATABASE, PostgresServer},
    store::{addresses, email, erase, join},
};

#[tokio::test(flavor = "multi_thread")]
async fn compaction_by_another_user_than_the_owner_is_an_error() {
    let server = PostgresServer::start();
    server.sql("postgres", "CREATE ROLE site LOGIN PASSWORD 'secret'");
    let url = server.create_database();
    let owner = open_url(&url);
    join(&owner, "ann@example.com").await;
    server.sql(
        FIRST_DATABASE,
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO site",
    );
    let site = open_url(&format!(
        "postgres://site:secret@127.0.0.1:{}/{FIRST_DATABASE}",
        server.port
    ));
    let error = block_in_place(|| site.compact(&mut |_| {})).expect_err("not the owner");
    assert!(
        error.to_string().contains("does not own the table"),
        "{error}"
    );
    block_in_place(|| owner.compact(&mut |_| {})).expect("compacted");
    assert_eq!(addresses(&owner), ["ann@example.com"]);
}

/// PostgreSQL keeps erased rows that an older transaction may still read.
#[tokio::test(flavor = "multi_thread")]
async fn compaction_waits_for_older_transactions() {
    let database = SharedDatabase::create();
    let list = database.open();
    join(&list, "ann@example.com").await;
    join(&list, "bob@example.com").await;
    let older = database.start_sleeping(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(4); COMMIT",
    );
    erase(&list, "ann@example.com").await;
    let compacted = spawn_blocking(move || {
        let compacted = list.compact(&mut |_| {});
        (list, compacted)
    });
    let (list, compacted) = compacted.await.expect("no panic");
    compacted.expect("compacted");
    assert!(older.is_finished(), "the older transaction is over");
    assert_eq!(addresses(&list), ["bob@example.com"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_report_what_they_did_to_one_person() {
    let url = postgres_server::test_database();
    let instances = [open(&url), open(&url)];
    let mut gone = 0;
    for round in 0..40 {
        let [old, new, other] =
            ["old", "new", "other"].map(|name| email(&format!("{name}{round}@example.com")));
        join(&instances[0], old.as_typed()).await;
        let corrected = instances[0].correct(&old, &new);
        if round % 2 == 0 {
            let (corrected, also) = tokio::join!(corrected, instances[1].correct(&old, &other));
            let outcomes = [corrected, also].map(|outcome| outcome.expect("a response"));
            let is_done = |outcome: &&CorrectOutcome| **outcome == CorrectOutcome::Corrected;
            assert_eq!(outcomes.iter().filter(is_done).count(), 1, "{outcomes:?}");
        } else {
            let erasure = [old.clone()];
            let (corrected, erased) =
                tokio::join!(corrected, instances[1].erase(&erasure, Erasure::Complete));
            let corrected = corrected.expect("a response") == CorrectOutcome::Corrected;
            let erased = erased.expect("a response") == [true];
            assert_ne!(corrected, erased, "{round}");
            gone += usize::from(erased);
        }
        let listed = addresses(&instances[0]);
        assert_eq!(listed.len(), round + 1 - gone, "{listed:?}");
    }
}
