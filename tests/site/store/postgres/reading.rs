//! Reads that are interrupted or pause.

use landing::waitlist::{OwnerList, PostgresWaitlist, Selection, StoreError};
use tokio::runtime::Runtime;

use super::SharedDatabase;
use crate::{
    postgres_server,
    process::wait_until,
    store::{entry, many_items::ManyItems},
};

/// An export must not take a part of the list for the whole. Whether the read is interrupted or complete, and which
/// error it ends with, is random.
#[test]
fn interrupted_reading_ends_with_an_error() {
    const PEOPLE: u64 = 5000;
    let url = postgres_server::test_database();
    let mut interrupted = 0;
    for round in 0..20 {
        let runtime = Runtime::new().expect("a runtime");
        let list = PostgresWaitlist::open(&url, runtime.handle(), true).expect("the list opens");
        if round == 0 {
            let people = (0..PEOPLE).map(|number| entry(&format!("{number}@example.com"), number));
            let joined = runtime.block_on(list.join_many(people.collect()));
            assert_eq!(joined.expect("a response").len() as u64, PEOPLE);
        }
        let mut entries = list.entries(Selection::default()).expect("readable");
        assert!(entries.next().expect("an entry").is_ok());
        runtime.shutdown_background();
        let rest: Vec<_> = entries.collect();
        match rest.last() {
            Some(Err(StoreError::Stopped | StoreError::Unreachable)) => interrupted += 1,
            Some(Ok(_)) => assert_eq!(rest.len() as u64, PEOPLE - 1, "round {round}"),
            other => panic!("round {round}: {other:?}"),
        }
    }
    assert!(interrupted > 0, "every read was complete");
}

/// While a snapshot is open, the database cannot remove erased rows.
#[test]
fn paused_reader_times_out_and_releases_the_snapshot() {
    let database = SharedDatabase::create();
    let runtime = Runtime::new().expect("a runtime");
    let url = database.url.parse().expect("a valid URL");
    let list = PostgresWaitlist::open(&url, runtime.handle(), true).expect("the list opens");
    let people = (0..20_000).map(|number| entry(&format!("{number}@example.com"), number));
    runtime
        .block_on(list.join_many(people.collect()))
        .expect("a response");
    let mut entries = list.entries(Selection::default()).expect("readable");
    assert!(entries.next().expect("an entry").is_ok());
    let snapshots = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                     AND xact_start IS NOT NULL AND query LIKE 'SELECT email%'";
    assert_eq!(database.sql(snapshots), "1");
    wait_until("the snapshot is released", || {
        database.sql(snapshots) == "0"
    });
    let last = entries.last().expect("an end");
    assert_eq!(last, Err(StoreError::CallerTimedOut));
}
