//! Rows that the database rejects, that are slow to insert, or that another session has locked.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use landing::waitlist::{
    Delivery, JoinOutcome, Ledger, ListKey, Message, MessageId, OwnerList, StoreError, Waitlist,
};
use tokio::task::JoinSet;

use super::{ProxiedDatabase, SharedDatabase, run_concurrently, within_timeout};
use crate::store::{addresses, entry, join};

#[tokio::test(flavor = "multi_thread")]
async fn rejected_row_does_not_affect_the_others() {
    let database = SharedDatabase::create();
    let list = Arc::new(database.open());
    database
        .sql("ALTER TABLE waitlist_entries ADD CONSTRAINT no_eve CHECK (email NOT LIKE 'eve%')");
    let mut joins = JoinSet::new();
    for number in 0..300 {
        let list = Arc::clone(&list);
        joins.spawn(async move {
            let name = if number % 100 == 50 { "eve" } else { "ann" };
            let joined = list
                .join(entry(&format!("{name}{number}@example.com"), 1))
                .await;
            (name, joined)
        });
    }
    for (name, joined) in joins.join_all().await {
        match joined {
            Ok(joined) => assert_eq!((name, joined), ("ann", JoinOutcome::New)),
            Err(StoreError::Database(error)) => {
                assert_eq!(name, "eve", "{error}");
                assert!(error.contains("no_eve") && !error.contains('@'), "{error}");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(list.count(), 297);
    assert_eq!(addresses(&*list).len(), 297);
    assert!(list.outage().borrow().is_none(), "there is no outage");
    // An import lists the others as well.
    let people = (0..100).map(|at| {
        entry(
            &format!("{}{at}@example.org", if at == 70 { "eve" } else { "bob" }),
            1,
        )
    });
    let imported = list.join_all(people.collect()).await;
    let error = imported.expect_err("one row is rejected").to_string();
    assert!(error.contains("no_eve"), "{error}");
    assert_eq!(addresses(&*list).len(), 297 + 99);
}

/// A trigger makes a batch of 128 rows exceed the statement timeout.
#[tokio::test(flavor = "multi_thread")]
async fn splits_a_batch_that_times_out() {
    let database = SharedDatabase::create();
    let list = database.open();
    database.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(0.028); RETURN NEW; END $$;
         CREATE TRIGGER slow BEFORE INSERT ON waitlist_entries FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    let people = (0..128).map(|number| entry(&format!("{number}@example.com"), number));
    let joined = list.join_all(people.collect()).await;
    assert_eq!(joined.expect("a response"), vec![JoinOutcome::New; 128]);
    assert_eq!(list.count(), 128);
}

/// As over a slow connection: each response takes longer than half the response timeout.
#[tokio::test(flavor = "multi_thread")]
async fn each_statement_has_its_own_timeout() {
    let proxy = ProxiedDatabase::create("").await;
    let list = proxy.open();
    join(&list, "ann@example.com").await;
    proxy.delay(Duration::from_millis(1_700));
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    assert_eq!(join(&list, "carl@example.com").await, JoinOutcome::New);
}

/// An open transaction holds the lock.
#[tokio::test(flavor = "multi_thread")]
async fn takes_another_count_row_when_its_own_is_locked() {
    let database = SharedDatabase::create();
    let list = database.open();
    join(&list, "ann@example.com").await;
    let locked = database.start_sleeping(
        "BEGIN; SELECT 1 FROM waitlist_count WHERE entries = 1 FOR UPDATE;
         SELECT pg_sleep(60); COMMIT",
    );
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    assert_eq!(join(&list, "carl@example.com").await, JoinOutcome::New);
    assert!(!locked.is_finished(), "the row is still locked");
    assert!(list.outage().borrow().is_none(), "there is no outage");
    let mut changes = list.watch_count();
    within_timeout(changes.wait_for(|count| *count == 3)).await;
    database.end_sleeping();
    locked.await.expect("no panic");
}

/// Adds a trigger that runs `body` for one address, and checks that `others` can join meanwhile. Returns the error of
/// that one.
async fn rejects_only_eve(body: &str, others: usize) -> String {
    let database = SharedDatabase::create();
    let list = Arc::new(database.open());
    database.sql(&format!(
        "CREATE FUNCTION check_row() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF NEW.email LIKE 'eve%' THEN {body}; END IF; RETURN NEW; END $$;
             CREATE TRIGGER check_row BEFORE INSERT ON waitlist_entries
             FOR EACH ROW EXECUTE FUNCTION check_row()"
    ));
    let mut joins = JoinSet::new();
    for number in 0..others {
        let list = Arc::clone(&list);
        joins.spawn(async move {
            let address = format!("{number}@example.com");
            assert_eq!(
                list.join(entry(&address, 1)).await,
                Ok(JoinOutcome::New),
                "{address}"
            );
        });
    }
    let eve = list.join(entry("eve@example.com", 1)).await;
    joins.join_all().await;
    assert_eq!(join(&*list, "late@example.com").await, JoinOutcome::New);
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(addresses(&*list).len(), others + 1, "{body}");
    assert_eq!(list.count(), others as u64 + 1, "{body}");
    eve.expect_err("eve is rejected").to_string()
}

/// The message of a trigger may contain an address. PostgreSQL prints the key, which is bytes, in hexadecimal.
#[tokio::test(flavor = "multi_thread")]
async fn failing_row_does_not_affect_the_others_for_any_error() {
    let raise =
        |message: &str, code: &str| format!("RAISE EXCEPTION {message} USING ERRCODE = '{code}'");
    let cases = [
        ("PERFORM 1 / 0".to_owned(), "division by zero"),
        ("RETURN NULL".to_owned(), "did not respond in time"),
        ("RAISE EXCEPTION 'no eve'".to_owned(), "error P0001"),
        (raise("'no eve'", "42501"), "no eve (42501)"),
        (raise("'no eve'", "55P03"), "no eve (55P03)"),
        (raise("'no eve'", "21000"), "error 21000"),
        (raise("'no eve'", "38000"), "error 38000"),
        (raise("'no % here', NEW.email", "23514"), "23514"),
        (raise("'clash %', NEW.key", "23505"), "23505"),
    ];
    run_concurrently(cases, async |(body, message)| {
        let error = rejects_only_eve(&body, 20).await;
        assert!(error.contains(message), "{body}: {error}");
        for address in ["eve@", "657665"] {
            assert!(!error.contains(address), "{body}: {error}");
        }
    })
    .await;
}

/// With so many, a batch is divided twice, while others wait behind it.
#[tokio::test(flavor = "multi_thread")]
async fn slow_row_does_not_affect_the_others() {
    let error = rejects_only_eve("PERFORM pg_sleep(4)", 500).await;
    assert!(error.contains("statement timeout"), "{error}");
}

/// The probe's row violates the constraint. The trigger would send mail to each new person.
#[tokio::test(flavor = "multi_thread")]
async fn custom_triggers_and_constraints_keep_the_list_ready() {
    let database = SharedDatabase::create();
    let list = database.open();
    database.sql("CREATE TABLE outbox (email text);
         CREATE FUNCTION welcome() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO outbox VALUES (NEW.email); RETURN NEW; END $$;
         CREATE TRIGGER welcome AFTER INSERT ON waitlist_entries FOR EACH ROW EXECUTE FUNCTION welcome()",
    );
    assert_eq!(list.ready().await, Ok(()));
    join(&list, "ann@example.com").await;
    assert_eq!(database.sql("SELECT email FROM outbox"), "ann@example.com");
    database
        .sql("ALTER TABLE waitlist_entries ADD CONSTRAINT ours CHECK (email LIKE '%@example.com')");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    assert!(list.outage().borrow().is_none());
}

/// A full disk of the database must not look as if another command had added the deliveries.
#[tokio::test(flavor = "multi_thread")]
async fn failed_addition_of_deliveries_is_an_error() {
    let database = SharedDatabase::create();
    let list = database.open();
    let id: MessageId = "launch".parse().expect("an id");
    let message = Message::new(id.clone(), SystemTime::now(), "Hi");
    assert_eq!(list.add_message(message).await, Ok(()));
    database.sql(
        "CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = '53100'; END $$;
             CREATE TRIGGER disk_full BEFORE INSERT ON waitlist_deliveries
                 EXECUTE FUNCTION disk_full()",
    );
    let key = ListKey::generate();
    let deliveries = vec![Delivery::waiting(key.hash("ann@example.com"))];
    let added = list.add_deliveries(&id, 0, deliveries.clone()).await;
    assert!(added.is_err(), "{added:?}");
    database.sql("DROP TRIGGER disk_full ON waitlist_deliveries");
    assert_eq!(
        list.add_deliveries(&id, 0, deliveries.clone()).await,
        Ok(true)
    );
    // Now somebody was faster.
    assert_eq!(list.add_deliveries(&id, 0, deliveries).await, Ok(false));
}
