//! Connections lost during a statement. The store then asks the database whether the statement was executed.

use landing::waitlist::{
    Erasure, JoinOutcome, OwnerList, PostgresWaitlist, StoreError, Waitlist, WaitlistEntry,
};
use tokio::time::timeout;

use super::{ProxiedDatabase, is_outage, open_url, wait_for_count, within_timeout};
use crate::{
    fault_proxy::Fault,
    postgres_server::PostgresServer,
    process::TEST_TIMEOUT,
    store::{addresses, email, entry, join},
};

/// Part of the addresses whose statements fail.
const INTERRUPTED: &str = "interrupted";

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_erasure_reports_who_was_listed() {
    for fault in [Fault::BeforeStatement, Fault::AfterStatement] {
        let proxy = ProxiedDatabase::create(INTERRUPTED).await;
        let list = proxy.open();
        join(&list, "ann@example.com").await;
        // The first statement reads the entries, the second erases them.
        for others in [0, 1] {
            join(&list, "interrupted@example.com").await;
            let named = [email("interrupted@example.com"), email("bob@example.com")];
            proxy.fail_after(fault, others);
            let erased = list.erase(&named, Erasure::Complete).await;
            assert_eq!(erased, Ok(vec![true, false]), "{fault:?}");
            assert_eq!(addresses(&list), ["ann@example.com"]);
            // An attempt without a response counts in a slot that the instance reads later.
            wait_for_count(&list, 1).await;
        }
        assert_eq!(proxy.faults(), 2, "{fault:?}");
    }
}

/// The first calls of an outage wait for the response timeout. Later ones fail at once.
#[tokio::test(flavor = "multi_thread")]
async fn fails_fast_during_an_outage_and_recovers() {
    let server = PostgresServer::start();
    let list = open_url(&server.create_database());
    let mut outage = list.outage();
    join(&list, "ann@example.com").await;
    server.down("fast");
    within_timeout(outage.wait_for(Option::is_some)).await;
    assert!(is_outage(
        &list.ready().await.expect_err("the database is down")
    ));
    let join_bob = || list.join(entry("bob@example.com", 1));
    assert!(is_outage(
        &join_bob().await.expect_err("the database is down")
    ));
    assert_eq!(list.count(), 1, "the last known count");
    let joins = async {
        for _ in 0..10_000 {
            assert!(is_outage(
                &join_bob().await.expect_err("the database is down")
            ));
        }
    };
    let done = timeout(TEST_TIMEOUT, joins).await;
    assert!(done.is_ok(), "later joins fail at once");
    server.up();
    within_timeout(outage.wait_for(Option::is_none)).await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    assert_eq!(list.count(), 2);
}

/// The missing standby makes every commit wait. Reads still work, as with a full disk.
#[tokio::test(flavor = "multi_thread")]
async fn read_only_database_is_an_outage_until_it_writes_again() {
    let server = PostgresServer::start();
    let list = open_url(&server.create_database());
    join(&list, "ann@example.com").await;
    let mut outage = list.outage();
    server.set_synchronous_standby("missing");
    let (acknowledged, error) = join_until_error(&list).await;
    // Or the statement waits for a row that the first attempt has locked, until its timeout.
    assert!(is_outage(&error), "{error:?}");
    assert!(
        outage.borrow().is_some(),
        "a successful read of the count does not end the outage"
    );
    let not_ready = list.ready().await.expect_err("no commit returns");
    assert!(is_outage(&not_ready), "{not_ready:?}");
    let join_again = || list.join(numbered_person(acknowledged));
    let again = join_again().await.expect_err("no commit returns");
    assert!(is_outage(&again), "{again:?}");
    server.set_synchronous_standby("");
    within_timeout(outage.wait_for(Option::is_none)).await;
    assert_eq!(list.ready().await, Ok(()));
    // The failed join may have been committed.
    join_again().await.expect("a response");
    assert_eq!(addresses(&list).len(), acknowledged + 2);
}

fn numbered_person(number: usize) -> WaitlistEntry {
    entry(&format!("{number}@example.com"), 1)
}

/// Adds people until the server applies `synchronous_standby_names`, which it does some time after it is told. Returns how
/// many were acknowledged, and the error of the next one.
async fn join_until_error(list: &PostgresWaitlist) -> (usize, StoreError) {
    let mut acknowledged = 0;
    loop {
        match list.join(numbered_person(acknowledged)).await {
            Ok(_) => acknowledged += 1,
            Err(error) => return (acknowledged, error),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn join_waits_for_a_database_restart() {
    let server = PostgresServer::start();
    let list = open_url(&server.create_database());
    for mode in ["fast", "immediate"] {
        server.down(mode);
        let address = format!("{mode}@example.com");
        let (joined, ()) = tokio::join!(join(&list, &address), async {
            server.up();
        });
        assert_eq!(joined, JoinOutcome::New);
    }
    assert_eq!(list.count(), 2);
}
