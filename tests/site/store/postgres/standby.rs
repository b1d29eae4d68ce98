//! A missing synchronous standby, and an administrator who ends the commits that wait for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, UNIX_EPOCH},
};

use landing::waitlist::{
    Delivery, DeliveryState, DeliveryStatus, Ledger, Message, StoreError, Waitlist,
};
use tokio::join;

use super::{SharedDatabase, is_outage, open_url};
use crate::{
    postgres_server::PostgresServer,
    process::wait_until,
    store::{
        addresses, entry, join,
        ledger::{hash, id, start},
    },
};

/// Ends the waiting commits with this function of PostgreSQL.
async fn assert_not_acknowledged(function: &'static str) {
    let server = Arc::new(PostgresServer::start());
    let list = Arc::new(open_url(&server.create_database()));
    join(&*list, "ann@example.com").await;
    let message = |name| Message::new(id(name), UNIX_EPOCH, "Hi");
    assert_eq!(list.add_message(message("known")).await, Ok(()));
    // Some administrators hide warnings. The store must still receive the one about the standby.
    let hide_warnings = "ALTER SYSTEM SET client_min_messages = error";
    server.sql("postgres", hide_warnings);
    server.set_synchronous_standby("missing");
    // The server applies the setting some time later, and acknowledges joins until then.
    let first = tokio::spawn({
        let list = Arc::clone(&list);
        async move {
            for number in 0.. {
                let entry = entry(&format!("before{number}@example.com"), 1);
                if let Err(error) = list.join(entry).await {
                    return error;
                }
            }
            unreachable!()
        }
    });
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    wait_until("a commit waits for a standby", || {
        server.sql("postgres", &format!("SELECT count(*) {waiting}")) != "0"
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let administrator = thread::spawn({
        let (server, is_over) = (Arc::clone(&server), Arc::clone(&is_over));
        move || {
            while !is_over.load(Ordering::SeqCst) {
                server.sql("postgres", &format!("SELECT {function}(pid) {waiting}"));
                thread::sleep(Duration::from_millis(50));
            }
        }
    });
    let error = first.await.expect("no panic");
    assert!(is_outage(&error), "{error:?}");
    let listed = addresses(&*list);
    let visible = listed.first().expect("an entry");
    assert!(
        visible.starts_with("before"),
        "the commit is visible: {visible}"
    );
    for address in [visible, "eve@example.com"] {
        let error = list.join(entry(address, 1)).await;
        let error = error.expect_err("no standby has the entry");
        assert!(is_outage(&error), "{error:?}");
    }
    // The repetition of each finds what the first attempt has added.
    let deliveries = vec![Delivery::waiting(hash(1)), Delivery::waiting(hash(2))];
    let known = id("known");
    let (message, deliveries) = join!(
        list.add_message(message("new")),
        list.add_deliveries(&known, 0, deliveries),
    );
    for error in [message, deliveries.map(drop)] {
        let error = error.expect_err("no standby has it");
        assert!(is_outage(&error), "{error:?}");
    }
    is_over.store(true, Ordering::SeqCst);
    administrator.join().expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_standby_wait_is_not_acknowledged() {
    assert_not_acknowledged("pg_cancel_backend").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn terminated_standby_wait_is_not_acknowledged() {
    assert_not_acknowledged("pg_terminate_backend").await;
}

/// A standby that had not the last deliveries was promoted, and another `send` has added its own.
#[tokio::test(flavor = "multi_thread")]
async fn send_takes_over_no_delivery_of_somebody_else() {
    let database = SharedDatabase::create();
    let (list, launch) = (database.open(), id("launch"));
    let message = Message::new(launch.clone(), UNIX_EPOCH, "Hi");
    assert_eq!(list.add_message(message).await, Ok(()));
    for person in [0, 1] {
        let added = vec![Delivery::waiting(hash(person))];
        let added = list.add_deliveries(&launch, 0, added).await;
        assert_eq!(added, Ok(true));
        if person == 0 {
            database.sql("DELETE FROM waitlist_deliveries");
        }
    }
    let late = start(0, DeliveryState::Waiting, 0);
    let begun = list.begin_deliveries(&launch, vec![late]).await;
    assert_eq!(begun, Ok(vec![false]));
    let own = Delivery::waiting(hash(1)).start(0);
    let begun = list.begin_deliveries(&launch, vec![own]).await;
    assert_eq!(begun, Ok(vec![true]));
    // The message that was under way when the standby was promoted.
    let refused = DeliveryStatus::new(DeliveryState::Refused);
    let finished = list
        .finish_deliveries(&launch, vec![late.result(refused)])
        .await;
    assert_eq!(finished, Err(StoreError::Superseded));
}
