//! The list, its count and its sign-ups. Every store passes these tests.

use std::sync::Arc;

use landing::waitlist::{JoinOutcome, Waitlist};
use tokio::task::JoinSet;

use super::{StoreFixture, addresses, entries, entry, erase, join, many_items::ManyItems};

conformance_tests! {
    new_list_is_empty,
    readiness_check_changes_nothing,
    join_lists_the_address_as_typed_with_its_time,
    lists_an_address_once_in_any_spelling,
    concurrent_joins_of_an_address_are_new_once,
    join_all_returns_outcomes_in_order,
    reports_each_change_of_the_count,
    long_list_stays_complete,
}

async fn new_list_is_empty(fixture: impl StoreFixture) {
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (0, vec![]));
}

async fn readiness_check_changes_nothing(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "ann@example.com").await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(addresses(&*list), ["ann@example.com"]);
}

async fn join_lists_the_address_as_typed_with_its_time(fixture: impl StoreFixture) {
    let list = fixture.open();
    let ann = entry("Ann.O'Hara+list@Example.com", 1_700_000_000_123);
    assert_eq!(list.join(ann.clone()).await, Ok(JoinOutcome::New));
    assert_eq!((list.count(), entries(&*list)), (1, vec![ann]));
}

async fn lists_an_address_once_in_any_spelling(fixture: impl StoreFixture) {
    let list = fixture.open();
    assert_eq!(join(&*list, "Ann@example.com").await, JoinOutcome::New);
    for again in ["Ann@example.com", "ann@EXAMPLE.com", " ANN@EXAMPLE.COM "] {
        assert_eq!(
            join(&*list, again).await,
            JoinOutcome::AlreadyListed,
            "{again}"
        );
    }
    assert_eq!(join(&*list, "ann@example.co").await, JoinOutcome::New);
    assert_eq!(addresses(&*list), ["Ann@example.com", "ann@example.co"]);
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

async fn join_all_returns_outcomes_in_order(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "7@example.com").await;
    // More sign-ups than fit into one batch, two for each address.
    let person = |number: u64| entry(&format!("{}@EXAMPLE.com", number % 300), number);
    let joined = list.join_many((0..600).map(person).collect()).await;
    let expected = (0..600).map(|number| match number {
        7 | 300.. => JoinOutcome::AlreadyListed,
        _ => JoinOutcome::New,
    });
    assert_eq!(joined, Ok(expected.collect()));
    assert_eq!(list.join_all(vec![]).await, Ok(vec![]));
    assert_eq!((list.count(), entries(&*list).len()), (300, 300));
    drop(list);
    let times = entries(&*fixture.open());
    let times = times[..299].iter().map(|entry| entry.joined_at);
    let expected = (0..300).filter(|number| *number != 7);
    assert!(times.eq(expected.map(|number| entry("a@b.co", number).joined_at)));
}

async fn reports_each_change_of_the_count(fixture: impl StoreFixture) {
    let list = fixture.open();
    let mut changes = list.watch_count();
    assert_eq!(*changes.borrow_and_update(), 0);
    join(&*list, "ann@example.com").await;
    assert_eq!(*changes.borrow_and_update(), 1);
    join(&*list, "ann@example.com").await;
    assert!(!changes.has_changed().expect("the list is open"));
    erase(&*list, "ann@example.com").await;
    assert_eq!(*changes.borrow_and_update(), 0);
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
