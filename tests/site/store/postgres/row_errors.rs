//! Rows that the database rejects, that take long, or that somebody holds.

use std::{sync::Arc, time::Duration};

use landing::waitlist::{Joined, StoreError, Waitlist};
use tokio::task::{JoinSet, block_in_place, spawn_blocking};

use super::{fault_proxy::Wire, open, within};
use crate::{
    postgres_server::SHARED,
    process::wait_until,
    store::{addresses, entry, join},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_row_does_not_stop_the_others() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    let list = Arc::new(open(&url.parse().expect("a URL")));
    SHARED.sql(
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
            Ok(joined) => assert_eq!((who, joined), ("ann", Joined::New)),
            Err(StoreError::Refused(why)) => {
                assert_eq!(who, "eve", "{why}");
                assert!(why.contains("no_eve") && !why.contains('@'), "{why}");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(list.count(), 297);
    assert_eq!(addresses(&*list).len(), 297);
    assert!(list.trouble().borrow().is_none(), "that is no outage");
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
async fn a_batch_that_takes_too_long_is_halved() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    SHARED.sql(
        name,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(0.007); RETURN NEW; END $$;
         CREATE TRIGGER slow BEFORE INSERT ON waitlist_entries FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    let people = (0..512).map(|number| entry(&format!("{number}@example.com"), number));
    let joined = list.join_all(people.collect()).await;
    assert_eq!(joined.expect("an answer"), vec![Joined::New; 512]);
    assert_eq!(list.count(), 512);
}

/// As over a slow line: everything takes longer than half of what a statement may.
#[tokio::test(flavor = "multi_thread")]
async fn each_statement_has_a_deadline_of_its_own() {
    let wire = Wire::to_new_database("").await;
    let list = open(&wire.url);
    join(&list, "ann@example.com").await;
    wire.delay(Duration::from_millis(1_700));
    assert_eq!(join(&list, "bob@example.com").await, Joined::New);
    assert_eq!(join(&list, "carl@example.com").await, Joined::New);
}

/// In a transaction that is left open, until which nobody can count there.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_whose_slot_is_held_takes_another() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name").to_owned();
    let list = open(&url.parse().expect("a URL"));
    join(&list, "ann@example.com").await;
    let asleep = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND wait_event = 'PgSleep'"
    );
    let held = spawn_blocking(move || {
        let hold = "BEGIN; SELECT 1 FROM waitlist_count WHERE entries = 1 FOR UPDATE;
                    SELECT pg_sleep(12); COMMIT";
        SHARED.sql(&name, hold);
    });
    block_in_place(|| {
        wait_until("the row is held", || SHARED.sql("postgres", &asleep) != "0");
    });
    assert_eq!(join(&list, "bob@example.com").await, Joined::New);
    assert_eq!(join(&list, "carl@example.com").await, Joined::New);
    assert!(!held.is_finished(), "it is held all the while");
    assert!(list.trouble().borrow().is_none(), "that is no outage");
    let mut changes = list.changes();
    within(changes.wait_for(|count| *count == 3)).await;
    held.await.expect("no panic");
}

/// A trigger of the owner's that fails, in whatever way, for one address; it runs as the function `check_row`.
async fn only_eve_is_refused(body: &str) -> String {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    let list = Arc::new(open(&url.parse().expect("a URL")));
    SHARED.sql(
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
                Ok(Joined::New),
                "{address}"
            );
        });
    }
    let eve = list.join(entry("eve@example.com", 1)).await;
    joins.join_all().await;
    assert_eq!(join(&*list, "late@example.com").await, Joined::New);
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(addresses(&*list).len(), 21, "{body}");
    assert_eq!(list.count(), 21, "{body}");
    eve.expect_err("she is refused").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_row_that_fails_does_not_stop_the_others_whatever_the_error_is() {
    for (body, told) in [
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
        let why = only_eve_is_refused(body).await;
        assert!(why.contains(told), "{body}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_row_that_takes_too_long_does_not_stop_the_others() {
    let why = only_eve_is_refused("PERFORM pg_sleep(4)").await;
    assert!(why.contains("statement timeout"), "{why}");
}

/// The words of the database may have an address in them when they are the owner's trigger's.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_an_error_is_not_told() {
    let body = "RAISE EXCEPTION 'no % here', NEW.email USING ERRCODE = 'check_violation'";
    let why = only_eve_is_refused(body).await;
    assert!(why.contains("23514") && !why.contains("eve"), "{why}");
    // The key is bytes, which are told in hexadecimal.
    let body = "RAISE EXCEPTION 'clash %', NEW.key USING ERRCODE = '23505'";
    let why = only_eve_is_refused(body).await;
    assert!(why.contains("23505") && !why.contains("657665"), "{why}");
}

/// A constraint that the probe does not meet, and a trigger that would write to whoever is new.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_ready_whatever_the_owner_does_with_new_rows() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    SHARED.sql(
        name,
        "CREATE TABLE outbox (email text);
         CREATE FUNCTION welcome() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO outbox VALUES (NEW.email); RETURN NEW; END $$;
         CREATE TRIGGER welcome AFTER INSERT ON waitlist_entries FOR EACH ROW EXECUTE FUNCTION welcome()",
    );
    assert_eq!(list.ready().await, Ok(()));
    join(&list, "ann@example.com").await;
    assert_eq!(
        SHARED.sql(name, "SELECT email FROM outbox"),
        "ann@example.com"
    );
    SHARED.sql(
        name,
        "ALTER TABLE waitlist_entries ADD CONSTRAINT ours CHECK (email LIKE '%@example.com')",
    );
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(join(&list, "bob@example.com").await, Joined::New);
    assert!(list.trouble().borrow().is_none());
}
