//! Reading a list that is in a database.

use landing::waitlist::{PostgresWaitlist, Selection, StoreError, Waitlist};
use tokio::runtime::Runtime;

use crate::{postgres, store::entry};

/// Whoever exports must not take a part of the list for all of it. What ends first, the reader or its
/// connection, is chance.
#[test]
fn a_reading_that_is_cut_short_says_so() {
    let url = postgres::database();
    for round in 0..20 {
        let runtime = Runtime::new().expect("a runtime");
        let list = PostgresWaitlist::open_or_make(&url, runtime.handle()).expect("the list opens");
        if round == 0 {
            let people = (0..5000).map(|number| entry(&format!("{number}@example.com"), number));
            let joined = runtime.block_on(list.join_all(people.collect()));
            assert_eq!(joined.expect("an answer").len(), 5000);
        }
        let mut entries = list.entries(Selection::default()).expect("readable");
        assert!(entries.next().expect("somebody").is_ok());
        runtime.shutdown_background();
        let last = entries.last().expect("more than was read");
        let told = [StoreError::Stopped, StoreError::Unreachable];
        assert!(last.is_err_and(|why| told.contains(&why)), "round {round}");
    }
}
