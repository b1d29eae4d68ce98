//! Corrections, erasures and suppressions of many people, also at the same time. Every store passes these tests.

use std::{
    slice,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{
    CorrectOutcome, Email, Erasure, Fact, JoinOutcome, Selection, WaitlistEntry,
};
use tokio::{sync::oneshot, task::JoinSet};

use super::{
    StoreFixture, addresses, email, entries, entry, join, many_items::ManyItems, read_on_thread,
};

conformance_tests! {
    facts_are_recorded_only_about_their_sign_up,
    corrects_many_addresses_to_long_ones,
    concurrent_corrections_and_erasures_report_what_they_did,
    confirmations_win_over_erasures,
    compacts_while_people_join_leave_and_read,
    suppresses_many,
}

/// The new addresses fit neither into the records of the old ones nor into one record. The entries are in the order of their
/// times, and four people with the same time keep the order of their sign-ups.
async fn corrects_many_addresses_to_long_ones(fixture: impl StoreFixture) {
    let list = fixture.open();
    let short = |number: u64| entry(&format!("{number}@b.co"), number % 50);
    let long = |number: u64| {
        let domain = format!("{}.example.com", ["y".repeat(60), "z".repeat(60)].join("."));
        entry(&format!("{number}{}@{domain}", "x".repeat(50)), number % 50)
    };
    let joined = list.join_many((0..200).map(short).collect()).await;
    joined.expect("a response");
    for number in (0..200).map(|it| it ^ 1) {
        let (old, new) = (short(number).email, long(number).email);
        let read = async {
            tokio::task::yield_now().await;
            entries(&*list).len()
        };
        let (corrected, read) = tokio::join!(list.correct(&old, &new), read);
        assert_eq!(corrected, Ok(CorrectOutcome::Corrected), "{number}");
        assert_eq!(read, 200, "{number}");
    }
    let mut expected: Vec<_> = (0..200).map(long).collect();
    expected.sort_by_key(|it| it.joined_at);
    assert_eq!((list.count(), entries(&*list)), (200, expected.clone()));
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (200, expected));
}

/// One process corrects an address, and another one changes the old or the new one at the same time. Only a database has
/// several processes.
async fn concurrent_corrections_and_erasures_report_what_they_did(fixture: impl StoreFixture) {
    let list = fixture.open();
    let other = fixture.open_again(&list);
    let people = ["old", "new", "newest"]
        .map(|name| move |round: u64| email(&format!("{name}{round}@example.com")));
    let [old, new, newest] = people;
    let people = (0..100).map(|round| WaitlistEntry {
        email: old(round),
        ..entry("a@b.co", round)
    });
    list.join_all(people.collect()).await.expect("a response");
    let mut count = 100;
    for round in 0..100 {
        let (is_erasure, is_about_the_old) = (round % 2 == 0, round % 4 < 2);
        let (first, second) = (Arc::clone(&list), Arc::clone(&other));
        let first = tokio::spawn(async move { first.correct(&old(round), &new(round)).await });
        let second = tokio::spawn(async move {
            let changed = if is_about_the_old {
                old(round)
            } else {
                new(round)
            };
            if is_erasure {
                let erased = second.erase(&[changed], Erasure::Complete).await;
                erased.map(|erased| erased == [true])
            } else {
                let corrected = second.correct(&changed, &newest(round)).await;
                corrected.map(|outcome| outcome == CorrectOutcome::Corrected)
            }
        });
        let is_corrected = first.await.expect("no panic") == Ok(CorrectOutcome::Corrected);
        let has_changed = second.await.expect("no panic").expect("a response");
        let expected_first = !is_about_the_old || !has_changed;
        assert_eq!(is_corrected, expected_first, "{round}");
        let expected = match (has_changed, is_erasure) {
            (false, _) => Some(new(round)),
            (true, true) => None,
            (true, false) => Some(newest(round)),
        };
        count -= u64::from(expected.is_none());
        for email in [old(round), new(round), newest(round)] {
            let is_expected = expected.as_ref().is_some_and(|it| it.key() == email.key());
            let found = list.person(&email).await.expect("readable");
            assert_eq!(found.is_some(), is_expected, "{round}");
        }
    }
    assert_eq!(entries(&*list).len() as u64, count);
    drop((list, other));
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list).len() as u64), (count, count));
}

async fn confirmations_win_over_erasures(fixture: impl StoreFixture) {
    const PEOPLE: usize = 600;
    let list = fixture.open();
    let eraser = fixture.open_again(&list);
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 24 * 60 * 60);
    let emails: Vec<_> = (0..PEOPLE)
        .map(|it| email(&format!("{it}@example.com")))
        .collect();
    let entries = emails.iter().map(|it| WaitlistEntry {
        asked_at: Some(long_ago),
        ..WaitlistEntry::new(it.clone(), long_ago)
    });
    list.join_many(entries.collect()).await.expect("a response");
    let confirm = async |email: &Email| {
        let fact = Fact::ConfirmedAt(SystemTime::now());
        list.add_fact(email, long_ago, fact).await == Ok(true)
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
    let listed = list.find_many(&confirmed).await.expect("a response");
    assert!(
        listed.iter().all(Option::is_some),
        "a confirmed person was erased"
    );
    assert_eq!(addresses(&*list).len(), confirmed.len());
}

async fn compacts_while_people_join_leave_and_read(fixture: impl StoreFixture) {
    let list = fixture.open();
    let person = |number: u64| {
        let [name, domain] =
            [("x", 50), ("y", 60)].map(|(it, max)| it.repeat(number as usize % max));
        entry(&format!("{number}{name}@y{domain}.example.com"), number)
    };
    let joined = list.join_many((0..3_000).map(person).collect()).await;
    joined.expect("a response");
    let to_erase: Vec<_> = (0..1_000).map(|number| person(number).email).collect();
    let erased = list.erase_many(&to_erase, Erasure::Complete).await;
    erased.expect("a response");
    let snapshot = read_on_thread(|| list.entries(Selection::default()).expect("readable"));
    let compaction = tokio::spawn({
        let list = Arc::clone(&list);
        async move {
            for _ in 0..5 {
                super::compact(&*list).await;
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
    super::compact(&*list).await;
    let expected: Vec<_> = (next - 2_000..next).map(person).collect();
    assert_eq!((list.count(), entries(&*list)), (2_000, expected.clone()));
    let read: Vec<_> = read_on_thread(|| snapshot.map(|entry| entry.expect("readable")).collect());
    assert!(read.len() <= 2_000, "{}", read.len());
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (2_000, expected));
}

/// A request that confirms may be late: the person has left meanwhile, and somebody has typed the address in again.
async fn facts_are_recorded_only_about_their_sign_up(fixture: impl StoreFixture) {
    let list = fixture.open();
    let ann = email("ann@example.com");
    let sign_up = |second| WaitlistEntry {
        asked_at: Some(UNIX_EPOCH + Duration::from_secs(second)),
        ..entry("ann@example.com", second)
    };
    assert_eq!(list.join(sign_up(1)).await, Ok(JoinOutcome::New));
    let left = list.erase(slice::from_ref(&ann), Erasure::Suppress).await;
    assert_eq!(left, Ok(vec![true]));
    assert_eq!(list.join(sign_up(2)).await, Ok(JoinOutcome::New));
    let confirmed = Fact::ConfirmedAt(SystemTime::now());
    for (joined_at, is_recorded) in [(sign_up(1).joined_at, false), (sign_up(2).joined_at, true)] {
        let recorded = list.add_fact(&email("Ann@example.com"), joined_at, confirmed);
        assert_eq!(recorded.await, Ok(is_recorded));
        let person = list.person(&ann).await.expect("no error");
        let is_confirmed = !person.expect("listed").awaits_confirmation();
        assert_eq!(is_confirmed, is_recorded);
        assert_eq!(list.is_suppressed(&ann).await, Ok(!is_recorded));
    }
}

async fn suppresses_many(fixture: impl StoreFixture) {
    let list = fixture.open();
    let person = |number: u64| entry(&format!("{number}@example.com"), number);
    list.join_many((0..1000).map(person).collect())
        .await
        .expect("a response");
    let gone: Vec<_> = (500..5000).map(|it| person(it).email).collect();
    let erased = list.erase_many(&gone, Erasure::Suppress).await;
    let expected = (500..5000).map(|number| number < 1000);
    assert_eq!(erased, Ok(expected.collect()));
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list).len()), (500, 500));
    let suppressions = list.suppressions().await.expect("a response");
    assert_eq!(suppressions.len(), 4500);
    assert!(gone.iter().all(|email| suppressions.contains(email)));
    // They all come back.
    for chunk in gone.chunks(500) {
        let mut joins = JoinSet::new();
        for email in chunk {
            let list = Arc::clone(&list);
            let email = email.clone();
            joins.spawn(async move { join(&*list, email.as_typed()).await });
        }
        let joined = joins.join_all().await;
        assert!(joined.iter().all(|it| *it == JoinOutcome::New));
    }
    assert_eq!(list.suppressions().await.map(|it| it.len()), Ok(0));
    drop(list);
    let list = fixture.open();
    assert_eq!(list.suppressions().await.map(|it| it.len()), Ok(0));
    assert_eq!(list.count(), 5000);
}
