//! The source of an entry, and facts that arrive after the sign-up. Every store passes these tests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use landing::waitlist::{
    CorrectOutcome, Email, Erasure, Fact, InvalidSource, JoinOutcome, Selection, Source,
    WaitlistEntry,
};

use super::{
    StoreFixture, email, entries, entry, erase, many_items::ManyItems, read_on_thread, selected,
};

conformance_tests! {
    entries_can_be_selected_by_source,
    entries_can_be_selected_by_confirmation,
    records_many_facts,
    finds_one_person_with_what_became_known,
}

fn source(text: &str) -> Source {
    text.parse().expect("a source")
}

fn time(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

fn from(text: &str, entry: WaitlistEntry) -> WaitlistEntry {
    WaitlistEntry {
        source: Some(source(text)),
        ..entry
    }
}

fn confirmed(typed: &str, millis: u64) -> (Email, Fact) {
    (email(typed), Fact::ConfirmedAt(time(millis)))
}

#[test]
fn sources_are_normalized() {
    for (text, expected) in [
        ("hn", "hn"),
        (" HN ", "hn"),
        ("Product Hunt", "product-hunt"),
        ("news_letter-3.1", "news_letter-3.1"),
        (&"x".repeat(100), &"x".repeat(64)),
    ] {
        assert_eq!(source(text).as_str(), expected);
    }
    for invalid in ["", " ", "a,b", "a/b", "ä", "=1", "a\0b", "<b>", "a%20b"] {
        assert_eq!(invalid.parse::<Source>(), Err(InvalidSource), "{invalid:?}");
    }
}

async fn entries_can_be_selected_by_source(fixture: impl StoreFixture) {
    let list = fixture.open();
    let people: Vec<_> = (0..90)
        .map(|number| {
            let person = entry(&format!("{number}@example.com"), number);
            match number % 3 {
                0 => from("hn", person),
                1 => from("hn2", person),
                _ => person,
            }
        })
        .collect();
    list.join_all(people.clone()).await.expect("a response");
    let select = |text: &str| Selection {
        source: Some(source(text)),
        since: Some(time(30)),
        ..Selection::default()
    };
    let expected: Vec<_> = people.iter().skip(30).step_by(3).cloned().collect();
    assert_eq!(selected(&*list, select("hn")), expected);
    assert_eq!(selected(&*list, select("h")), []);
    let count = read_on_thread(|| list.entries(select("hn")).map(|it| it.selected_count()));
    assert_eq!(count, Ok(20));
}

async fn entries_can_be_selected_by_confirmation(fixture: impl StoreFixture) {
    let list = fixture.open();
    let people: Vec<_> = (0..30)
        .map(|number| {
            let confirmed_at = (number % 3 == 0).then(|| time(100 + number));
            WaitlistEntry {
                confirmed_at,
                ..entry(&format!("{number}@example.com"), number)
            }
        })
        .collect();
    list.join_all(people.clone()).await.expect("a response");
    let later = vec![confirmed("1@example.com", 500)];
    assert_eq!(list.add_facts(later).await, Ok(vec![true]));
    for is_confirmed in [true, false] {
        let selection = Selection {
            confirmed: Some(is_confirmed),
            until: Some(time(20)),
            ..Selection::default()
        };
        let expected = (0..20).filter(|n| (n % 3 == 0 || *n == 1) == is_confirmed);
        let expected: Vec<_> = expected.map(|n| format!("{n}@example.com")).collect();
        let found = selected(&*list, selection.clone());
        let found: Vec<_> = found.iter().map(|it| it.email.as_typed()).collect();
        assert_eq!(found, expected);
        let count = read_on_thread(|| list.entries(selection).map(|it| it.selected_count()));
        assert_eq!(count, Ok(expected.len() as u64));
    }
}

async fn records_many_facts(fixture: impl StoreFixture) {
    let list = fixture.open();
    let person = |number: u64| entry(&format!("{number}@example.com"), number);
    list.join_many((0..600).map(person).collect())
        .await
        .expect("a response");
    // More facts than fit into one batch.
    let fact = |number: u64| confirmed(&format!("{number}@example.com"), number);
    let recorded = list.add_many_facts((300..900).map(fact).collect()).await;
    let expected = (300..900).map(|number| number < 600);
    assert_eq!(recorded, Ok(expected.collect()));
    let is_right = |(number, entry): (u64, WaitlistEntry)| {
        entry.confirmed_at == (number >= 300).then(|| time(number))
    };
    assert!((0..).zip(entries(&*list)).all(is_right));
    let erased = list
        .erase(
            &(250..350)
                .map(|number| person(number).email)
                .collect::<Vec<_>>(),
            Erasure::Complete,
        )
        .await;
    assert_eq!(erased, Ok(vec![true; 100]));
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list).len()), (500, 500));
}

/// Also after a restart and a compaction, in which the facts may be far from their entry.
async fn finds_one_person_with_what_became_known(fixture: impl StoreFixture) {
    let mut list = fixture.open();
    let ann = WaitlistEntry {
        asked_at: Some(time(2)),
        ..from("hn", entry("Ann@example.com", 1))
    };
    assert_eq!(list.join(ann.clone()).await, Ok(JoinOutcome::New));
    let others = (0..300).map(|number| entry(&format!("{number}@example.com"), number));
    list.join_many(others.collect()).await.expect("a response");
    let facts = vec![confirmed("ann@EXAMPLE.com", 5)];
    assert_eq!(list.add_facts(facts).await, Ok(vec![true]));
    let new = email("anne@example.com");
    let corrected = list.correct(&ann.email, &new).await;
    assert_eq!(corrected, Ok(CorrectOutcome::Corrected));
    assert!(erase(&*list, "7@example.com").await);
    let expected = WaitlistEntry {
        email: new,
        confirmed_at: Some(time(5)),
        ..ann
    };
    for round in 0..3 {
        let found = list.person(&email("ANNE@example.com")).await;
        assert_eq!(found, Ok(Some(expected.clone())), "{round}");
        for gone in ["ann@example.com", "7@example.com", "eve@example.com"] {
            assert_eq!(list.person(&email(gone)).await, Ok(None), "{round}: {gone}");
        }
        if round == 1 {
            super::compact(&*list).await;
        } else {
            drop(list);
            list = fixture.open();
        }
    }
}
