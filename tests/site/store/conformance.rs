//! Tests that every store passes.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use landing::waitlist::{
    AddressFilter, Email, EmailDomain, Erasure, Fact, JoinOutcome, Selection, StoreError, Waitlist,
    WaitlistEntry,
};
use tokio::{sync::oneshot, task::JoinSet};

use super::{
    StoreFixture, addresses, email, entries, entry, erase, join, read_on_thread, selected,
};

conformance_tests! {
    new_list_is_empty,
    readiness_check_changes_nothing,
    join_lists_the_address_as_typed_with_its_time,
    lists_an_address_once_in_any_spelling,
    concurrent_joins_of_an_address_are_new_once,
    join_all_returns_outcomes_in_order,
    reports_each_change_of_the_count,
    entries_are_ordered_by_sign_up_time,
    entries_can_be_filtered_by_time_and_reversed,
    entries_can_be_selected_by_address_and_domain,
    entries_are_a_snapshot,
    snapshot_count_matches_its_entries,
    erased_people_can_join_again,
    erasing_an_unlisted_address_changes_nothing,
    erases_many_and_reports_each,
    erases_only_the_unconfirmed,
    confirmations_win_over_erasures,
    compacts_while_people_join_leave_and_read,
    entries_survive_reopening,
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
    let joined = list.join_all((0..600).map(person).collect()).await;
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

async fn entries_can_be_filtered_by_time_and_reversed(fixture: impl StoreFixture) {
    let list = fixture.open();
    for (number, millis) in [20, 10, 30, 20, 40].into_iter().enumerate() {
        let entry = entry(&format!("{number}@example.com"), millis);
        list.join(entry).await.expect("a response");
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
            ..Selection::default()
        };
        let count = read_on_thread(|| {
            let entries = list.entries(selection.clone()).expect("readable");
            entries.selected_count()
        });
        assert_eq!(count, expected.len() as u64, "{selection:?}");
        let matching = selected(&*list, selection.clone());
        let numbers: String = matching
            .iter()
            .map(|entry| &entry.email.as_typed()[..1])
            .collect();
        assert_eq!(numbers, expected, "{selection:?}");
    }
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

async fn entries_can_be_selected_by_address_and_domain(fixture: impl StoreFixture) {
    let list = fixture.open();
    let typed = [
        "ann@example.com",
        "bob@sub.example.com",
        "Cyd@EXAMPLE.com",
        "dan@bücher.example",
        "eve@notexample.com",
    ];
    for (millis, typed) in (0..).zip(typed) {
        list.join(entry(typed, millis)).await.expect("a response");
    }
    let domain = |typed| AddressFilter::Domain(EmailDomain::parse(typed).expect("a domain"));
    for (filter, expected) in [
        (AddressFilter::Any, &[0, 1, 2, 3, 4][..]),
        (domain("example.com"), &[0, 2]),
        (domain("@Example.COM"), &[0, 2]),
        (domain("xn--bcher-kva.example"), &[3]),
        (domain("BÜCHER.example"), &[3]),
        (domain("com"), &[]),
        (AddressFilter::Address(email("cyd@example.com")), &[2]),
        (
            AddressFilter::Address(email("DAN@xn--bcher-kva.example")),
            &[3],
        ),
        (AddressFilter::Address(email("fay@example.com")), &[]),
    ] {
        let selection = Selection {
            addresses: filter,
            ..Selection::default()
        };
        let count = read_on_thread(|| {
            let entries = list.entries(selection.clone()).expect("readable");
            entries.selected_count()
        });
        assert_eq!(count, expected.len() as u64, "{selection:?}");
        let found = selected(&*list, selection.clone());
        let found = found.iter().map(|entry| entry.email.as_typed());
        assert!(
            found.eq(expected.iter().map(|at| typed[*at])),
            "{selection:?}"
        );
    }
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

async fn erased_people_can_join_again(fixture: impl StoreFixture) {
    let list = fixture.open();
    for typed in ["ann@example.com", "Bob@example.com", "cyd@example.com"] {
        join(&*list, typed).await;
    }
    assert!(erase(&*list, "bob@EXAMPLE.com").await);
    assert_eq!(list.count(), 2);
    assert_eq!(addresses(&*list), ["ann@example.com", "cyd@example.com"]);
    assert!(!erase(&*list, "bob@example.com").await);

    assert_eq!(join(&*list, "bob@example.com").await, JoinOutcome::New);
    assert_eq!(list.count(), 3);
    drop(list);
    let listed = addresses(&*fixture.open());
    assert_eq!(
        listed,
        ["ann@example.com", "cyd@example.com", "bob@example.com"]
    );
}

async fn erasing_an_unlisted_address_changes_nothing(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "ann@example.com").await;
    assert!(!erase(&*list, "bob@example.com").await);
    assert_eq!(addresses(&*list), ["ann@example.com"]);
}

async fn erases_only_the_unconfirmed(fixture: impl StoreFixture) {
    let list = fixture.open();
    let now = SystemTime::now();
    let [long_ago, before] = [40, 30].map(|days| now - Duration::from_secs(days * 24 * 60 * 60));
    let ask = |typed, joined_at, asked_at| WaitlistEntry {
        asked_at,
        ..WaitlistEntry::new(email(typed), joined_at)
    };
    let entries = [
        ask("asked@example.com", long_ago, Some(long_ago)),
        ask("never-asked@example.com", long_ago, None),
        ask("asked-again@example.com", long_ago, Some(long_ago)),
        ask("confirmed@example.com", long_ago, Some(long_ago)),
        ask("new@example.com", now, Some(now)),
    ];
    for entry in &entries {
        assert_eq!(list.join(entry.clone()).await, Ok(JoinOutcome::New));
    }
    let facts = vec![
        (entries[2].email.clone(), Fact::AskedAt(now)),
        (entries[3].email.clone(), Fact::ConfirmedAt(long_ago)),
    ];
    assert_eq!(list.add_facts(facts).await, Ok(vec![true, true]));
    let mut emails: Vec<_> = entries.into_iter().map(|it| it.email).collect();
    emails.push(email("unlisted@example.com"));
    let erasure = Erasure::Unconfirmed { before };
    let erased = list.erase(&emails, erasure).await;
    assert_eq!(erased, Ok(vec![true, true, false, false, false, false]));
    let kept = [
        "asked-again@example.com",
        "confirmed@example.com",
        "new@example.com",
    ];
    assert_eq!(addresses(&*list), kept);
    assert_eq!(list.count(), 3);
    // Those who stay are still on the list, and can be erased.
    assert_eq!(join(&*list, kept[0]).await, JoinOutcome::AlreadyListed);
    assert!(erase(&*list, kept[1]).await);
}

async fn confirmations_win_over_erasures(fixture: impl StoreFixture) {
    const PEOPLE: usize = 600;
    let list: Arc<dyn Waitlist> = Arc::from(fixture.open());
    let eraser: Arc<dyn Waitlist> = match fixture.is_shared() {
        true => Arc::from(fixture.open()),
        false => Arc::clone(&list),
    };
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 24 * 60 * 60);
    let emails: Vec<_> = (0..PEOPLE)
        .map(|it| email(&format!("{it}@example.com")))
        .collect();
    let entries = emails.iter().map(|it| WaitlistEntry {
        asked_at: Some(long_ago),
        ..WaitlistEntry::new(it.clone(), long_ago)
    });
    list.join_all(entries.collect()).await.expect("a response");
    let confirm = async |email: &Email| {
        let fact = Fact::ConfirmedAt(SystemTime::now());
        list.add_facts(vec![(email.clone(), fact)]).await == Ok(vec![true])
    };
    // From both ends, so that some are confirmed before they are erased, and some while they are.
    let last = emails.last().expect("many");
    assert!(confirm(last).await);
    let mut confirmed = vec![last.clone()];
    let (has_begun, begun) = oneshot::channel();
    let erasing = {
        let emails = emails.clone();
        tokio::spawn(async move {
            let before = SystemTime::now();
            let erase = async |batch: &[Email]| {
                let erased = eraser.erase(batch, Erasure::Unconfirmed { before }).await;
                erased.expect("a response");
            };
            let (first, rest) = emails.split_at(20);
            erase(first).await;
            has_begun.send(()).expect("the test waits");
            for batch in rest.chunks(20) {
                erase(batch).await;
            }
        })
    };
    begun.await.expect("no panic");
    for email in emails[..PEOPLE - 1].iter().rev() {
        if confirm(email).await {
            confirmed.push(email.clone());
        }
    }
    erasing.await.expect("no panic");
    assert!(confirmed.len() <= PEOPLE - 20, "{}", confirmed.len());
    let listed = list.are_listed(&confirmed).await.expect("a response");
    assert!(listed.iter().all(|it| *it), "a confirmed person was erased");
    assert_eq!(addresses(&*list).len(), confirmed.len());
}

async fn erases_many_and_reports_each(fixture: impl StoreFixture) {
    let list = fixture.open();
    let person = |number: u64| entry(&format!("{number}@example.com"), number);
    let joined = list.join_all((0..1000).map(person).collect()).await;
    joined.expect("a response");
    let emails: Vec<_> = (0..1200)
        .step_by(3)
        .chain([3])
        .map(|number| email(&format!("{number}@EXAMPLE.com")))
        .collect();
    let erased = list
        .erase(&emails, Erasure::Complete)
        .await
        .expect("a response");
    assert_eq!(erased.len(), 401);
    assert!(erased[..334].iter().all(|erased| *erased));
    assert!(
        !erased[334..].iter().any(|erased| *erased),
        "these addresses are not listed, or are named twice"
    );
    assert_eq!(list.count(), 666);
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list).len()), (666, 666));
    assert_eq!(join(&*list, "3@example.com").await, JoinOutcome::New);
    assert_eq!(
        join(&*list, "4@example.com").await,
        JoinOutcome::AlreadyListed
    );
}

async fn compacts_while_people_join_leave_and_read(fixture: impl StoreFixture) {
    let list: Arc<dyn Waitlist> = fixture.open().into();
    let person = |number: u64| entry(&format!("{number}@example.com"), number);
    let joined = list.join_all((0..3_000).map(person).collect()).await;
    joined.expect("a response");
    let to_erase: Vec<_> = (0..1_000).map(|number| person(number).email).collect();
    let erased = list.erase(&to_erase, Erasure::Complete).await;
    erased.expect("a response");
    let snapshot = read_on_thread(|| list.entries(Selection::default()).expect("readable"));
    let compaction = tokio::task::spawn_blocking({
        let list = Arc::clone(&list);
        move || {
            for _ in 0..5 {
                match list.compact(&mut |_| {}) {
                    // People were erased during every attempt.
                    Ok(_) | Err(StoreError::NotCompacted(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    let mut next = 3_000;
    while !compaction.is_finished() || next < 3_050 {
        assert_eq!(list.join(person(next)).await, Ok(JoinOutcome::New));
        let gone = person(next - 2_000).email;
        let erased = list.erase(&[gone], Erasure::Complete).await;
        assert_eq!(erased, Ok(vec![true]));
        next += 1;
    }
    compaction.await.expect("no panic");
    read_on_thread(|| super::compact(&*list));
    let expected: Vec<_> = (next - 2_000..next).map(person).collect();
    assert_eq!((list.count(), entries(&*list)), (2_000, expected.clone()));
    let read: Vec<_> = read_on_thread(|| snapshot.map(|entry| entry.expect("readable")).collect());
    assert!(read.len() <= 2_000, "{}", read.len());
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (2_000, expected));
}

async fn entries_survive_reopening(fixture: impl StoreFixture) {
    let list = fixture.open();
    for typed in ["ann@example.com", "bob@example.com", "cyd@example.com"] {
        join(&*list, typed).await;
    }
    erase(&*list, "ann@example.com").await;
    erase(&*list, "cyd@example.com").await;
    drop(list);
    for round in 0..4 {
        let list = fixture.open();
        assert_eq!(list.count(), 1 + round);
        assert_eq!(
            join(&*list, "BOB@example.com").await,
            JoinOutcome::AlreadyListed
        );
        assert_eq!(
            join(&*list, &format!("{round}@example.com")).await,
            JoinOutcome::New
        );
        assert_eq!(
            join(&*list, "0@example.com").await,
            JoinOutcome::AlreadyListed
        );
    }
    let listed = addresses(&*fixture.open());
    assert_eq!(listed[..2], ["bob@example.com", "0@example.com"]);
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
