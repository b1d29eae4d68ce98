//! The list and its count, with many people at the same time, and reading it. Every store passes these tests, and those of
//! `random_histories`.

use std::sync::Arc;

use landing::waitlist::{JoinOutcome, Selection};
use tokio::task::JoinSet;

use super::{StoreFixture, entries, eventually, join, read_on_thread};

conformance_tests! {
    concurrent_joins_of_an_address_are_new_once,
    entries_are_a_snapshot,
}

async fn concurrent_joins_of_an_address_are_new_once(fixture: impl StoreFixture) {
    let list = fixture.open();
    let mut joins = JoinSet::new();
    for number in 0..1200 {
        let list = Arc::clone(&list);
        joins.spawn(async move { join(&*list, &format!("{}@example.com", number % 300)).await });
    }
    let outcomes = joins.join_all().await;
    let new = outcomes
        .iter()
        .filter(|outcome| **outcome == JoinOutcome::New);
    assert_eq!((new.count(), list.count()), (300, 300));
    assert_eq!(entries(&*list).len(), 300);
}

/// The list is longer than any batch of a store.
async fn entries_are_a_snapshot(fixture: impl StoreFixture) {
    let list = fixture.open();
    let mut joins = JoinSet::new();
    for number in 0..2_000 {
        let list = Arc::clone(&list);
        joins.spawn(async move { join(&*list, &format!("{number}@example.com")).await });
    }
    while list.count() < 2_000 {
        let snapshot = read_on_thread(|| list.entries(Selection::default()).expect("readable"));
        let count = snapshot.selected_count();
        // More people are on the list before it is read.
        let has_more = || list.count() > count || count == 2_000;
        assert!(eventually(async || has_more()).await, "{count}");
        let read: Vec<_> =
            read_on_thread(|| snapshot.map(|entry| entry.expect("readable")).collect());
        assert_eq!(count, read.len() as u64);
    }
    joins.join_all().await;
    assert_eq!(entries(&*list).len(), 2_000);
}
