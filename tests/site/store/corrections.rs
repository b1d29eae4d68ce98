//! Corrections of addresses. Every store passes these tests.

use std::sync::Arc;

use landing::waitlist::{
    AddressFilter, CorrectOutcome, Erasure, JoinOutcome, Selection, Waitlist, WaitlistEntry,
};

use super::{
    StoreFixture, addresses, email, entries, entry, join, many_items::ManyItems, selected,
};

conformance_tests! {
    corrects_an_address_and_keeps_its_time_and_place,
    corrects_many_addresses_to_long_ones,
    concurrent_corrections_and_erasures_report_what_they_did,
}

async fn corrects_an_address_and_keeps_its_time_and_place(fixture: impl StoreFixture) {
    let list = fixture.open();
    for typed in ["ann@example.com", "bob@exmaple.com", "cyd@example.com"] {
        list.join(entry(typed, 7)).await.expect("a response");
    }
    let correct = |old: &str, new: &str| list.correct(&email(old), &email(new));
    let corrected = correct("BOB@exmaple.com", "bob@example.com").await;
    assert_eq!(corrected, Ok(CorrectOutcome::Corrected));
    // Another spelling of the same address.
    let corrected = correct("cyd@example.com", "Cyd@Example.com").await;
    assert_eq!(corrected, Ok(CorrectOutcome::Corrected));
    let expected = ["ann@example.com", "bob@example.com", "Cyd@Example.com"];
    assert_eq!(entries(&*list), expected.map(|typed| entry(typed, 7)));
    assert_eq!(list.count(), 3);
    let joined = join(&*list, "bob@exmaple.com").await;
    assert_eq!(joined, JoinOutcome::New, "the old address is free");
    let joined = join(&*list, "bob@example.com").await;
    assert_eq!(joined, JoinOutcome::AlreadyListed);
    drop(list);
    assert_eq!(addresses(&*fixture.open())[..3], expected);
}

/// The new addresses fit neither into the records of the old ones nor into one record.
async fn corrects_many_addresses_to_long_ones(fixture: impl StoreFixture) {
    let list = fixture.open();
    let short = |number: u64| entry(&format!("{number}@b.co"), number);
    let long = |number: u64| {
        let domain = format!("{}.example.com", ["y".repeat(60), "z".repeat(60)].join("."));
        entry(&format!("{number}{}@{domain}", "x".repeat(50)), number)
    };
    let joined = list.join_many((0..200).map(short).collect()).await;
    joined.expect("a response");
    for number in 0..200 {
        let (old, new) = (short(number).email, long(number).email);
        let read = async {
            tokio::task::yield_now().await;
            entries(&*list).len()
        };
        let (corrected, read) = tokio::join!(list.correct(&old, &new), read);
        assert_eq!(corrected, Ok(CorrectOutcome::Corrected), "{number}");
        assert_eq!(read, 200, "{number}");
    }
    let expected: Vec<_> = (0..200).map(long).collect();
    assert_eq!((list.count(), entries(&*list)), (200, expected.clone()));
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (200, expected));
}

async fn concurrent_corrections_and_erasures_report_what_they_did(fixture: impl StoreFixture) {
    let list: Arc<dyn Waitlist> = fixture.open().into();
    let people = ["old", "new", "newest"]
        .map(|name| move |round: u64| email(&format!("{name}{round}@example.com")));
    let [old, new, newest] = people;
    let joined = list.join_all(
        (0..60)
            .map(|round| WaitlistEntry {
                email: old(round),
                ..entry("a@b.co", round)
            })
            .collect(),
    );
    joined.await.expect("a response");
    let mut count = 60;
    for round in 0..60 {
        let (first, second) = (Arc::clone(&list), Arc::clone(&list));
        let first = tokio::spawn(async move { first.correct(&old(round), &new(round)).await });
        let second = tokio::spawn(async move {
            if round % 2 == 0 {
                second
                    .erase(&[new(round)], Erasure::Complete)
                    .await
                    .map(|erased| erased == [true])
            } else {
                let corrected = second.correct(&new(round), &newest(round)).await;
                corrected.map(|outcome| outcome == CorrectOutcome::Corrected)
            }
        });
        let first = first.await.expect("no panic");
        assert_eq!(first, Ok(CorrectOutcome::Corrected), "{round}");
        let has_changed = second.await.expect("no panic").expect("a response");
        let expected = match (has_changed, round % 2) {
            (false, _) => Some(new(round)),
            (true, 0) => None,
            (true, _) => Some(newest(round)),
        };
        count -= u64::from(expected.is_none());
        for email in [old(round), new(round), newest(round)] {
            let selection = Selection {
                addresses: AddressFilter::Address(email.clone()),
                ..Selection::default()
            };
            let found = selected(&*list, selection).len();
            let is_expected = expected.as_ref().is_some_and(|it| it.key() == email.key());
            assert_eq!(found, usize::from(is_expected), "{round}");
        }
    }
    assert_eq!((list.count(), entries(&*list).len() as u64), (count, count));
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list).len() as u64), (count, count));
}
