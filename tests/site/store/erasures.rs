//! Erasing people. Every store passes these tests.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use landing::waitlist::{Email, Erasure, Fact, JoinOutcome, Selection, Waitlist, WaitlistEntry};
use tokio::sync::oneshot;

use super::{
    StoreFixture, addresses, email, entries, entry, erase, join, many_items::ManyItems,
    read_on_thread,
};

conformance_tests! {
    erases_only_the_unconfirmed,
    confirmations_win_over_erasures,
    erases_many_and_reports_each,
    compacts_while_people_join_leave_and_read,
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
    list.join_many(entries.collect()).await.expect("a response");
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
    let listed = list.find_many(&confirmed).await.expect("a response");
    assert!(listed.iter().all(|it| *it), "a confirmed person was erased");
    assert_eq!(addresses(&*list).len(), confirmed.len());
}

async fn erases_many_and_reports_each(fixture: impl StoreFixture) {
    let list = fixture.open();
    let person = |number: u64| entry(&format!("{number}@example.com"), number);
    let joined = list.join_many((0..1000).map(person).collect()).await;
    joined.expect("a response");
    let emails: Vec<_> = (0..1200)
        .step_by(3)
        .chain([3])
        .map(|number| email(&format!("{number}@EXAMPLE.com")))
        .collect();
    let erased = list
        .erase_many(&emails, Erasure::Complete)
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
