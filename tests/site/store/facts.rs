//! The source of an entry, and facts that arrive after the sign-up. Every store passes these tests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use landing::waitlist::{
    CorrectOutcome, Email, Erasure, Fact, InvalidSource, JoinOutcome, Selection, Source, Waitlist,
    WaitlistEntry,
};

use super::{
    StoreFixture, email, entries, entry, erase, many_items::ManyItems, read_on_thread, selected,
};

conformance_tests! {
    keeps_the_source,
    entries_can_be_selected_by_source,
    entries_can_be_selected_by_confirmation,
    records_facts_about_listed_people_only,
    last_fact_of_a_kind_counts,
    sign_up_keeps_its_facts,
    erasure_removes_source_and_facts,
    correction_keeps_source_and_facts,
    records_many_facts,
    compaction_keeps_source_and_facts,
    finds_one_person_with_what_became_known,
}

fn source(text: &str) -> Source {
    Source::parse(text).expect("a source")
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
        assert_eq!(Source::parse(invalid), Err(InvalidSource), "{invalid:?}");
    }
}

async fn keeps_the_source(fixture: impl StoreFixture) {
    let list = fixture.open();
    let people = [
        from("hn", entry("ann@example.com", 1)),
        entry("bob@example.com", 2),
        from(&"x".repeat(64), entry("eve@example.com", 3)),
    ];
    let joined = list.join_all(people.to_vec()).await;
    assert_eq!(joined, Ok(vec![JoinOutcome::New; 3]));
    // Another sign-up changes nothing.
    let again = from("other", entry("ANN@example.com", 4));
    assert_eq!(list.join(again).await, Ok(JoinOutcome::AlreadyListed));
    assert_eq!(entries(&*list), people);
    drop(list);
    assert_eq!(entries(&*fixture.open()), people);
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

async fn records_facts_about_listed_people_only(fixture: impl StoreFixture) {
    let list = fixture.open();
    let [ann, bob] = ["Ann@example.com", "bob@example.com"].map(|typed| entry(typed, 1));
    list.join_all(vec![ann.clone(), bob.clone()])
        .await
        .expect("a response");
    let facts = vec![
        confirmed("ann@EXAMPLE.com", 5),
        confirmed("eve@example.com", 6),
    ];
    assert_eq!(list.add_facts(facts).await, Ok(vec![true, false]));
    assert_eq!(list.add_facts(vec![]).await, Ok(vec![]));
    let expected = [
        WaitlistEntry {
            confirmed_at: Some(time(5)),
            ..ann
        },
        bob,
    ];
    assert_eq!((list.count(), entries(&*list)), (2, expected.to_vec()));
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (2, expected.to_vec()));
}

async fn last_fact_of_a_kind_counts(fixture: impl StoreFixture) {
    let list = fixture.open();
    let ann = entry("ann@example.com", 1);
    list.join(ann.clone()).await.expect("a response");
    let facts = vec![
        confirmed("ann@example.com", 9),
        confirmed("ann@example.com", 7),
    ];
    assert_eq!(list.add_facts(facts).await, Ok(vec![true, true]));
    let confirmed_at = |list: &dyn Waitlist| entries(list)[0].confirmed_at;
    assert_eq!(confirmed_at(&*list), Some(time(7)));
    let facts = vec![confirmed("ann@example.com", 8)];
    assert_eq!(list.add_facts(facts).await, Ok(vec![true]));
    assert_eq!(confirmed_at(&*list), Some(time(8)));
    drop(list);
    assert_eq!(confirmed_at(&*fixture.open()), Some(time(8)));
}

async fn sign_up_keeps_its_facts(fixture: impl StoreFixture) {
    let list = fixture.open();
    let people: Vec<_> = (0..400)
        .map(|number| WaitlistEntry {
            confirmed_at: (number % 2 == 0).then(|| time(number + 10)),
            ..from("hn", entry(&format!("{number}@example.com"), number))
        })
        .collect();
    let joined = list.join_many(people.clone()).await;
    assert_eq!(joined, Ok(vec![JoinOutcome::New; 400]));
    assert_eq!((list.count(), entries(&*list)), (400, people.clone()));
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (400, people));
}

async fn erasure_removes_source_and_facts(fixture: impl StoreFixture) {
    let list = fixture.open();
    let ann = from("hn", entry("ann@example.com", 1));
    let others: Vec<_> = (0..100)
        .map(|number| entry(&format!("{number}@example.com"), number + 2))
        .collect();
    list.join(ann.clone()).await.expect("a response");
    let facts = vec![confirmed("ann@example.com", 5)];
    list.add_facts(facts.clone()).await.expect("a response");
    // Later facts are in other records than the entry.
    list.join_all(others.clone()).await.expect("a response");
    list.add_facts(facts).await.expect("a response");
    assert!(erase(&*list, "ANN@example.com").await);
    assert_eq!((list.count(), entries(&*list)), (100, others.clone()));
    let again = entry("ann@example.com", 1);
    assert_eq!(list.join(again.clone()).await, Ok(JoinOutcome::New));
    let expected = [vec![again], others].concat();
    assert_eq!(entries(&*list), expected);
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (101, expected));
}

async fn correction_keeps_source_and_facts(fixture: impl StoreFixture) {
    let list = fixture.open();
    let ann = from("hn", entry("ann@example.com", 1));
    list.join(ann.clone()).await.expect("a response");
    let facts = vec![confirmed("ann@example.com", 5)];
    list.add_facts(facts).await.expect("a response");
    let new = email("Ann.Other@example.com");
    let corrected = list.correct(&email("ann@example.com"), &new).await;
    assert_eq!(corrected, Ok(CorrectOutcome::Corrected));
    let expected = [WaitlistEntry {
        email: new.clone(),
        confirmed_at: Some(time(5)),
        ..ann
    }];
    assert_eq!(entries(&*list), expected);
    let recorded = list.add_facts(vec![confirmed("ann@example.com", 6)]).await;
    assert_eq!(recorded, Ok(vec![false]));
    assert!(erase(&*list, new.as_typed()).await);
    assert_eq!((list.count(), entries(&*list)), (0, vec![]));
    drop(list);
    assert_eq!(entries(&*fixture.open()), []);
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

async fn compaction_keeps_source_and_facts(fixture: impl StoreFixture) {
    let list = std::sync::Arc::<dyn Waitlist>::from(fixture.open());
    let people: Vec<_> = (0..200)
        .map(|number| WaitlistEntry {
            confirmed_at: Some(time(number)),
            ..from("hn", entry(&format!("{number}@example.com"), number))
        })
        .collect();
    list.join_many(people.clone()).await.expect("a response");
    assert!(erase(&*list, "7@example.com").await);
    super::compact(&*list).await;
    let expected: Vec<_> = people
        .into_iter()
        .filter(|it| it.email.as_typed() != "7@example.com")
        .collect();
    assert_eq!(entries(&*list), expected);
    drop(list);
    let list = fixture.open();
    assert_eq!((list.count(), entries(&*list)), (199, expected));
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
