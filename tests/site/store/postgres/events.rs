//! The events of a list in a database: who records them, and who gets them.

use landing::waitlist::{BackupItem, Event, ListKey, OwnerList, PostgresWaitlist, Waitlist};
use tokio::task::block_in_place;
use uuid::Uuid;

use super::{SharedDatabase, open_url, run_concurrently};
use crate::store::{
    entry, erase,
    events::{events, happened},
    join,
};

/// Opens the list, which records events.
async fn open_recording(database: &SharedDatabase) -> PostgresWaitlist {
    let list = database.open();
    list.record_events(true).await.expect("recorded");
    list
}

/// The people of a backup have joined before.
#[tokio::test(flavor = "multi_thread")]
async fn restore_records_nothing() {
    let database = SharedDatabase::create();
    let list = open_recording(&database).await;
    let key = ListKey::from_slice(&[7; 32]).expect("32 bytes");
    let person = BackupItem::Person(entry("ann@example.com", 1));
    let restored = block_in_place(|| list.restore(key, [Ok(person)].into_iter()));
    restored.expect("the list is empty");
    assert_eq!(list.pending_events().await, Ok(None));
    list.record_events(true).await.expect("recorded");
    assert_eq!(happened(&list).await, [""; 0]);
}

/// Until its lease ends.
#[tokio::test(flavor = "multi_thread")]
async fn one_instance_has_the_events() {
    let database = SharedDatabase::create();
    let (first, second) = (
        open_recording(&database).await,
        open_recording(&database).await,
    );
    let nothing: Option<Vec<(u64, Event)>> = Some(vec![]);
    assert_eq!(second.events_after(0).await, Ok(nothing.clone()));
    join(&second, "ann@example.com").await;
    assert_eq!(events(&first).await.len(), 1);
    assert_eq!(second.events_after(0).await, Ok(nothing.clone()));
    database.sql("UPDATE waitlist_webhook SET leased_until = now() - interval '1 second'");
    assert_eq!(events(&second).await.len(), 1);
    assert_eq!(first.events_after(0).await, Ok(nothing));
}

/// The statement of an instance waits for that of another one, which gets the lease and has begun later.
#[tokio::test(flavor = "multi_thread")]
async fn lease_that_another_instance_gets_first_counts() {
    let database = SharedDatabase::create();
    let list = open_recording(&database).await;
    join(&list, "ann@example.com").await;
    let other = database.start_sleeping(
        "BEGIN; UPDATE waitlist_webhook SET id = id; SELECT pg_sleep(1);
         UPDATE waitlist_webhook
         SET holder = gen_random_uuid(), leased_until = clock_timestamp() + interval '30 seconds';
         COMMIT",
    );
    assert_eq!(events(&list).await, []);
    other.await.expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_start_together_record_each_change_once() {
    let database = SharedDatabase::create();
    drop(database.open());
    let url = database.url.clone();
    let lists = run_concurrently(0..4, move |_| {
        let url = url.clone();
        async move {
            let list = open_url(&url);
            list.record_events(true).await.expect("recorded");
            list
        }
    });
    let lists = lists.await;
    for (number, list) in lists.iter().enumerate() {
        join(list, &format!("{number}@example.com")).await;
    }
    assert_eq!(events(&lists[0]).await.len(), 4);
}

/// The first server with a webhook runs as the owner of the tables. Then anybody who may change people records events. The
/// default privileges are those of the documentation.
#[tokio::test(flavor = "multi_thread")]
async fn every_client_of_the_database_records_events() {
    let database = SharedDatabase::create();
    let url = database.create_user();
    let user = &database.name;
    drop(database.open());
    database.sql(&format!(
        "GRANT SELECT ON waitlist_migrations TO {user};
         GRANT SELECT, INSERT, UPDATE, DELETE ON waitlist_entries TO {user};
         GRANT SELECT, UPDATE ON waitlist_count TO {user};
         GRANT SELECT ON waitlist_key TO {user};
         GRANT SELECT, INSERT, DELETE ON waitlist_suppressed TO {user};
         GRANT SELECT, INSERT ON waitlist_departures TO {user};
         ALTER DEFAULT PRIVILEGES IN SCHEMA public
         GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {user}"
    ));
    let restricted = open_url(&url);
    restricted
        .record_events(false)
        .await
        .expect("nothing to do");
    let error = restricted.record_events(true).await.expect_err("no rights");
    assert!(error.to_string().contains("permission denied"), "{error}");
    let list = open_recording(&database).await;
    let pending = restricted.pending_events().await;
    assert_eq!(pending.expect("granted").map(|it| it.count), Some(0));
    join(&restricted, "ann@example.com").await;
    erase(&restricted, "ann@example.com").await;
    join(&list, "bob@example.com").await;
    database.sql("DELETE FROM waitlist_entries WHERE email = 'bob@example.com'");
    let expected = ["ann", "bob"]
        .map(|name| ["joined", "left"].map(|kind| format!("{kind} {name}@example.com")));
    assert_eq!(happened(&list).await, expected.as_flattened());
}

/// The trigger has the rights of the owner, so it must not look into tables of the user who makes the change.
#[tokio::test(flavor = "multi_thread")]
async fn temporary_tables_do_not_replace_those_of_the_list() {
    let database = SharedDatabase::create();
    let list = open_recording(&database).await;
    join(&list, "ann@example.com").await;
    let taken = database.sql(
        "CREATE TEMP TABLE waitlist_webhook (id bigint);
         CREATE TEMP TABLE waitlist_events (kind text, key text, email text, source text);
         INSERT INTO waitlist_webhook VALUES (0);
         DELETE FROM public.waitlist_entries;
         SELECT count(*) FROM waitlist_events",
    );
    assert_eq!(taken, "0");
    let expected = ["joined ann@example.com", "left ann@example.com"];
    assert_eq!(happened(&list).await, expected);
}

/// A slow commit makes an event appear after others with higher numbers were read.
#[tokio::test(flavor = "multi_thread")]
async fn event_waits_for_earlier_ones_of_its_person() {
    let database = SharedDatabase::create();
    let list = open_recording(&database).await;
    join(&list, "ann@example.com").await;
    join(&list, "bob@example.com").await;
    erase(&list, "ANN@example.com").await;
    erase(&list, "bob@example.com").await;
    let all = events(&list).await;
    let after = async |number| {
        list.events_after(number)
            .await
            .expect("readable")
            .expect("on")
    };
    // As if the first one were committed only now.
    assert_eq!(after(all[1].0).await, []);
    let finish = |id| list.finish_events(vec![(all[0].0, id)]);
    // An event of the same number that a failover has lost.
    finish(Uuid::nil()).await.expect("finished");
    assert_eq!(after(all[1].0).await, []);
    finish(all[0].1.id).await.expect("finished");
    assert_eq!(after(all[1].0).await, all[2..3]);
}
