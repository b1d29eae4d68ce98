//! Rows that the database rejects, that take long, or that somebody holds.

use std::{sync::Arc, time::Duration};

use landing::waitlist::{JoinOutcome, StoreError, Waitlist};
use tokio::task::{JoinSet, block_in_place, spawn_blocking};

use super::{fault_proxy::FaultProxy, open, within_timeout};
use crate::{
    postgres_server::SHARED_SERVER,
    process::wait_until,
    store::{addresses, entry, join},
};

#[tokio::test(flavor = "multi_thread")]
async fn rejected_row_does_not_affect_the_others() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let list = Arc::new(open(&url.parse().expect("a URL")));
    SHARED_SERVER.sql(
        name,
        "ALTER TABLE waitlist_entries ADD CONSTRAINT no_eve CHECK (email NOT LIKE 'eve%')",
    );
    let mut joins = JoinSet::new();
    for number in 0..300 {
        let list = Arc::clone(&list);
        joins.spawn(async move {
            let who = if number % 100 == 50 { "eve" } else { "ann" };
            let joined = list
                .join(entry(&format!("{who}{number}@example.com"), 1))
                .await;
            (who, joined)
        });
    }
    for (who, joined) in joins.join_all().await {
        match joined {
            Ok(joined) => assert_eq!((who, joined), ("ann", JoinOutcome::New)),
            Err(StoreError::Database(why)) => {
                assert_eq!(who, "eve", "{why}");
                assert!(why.contains("no_eve") && !why.contains('@'), "{why}");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(list.count(), 297);
    assert_eq!(addresses(&*list).len(), 297);
    assert!(list.outage().borrow().is_none(), "that is no outage");
    // As an import has them: the others are on the list.
    let people = (0..100).map(|at| {
        entry(
            &format!("{}{at}@example.org", if at == 70 { "eve" } else { "bob" }),
            1,
        )
    });
    let imported = list.join_all(people.collect()).await;
    let why = imported.expect_err("one of them is rejected").to_string();
    assert!(why.contains("no_eve"), "{why}");
    assert_eq!(addresses(&*list).len(), 297 + 99);
}

/// A trigger of the owner's, say, for which 512 at a time are too many.
#[tokio::test(flavor = "multi_thread")]
async fn splits_a_batch_that_times_out() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    SHARED_SERVER.sql(
        name,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(0.007); RETURN NEW; END $$;
         CREATE TRIGGER slow BEFORE INSERT ON waitlist_entries FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    let people = (0..512).map(|number| entry(&format!("{number}@example.com"), number));
    let joined = list.join_all(people.collect()).await;
    assert_eq!(joined.expect("an answer"), vec![JoinOutcome::New; 512]);
    assert_eq!(list.count(), 512);
}

/// As over a slow line: everything takes longer than half of what a statement may.
#[tokio::test(flavor = "multi_thread")]
async fn each_statement_has_its_own_timeout() {
    let proxy = FaultProxy::to_new_database("").await;
    let list = open(&proxy.url);
    join(&list, "ann@example.com").await;
    proxy.delay(Duration::from_millis(1_700));
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    assert_eq!(join(&list, "carl@example.com").await, JoinOutcome::New);
}

/// In a transaction that is left open, until which nobody can count there.
#[tokio::test(flavor = "multi_thread")]
async fn takes_another_count_row_when_its_own_is_locked() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name").to_owned();
    let list = open(&url.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    let asleep = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND wait_event = 'PgSleep'"
    );
    let held = spawn_blocking(move || {
        let hold = "BEGIN; SELECT 1 FROM waitlist_count WHERE entries = 1 FOR UPDATE;
                    SELECT pg_sleep(12); COMMIT";
        SHARED_SERVER.sql(&name, hold);
    });
    block_in_place(|| {
        wait_until("the row is held", || {
            SHARED_SERVER.sql("postgres", &asleep) != "0"
        });
    });
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    assert_eq!(join(&list, "carl@example.com").await, JoinOutcome::New);
    assert!(!held.is_finished(), "it is held all the while");
    assert!(list.outage().borrow().is_none(), "that is no outage");
    let mut changes = list.watch_count();
    within_timeout(changes.wait_for(|count| *count == 3)).await;
    held.await.expect("no panic");
}

/// A trigger of the owner's that fails, in whatever way, for one address; it runs as the function `check_row`.
async fn rejects_only_eve(body: &str) -> String {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let list = Arc::new(open(&url.parse().expect("a URL")));
    SHARED_SERVER.sql(
        name,
        &format!(
            "CREATE FUNCTION check_row() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF NEW.email LIKE 'eve%' THEN {body}; END IF; RETURN NEW; END $$;
             CREATE TRIGGER check_row BEFORE INSERT ON waitlist_entries
             FOR EACH ROW EXECUTE FUNCTION check_row()"
        ),
    );
    let mut joins = JoinSet::new();
    for number in 0..20 {
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
    assert_eq!(addresses(&*list).len(), 21, "{body}");
    assert_eq!(list.count(), 21, "{body}");
    eve.expect_err("she is refused").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_row_does_not_affect_the_others_for_any_error() {
    for (body, message) in [
        ("PERFORM 1 / 0", "division by zero"),
        (
            "RAISE EXCEPTION 'no eve' USING ERRCODE = '42501'",
            "no eve (42501)",
        ),
        ("RAISE EXCEPTION 'no eve'", "error P0001"),
        (
            "RAISE EXCEPTION 'no eve' USING ERRCODE = '21000'",
            "error 21000",
        ),
        (
            "RAISE EXCEPTION 'no eve' USING ERRCODE = '38000'",
            "error 38000",
        ),
        (
            "RAISE EXCEPTION 'no eve' USING ERRCODE = '55P03'",
            "no eve (55P03)",
        ),
        ("RETURN NULL", "too long"),
    ] {
        let why = rejects_only_eve(body).await;
        assert!(why.contains(message), "{body}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_row_does_not_affect_the_others() {
    let why = rejects_only_eve("PERFORM pg_sleep(4)").await;
    assert!(why.contains("statement timeout"), "{why}");
}

/// The words of the database may have an address in them when they are the owner's trigger's.
#[tokio::test(flavor = "multi_thread")]
async fn errors_omit_addresses() {
    let body = "RAISE EXCEPTION 'no % here', NEW.email USING ERRCODE = 'check_violation'";
    let why = rejects_only_eve(body).await;
    assert!(why.contains("23514") && !why.contains("eve"), "{why}");
    // The key is bytes, which are told in hexadecimal.
    let body = "RAISE EXCEPTION 'clash %', NEW.key USING ERRCODE = '23505'";
    let why = rejects_only_eve(body).await;
    assert!(why.contains("23505") && !why.contains("657665"), "{why}");
}

/// A constraint that the probe does not meet, and a trigger that would write to whoever is new.
#[tokio::test(flavor = "multi_thread")]
async fn custom_triggers_and_constraints_keep_the_list_ready() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    SHARED_SERVER.sql(
        name,
        "CREATE TABLE outbox (email text);
         CREATE FUNCTION welcome() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO outbox VALUES (NEW.email); RETURN NEW; END $$;
         CREATE TRIGGER welcome AFTER INSERT ON waitlist_entries FOR EACH ROW EXECUTE FUNCTION welcome()",
    );
    assert_eq!(list.ready().await, Ok(()));
    join(&list, "ann@example.com").await;
    assert_eq!(
        SHARED_SERVER.sql(name, "SELECT email FROM outbox"),
        "ann@example.com"
    );
    SHARED_SERVER.sql(
        name,
        "ALTER TABLE waitlist_entries ADD CONSTRAINT ours CHECK (email LIKE '%@example.com')",
    );
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    assert!(list.outage().borrow().is_none());
}
