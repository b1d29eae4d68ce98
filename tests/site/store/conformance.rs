//! The list and its count, with many people at the same time, and reading it. Every store passes these tests, and those of
//! `random_histories`.

use std::sync::Arc;

use landing::waitlist::{JoinOutcome, Selection, Waitlist, WaitlistEntry};
use tokio::task::JoinSet;

use super::{StoreFixture, addresses, entries, entry, erase, join, read_on_thread};

conformance_tests! {
    concurrent_joins_of_an_address_are_new_once,
    long_list_stays_complete,
    entries_are_ordered_by_sign_up_time,
    snapshot_count_matches_its_entries,
    entries_are_a_snapshot,
}

async fn concurrent_joins_of_an_address_are_new_once(fixture: impl StoreFixture) {
    let list: Arc<dyn Waitlist> = fixture.open().into();
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

/// The list is longer than any record or batch of a store, with addresses of many lengths.
async fn long_list_stays_complete(fixture: impl StoreFixture) {
    let list: Arc<dyn Waitlist> = fixture.open().into();
    let address = |number: u64| {
        let filling = "x".repeat(number as usize % 50);
        format!(
            "{number}{filling}@{}.example.com",
            "y".repeat(1 + number as usize % 60)
        )
    };
    let mut joins = JoinSet::new();
    for number in 0..2_000 {
        let list = Arc::clone(&list);
        joins.spawn(async move { list.join(entry(&address(number), number)).await });
    }
    for joined in joins.join_all().await {
        assert_eq!(joined, Ok(JoinOutcome::New));
    }
    for number in (0..2_000).step_by(7) {
        assert!(erase(&*list, &address(number)).await);
    }
    let expected: Vec<_> = (0..2_000)
        .filter(|number| number % 7 != 0)
        .map(address)
        .collect();
    assert_eq!((list.count(), addresses(&*list)), (1714, expected.clone()));
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), addresses(&*list)), (1714, expected));
}

async fn entries_are_ordered_by_sign_up_time(fixture: impl StoreFixture) {
    let list = fixture.open();
    let times = [30, 10, 20, 10, 40, 0];
    for (number, millis) in times.iter().enumerate() {
        let entry = entry(&format!("{number}@example.com"), *millis);
        list.join(entry).await.expect("a response");
    }
    let numbers: Vec<_> = addresses(&*list)
        .iter()
        .map(|it| it[..1].to_owned())
        .collect();
    assert_eq!(
        numbers.concat(),
        "513204",
        "entries with the same time keep the order of their sign-ups"
    );
}

async fn snapshot_count_matches_its_entries(fixture: impl StoreFixture) {
    let list: Arc<dyn Waitlist> = fixture.open().into();
    let mut joins = JoinSet::new();
    for number in 0..2_000 {
        let list = Arc::clone(&list);
        joins.spawn(async move { join(&*list, &format!("{number}@example.com")).await });
    }
    while list.count() < 2_000 {
        read_on_thread(|| {
            let snapshot = list.entries(Selection::default()).expect("readable");
            let count = snapshot.selected_count();
            let read: Vec<_> = snapshot.map(|entry| entry.expect("readable")).collect();
            assert_eq!(count, read.len() as u64);
        });
        tokio::task::yield_now().await;
    }
    joins.join_all().await;
}

async fn entries_are_a_snapshot(fixture: impl StoreFixture) {
    let list: Arc<dyn Waitlist> = fixture.open().into();
    for number in 0..200 {
        join(&*list, &format!("before{number}@example.com")).await;
    }
    let snapshot = read_on_thread(|| list.entries(Selection::default()).expect("readable"));
    let mut joins = JoinSet::new();
    for number in 0..200 {
        let list = Arc::clone(&list);
        joins.spawn(async move { join(&*list, &format!("after{number}@example.com")).await });
    }
    joins.join_next().await;
    let read: Vec<_> = read_on_thread(|| snapshot.map(|entry| entry.expect("readable")).collect());
    let is_before = |entry: &WaitlistEntry| entry.email.as_typed().starts_with("before");
    assert!(read.len() == 200 && read.iter().all(is_before));
    joins.join_all().await;
    assert_eq!(entries(&*list).len(), 400);
}
