//! What every store of the list promises, run over each of them.

use std::sync::Arc;

use landing::waitlist::{Entry, Joined, Selection, Waitlist};
use tokio::task::JoinSet;

use super::{
    Database, Directory, Memory, Place, addresses, email, entries, entry, erase, join, read,
    selected,
};

macro_rules! contract {
    ($($promise:ident,)*) => {
        mod sled {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                super::$promise(super::Directory::default()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                super::$promise(super::Database::default()).await;
            })*
        }
        mod memory {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                super::$promise(super::Memory::default()).await;
            })*
        }
    };
}

contract! {
    a_new_list_is_empty,
    an_open_list_is_ready_and_that_changes_nothing,
    who_joins_is_counted_and_listed_as_typed_with_the_time,
    an_address_is_listed_once_in_whatever_spelling,
    of_many_who_join_at_once_each_address_is_new_once,
    of_many_from_another_list_each_is_told_in_their_order,
    each_change_of_the_count_is_told,
    entries_come_by_the_time_of_joining,
    entries_can_be_chosen_by_their_time_and_come_newest_first,
    entries_are_those_of_the_moment_they_were_asked_for,
    the_count_told_with_the_entries_is_of_the_same_moment,
    who_is_erased_is_gone_and_may_join_again,
    to_erase_who_is_not_listed_changes_nothing,
    many_are_erased_at_once_and_each_is_told_of,
    everything_is_there_after_reopening,
    a_long_list_stays_whole,
}

async fn a_new_list_is_empty(place: impl Place) {
    let list = place.open();
    assert_eq!((list.count(), entries(&*list)), (0, vec![]));
}

async fn an_open_list_is_ready_and_that_changes_nothing(place: impl Place) {
    let list = place.open();
    join(&*list, "ann@example.com").await;
    assert_eq!(list.ready().await, Ok(()));
    assert_eq!(addresses(&*list), ["ann@example.com"]);
}

async fn who_joins_is_counted_and_listed_as_typed_with_the_time(place: impl Place) {
    let list = place.open();
    let ann = entry("Ann.O'Hara+list@Example.com", 1_700_000_000_123);
    assert_eq!(list.join(ann.clone()).await, Ok(Joined::New));
    assert_eq!((list.count(), entries(&*list)), (1, vec![ann]));
}

async fn an_address_is_listed_once_in_whatever_spelling(place: impl Place) {
    let list = place.open();
    assert_eq!(join(&*list, "Ann@example.com").await, Joined::New);
    for again in ["Ann@example.com", "ann@EXAMPLE.com", " ANN@EXAMPLE.COM "] {
        assert_eq!(join(&*list, again).await, Joined::AlreadyListed, "{again}");
    }
    assert_eq!(join(&*list, "ann@example.co").await, Joined::New);
    assert_eq!(addresses(&*list), ["Ann@example.com", "ann@example.co"]);
}

async fn of_many_who_join_at_once_each_address_is_new_once(place: impl Place) {
    let list: Arc<dyn Waitlist> = place.open().into();
    let mut joins = JoinSet::new();
    for number in 0..1200 {
        let list = Arc::clone(&list);
        joins.spawn(async move { join(&*list, &format!("{}@example.com", number % 300)).await });
    }
    let outcomes = joins.join_all().await;
    let new = outcomes.iter().filter(|outcome| **outcome == Joined::New);
    assert_eq!((new.count(), list.count()), (300, 300));
    assert_eq!(entries(&*list).len(), 300);
}

async fn of_many_from_another_list_each_is_told_in_their_order(place: impl Place) {
    let list = place.open();
    join(&*list, "7@example.com").await;
    // More than fit into one batch, and some of them twice.
    let person = |number: u64| entry(&format!("{}@EXAMPLE.com", number % 300), number);
    let joined = list.join_all((0..600).map(person).collect()).await;
    let expected = (0..600).map(|number| match number {
        7 | 300.. => Joined::AlreadyListed,
        _ => Joined::New,
    });
    assert_eq!(joined, Ok(expected.collect()));
    assert_eq!(list.join_all(vec![]).await, Ok(vec![]));
    assert_eq!((list.count(), entries(&*list).len()), (300, 300));
    drop(list);
    let times = entries(&*place.open());
    let times = times[..299].iter().map(|entry| entry.joined_at);
    let expected = (0..300).filter(|number| *number != 7);
    assert!(times.eq(expected.map(|number| entry("a@b.co", number).joined_at)));
}

async fn each_change_of_the_count_is_told(place: impl Place) {
    let list = place.open();
    let mut changes = list.changes();
    assert_eq!(*changes.borrow_and_update(), 0);
    join(&*list, "ann@example.com").await;
    assert_eq!(*changes.borrow_and_update(), 1);
    join(&*list, "ann@example.com").await;
    assert!(!changes.has_changed().expect("the list is there"));
    erase(&*list, "ann@example.com").await;
    assert_eq!(*changes.borrow_and_update(), 0);
}

async fn entries_come_by_the_time_of_joining(place: impl Place) {
    let list = place.open();
    let times = [30, 10, 20, 10, 40, 0];
    for (number, millis) in times.iter().enumerate() {
        let entry = entry(&format!("{number}@example.com"), *millis);
        list.join(entry).await.expect("an answer");
    }
    let numbers: Vec<_> = addresses(&*list)
        .iter()
        .map(|it| it[..1].to_owned())
        .collect();
    assert_eq!(
        numbers.concat(),
        "513204",
        "of one time: in the order they came"
    );
}

async fn entries_can_be_chosen_by_their_time_and_come_newest_first(place: impl Place) {
    let list = place.open();
    for (number, millis) in [20, 10, 30, 20, 40].into_iter().enumerate() {
        let entry = entry(&format!("{number}@example.com"), millis);
        list.join(entry).await.expect("an answer");
    }
    let time = |millis: u64| Some(entry("a@b.co", millis).joined_at);
    for (since, until, newest_first, expected) in [
        (None, None, false, "10324"),
        (None, None, true, "42301"),
        (time(20), None, false, "0324"),
        (None, time(20), false, "1"),
        (time(20), time(40), true, "230"),
        (time(21), time(30), false, ""),
        (time(30), time(20), false, ""),
    ] {
        let selection = Selection {
            since,
            until,
            newest_first,
        };
        let chosen = selected(&*list, selection);
        let numbers: String = chosen
            .iter()
            .map(|entry| &entry.email.as_typed()[..1])
            .collect();
        assert_eq!(numbers, expected, "{selection:?}");
    }
}

async fn the_count_told_with_the_entries_is_of_the_same_moment(place: impl Place) {
    let list: Arc<dyn Waitlist> = place.open().into();
    let mut joins = JoinSet::new();
    for number in 0..2_000 {
        let list = Arc::clone(&list);
        joins.spawn(async move { join(&*list, &format!("{number}@example.com")).await });
    }
    while list.count() < 2_000 {
        read(|| {
            let told = list.entries(Selection::default()).expect("readable");
            let count = told.listed();
            let read: Vec<_> = told.map(|entry| entry.expect("readable")).collect();
            assert_eq!(count, read.len() as u64);
        });
        tokio::task::yield_now().await;
    }
    joins.join_all().await;
}

async fn entries_are_those_of_the_moment_they_were_asked_for(place: impl Place) {
    let list: Arc<dyn Waitlist> = place.open().into();
    for number in 0..200 {
        join(&*list, &format!("before{number}@example.com")).await;
    }
    let asked = read(|| list.entries(Selection::default()).expect("readable"));
    let mut joins = JoinSet::new();
    for number in 0..200 {
        let list = Arc::clone(&list);
        joins.spawn(async move { join(&*list, &format!("after{number}@example.com")).await });
    }
    joins.join_next().await;
    let seen: Vec<_> = read(|| asked.map(|entry| entry.expect("readable")).collect());
    let is_before = |entry: &Entry| entry.email.as_typed().starts_with("before");
    assert!(seen.len() == 200 && seen.iter().all(is_before));
    joins.join_all().await;
    assert_eq!(entries(&*list).len(), 400);
}

async fn who_is_erased_is_gone_and_may_join_again(place: impl Place) {
    let list = place.open();
    for typed in ["ann@example.com", "Bob@example.com", "cyd@example.com"] {
        join(&*list, typed).await;
    }
    assert!(erase(&*list, "bob@EXAMPLE.com").await);
    assert_eq!(list.count(), 2);
    assert_eq!(addresses(&*list), ["ann@example.com", "cyd@example.com"]);
    assert!(!erase(&*list, "bob@example.com").await);

    assert_eq!(join(&*list, "bob@example.com").await, Joined::New);
    assert_eq!(list.count(), 3);
    drop(list);
    let listed = addresses(&*place.open());
    assert_eq!(
        listed,
        ["ann@example.com", "cyd@example.com", "bob@example.com"]
    );
}

async fn to_erase_who_is_not_listed_changes_nothing(place: impl Place) {
    let list = place.open();
    join(&*list, "ann@example.com").await;
    assert!(!erase(&*list, "bob@example.com").await);
    assert_eq!(addresses(&*list), ["ann@example.com"]);
}

async fn many_are_erased_at_once_and_each_is_told_of(place: impl Place) {
    let list = place.open();
    let person = |number: u64| entry(&format!("{number}@example.com"), number);
    let joined = list.join_all((0..1000).map(person).collect()).await;
    joined.expect("an answer");
    let emails: Vec<_> = (0..1200)
        .step_by(3)
        .chain([3])
        .map(|number| email(&format!("{number}@EXAMPLE.com")))
        .collect();
    let erased = list.erase(&emails).await.expect("an answer");
    assert_eq!(erased.len(), 401);
    assert!(erased[..334].iter().all(|erased| *erased));
    assert!(
        !erased[334..].iter().any(|erased| *erased),
        "not there, or named twice"
    );
    assert_eq!(list.count(), 666);
    drop(list);
    let list = place.open();
    assert_eq!((list.count(), entries(&*list).len()), (666, 666));
    assert_eq!(join(&*list, "3@example.com").await, Joined::New);
    assert_eq!(join(&*list, "4@example.com").await, Joined::AlreadyListed);
}

async fn everything_is_there_after_reopening(place: impl Place) {
    let list = place.open();
    for typed in ["ann@example.com", "bob@example.com", "cyd@example.com"] {
        join(&*list, typed).await;
    }
    erase(&*list, "ann@example.com").await;
    erase(&*list, "cyd@example.com").await;
    drop(list);
    for round in 0..4 {
        let list = place.open();
        assert_eq!(list.count(), 1 + round);
        assert_eq!(join(&*list, "BOB@example.com").await, Joined::AlreadyListed);
        assert_eq!(
            join(&*list, &format!("{round}@example.com")).await,
            Joined::New
        );
        assert_eq!(join(&*list, "0@example.com").await, Joined::AlreadyListed);
    }
    let listed = addresses(&*place.open());
    assert_eq!(listed[..2], ["bob@example.com", "0@example.com"]);
}

/// Longer than whatever a store keeps in one piece, with addresses of every length.
async fn a_long_list_stays_whole(place: impl Place) {
    let list: Arc<dyn Waitlist> = place.open().into();
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
        assert_eq!(joined, Ok(Joined::New));
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
    let list = place.open();
    assert_eq!((list.count(), addresses(&*list)), (1714, expected));
}
