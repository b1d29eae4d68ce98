//! A synchronous standby that is gone, and an administrator who ends the commits that wait for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use landing::waitlist::Waitlist;
use tokio::task::block_in_place;

use super::{is_outage, open};
use crate::{
    postgres_server::PostgresServer,
    process::wait_until,
    store::{addresses, entry, join},
};

async fn assert_not_acknowledged(how: &'static str) {
    let server = Arc::new(PostgresServer::start());
    let list = Arc::new(open(&server.create_database().parse().expect("a URL")));
    join(&*list, "ann@example.com").await;
    for setting in [
        "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
        // As some administrators have it: the warning must arrive all the same.
        "ALTER SYSTEM SET client_min_messages = error",
        "SELECT pg_reload_conf()",
    ] {
        server.sql("postgres", setting);
    }
    // The server heeds the setting some time after it was told.
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
    block_in_place(|| {
        wait_until("a commit waits for a standby", || {
            server.sql("postgres", &format!("SELECT count(*) {waiting}")) != "0"
        });
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let ending = thread::spawn({
        let (server, is_over) = (Arc::clone(&server), Arc::clone(&is_over));
        move || {
            while !is_over.load(Ordering::SeqCst) {
                server.sql("postgres", &format!("SELECT {how}(pid) {waiting}"));
                thread::sleep(Duration::from_millis(50));
            }
        }
    });
    let error = first.await.expect("no panic");
    assert!(is_outage(&error), "{error:?}");
    let listed = addresses(&*list);
    let seen = listed.first().expect("somebody");
    assert!(seen.starts_with("before"), "its commit can be seen: {seen}");
    for address in [seen, "eve@example.com"] {
        let error = list.join(entry(address, 1)).await;
        let error = error.expect_err("no standby has it");
        assert!(is_outage(&error), "{error:?}");
    }
    is_over.store(true, Ordering::SeqCst);
    ending.join().expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_standby_wait_is_not_acknowledged() {
    assert_not_acknowledged("pg_cancel_backend").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn terminated_standby_wait_is_not_acknowledged() {
    assert_not_acknowledged("pg_terminate_backend").await;
}
