//! Reading a list that is in a database.

use landing::waitlist::{PostgresWaitlist, Selection, StoreError, Waitlist};
use tokio::runtime::Runtime;

use crate::{postgres_server, process::wait_until, store::entry};

/// Whoever exports must not take a part of the list for all of it. What ends first, the reader or its
/// connection, is chance; and sometimes all was read before either did.
#[test]
fn interrupted_reading_ends_with_an_error() {
    const PEOPLE: u64 = 5000;
    let url = postgres_server::test_database();
    let mut cut_short = 0;
    for round in 0..20 {
        let runtime = Runtime::new().expect("a runtime");
        let list =
            PostgresWaitlist::open_or_create(&url, runtime.handle()).expect("the list opens");
        if round == 0 {
            let people = (0..PEOPLE).map(|number| entry(&format!("{number}@example.com"), number));
            let joined = runtime.block_on(list.join_all(people.collect()));
            assert_eq!(joined.expect("an answer").len() as u64, PEOPLE);
        }
        let mut entries = list.entries(Selection::default()).expect("readable");
        assert!(entries.next().expect("somebody").is_ok());
        runtime.shutdown_background();
        let rest: Vec<_> = entries.collect();
        match rest.last() {
            Some(Err(StoreError::Stopped | StoreError::Unreachable)) => cut_short += 1,
            Some(Ok(_)) => assert_eq!(rest.len() as u64, PEOPLE - 1, "round {round}"),
            other => panic!("round {round}: {other:?}"),
        }
    }
    assert!(cut_short > 0, "every reading came to its end");
}

/// The database keeps everything that is erased or updated, for as long as somebody reads.
#[test]
fn paused_reader_times_out_and_releases_the_snapshot() {
    let url = postgres_server::SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let runtime = Runtime::new().expect("a runtime");
    let list = PostgresWaitlist::open_or_create(&url.parse().expect("a URL"), runtime.handle());
    let list = list.expect("the list opens");
    let people = (0..20_000).map(|number| entry(&format!("{number}@example.com"), number));
    runtime
        .block_on(list.join_all(people.collect()))
        .expect("an answer");
    let mut entries = list.entries(Selection::default()).expect("readable");
    assert!(entries.next().expect("somebody").is_ok());
    let snapshots = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND xact_start IS NOT NULL \
         AND query LIKE 'SELECT email%'"
    );
    assert_eq!(
        postgres_server::SHARED_SERVER.sql("postgres", &snapshots),
        "1"
    );
    wait_until("the snapshot is gone", || {
        postgres_server::SHARED_SERVER.sql("postgres", &snapshots) == "0"
    });
    let last = entries.last().expect("an end");
    assert_eq!(last, Err(StoreError::ReaderTimedOut));
}
