//! The events for the webhook: which changes record them, and how long the list keeps them.

use std::{
    fs,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{
    CALL_MAX, Erasure, Event, Fact, OwnerList, SledWaitlist, Waitlist, WaitlistEntry,
};
use tempfile::TempDir;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{SledFixture, StoreFixture, add_fact, compact, email, entry, erase, join};
use crate::{cli::compact::contains, raw_store::open_database};

conformance_tests! {
    list_records_no_events_unless_asked,
    each_change_records_its_events,
    spelling_and_repeated_facts_record_nothing,
    finished_events_are_gone_and_the_others_keep_their_order,
}

/// Returns the events of a list with their numbers, in a database those of a call at most for people who have several. Without
/// a recording there are none.
pub(crate) async fn events(list: &dyn Waitlist) -> Vec<(u64, Event)> {
    let mut all = Vec::new();
    loop {
        let last = all.last().map_or(0, |(number, _)| *number);
        let more = list.events_after(last).await.expect("readable");
        match more.filter(|it| !it.is_empty()) {
            Some(more) => all.extend(more),
            None => return all,
        }
    }
}

/// Returns by what events are finished.
fn ids(events: &[(u64, Event)]) -> impl Iterator<Item = (u64, Uuid)> + Clone {
    events.iter().map(|(number, event)| (*number, event.id))
}

/// Returns what happened, such as `joined ann@example.com hn`.
pub(super) async fn happened(list: &dyn Waitlist) -> Vec<String> {
    let events = events(list).await.into_iter();
    let text = events.map(|(_, event)| {
        let source = event.source.map_or(String::new(), |it| format!(" {it}"));
        format!("{} {}{source}", event.kind, event.email.as_typed())
    });
    text.collect()
}

async fn list_records_no_events_unless_asked(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "ann@example.com").await;
    assert_eq!(list.pending_events().await, Ok(None));
    list.record_events(false).await.expect("recorded");
    list.record_events(true).await.expect("recorded");
    let pending = list.pending_events().await.expect("readable").expect("on");
    assert_eq!((pending.count, pending.oldest), (0, None));
    join(&*list, "bob@example.com").await;
    // A server that starts again does not forget what waits.
    list.record_events(true).await.expect("recorded");
    assert_eq!(happened(&*list).await, ["joined bob@example.com"]);
    list.record_events(false).await.expect("recorded");
    join(&*list, "cyd@example.com").await;
    assert_eq!(list.pending_events().await, Ok(None));
    assert_eq!(list.events_after(0).await, Ok(None));
    list.record_events(true).await.expect("recorded");
    assert_eq!(happened(&*list).await, [""; 0]);
}

async fn each_change_records_its_events(fixture: impl StoreFixture) {
    let list = fixture.open();
    list.record_events(true).await.expect("recorded");
    let now = SystemTime::now();
    let confirmed = Fact::ConfirmedAt(now);
    let ann = WaitlistEntry {
        source: Some("hn".parse().expect("a source")),
        asked_at: Some(now),
        ..WaitlistEntry::new(email("Ann@example.com"), now)
    };
    list.join(ann).await.expect("a response");
    // Somebody who is on the list does not join.
    join(&*list, "ANN@example.com").await;
    let added = add_fact(&*list, "ann@example.com", confirmed).await;
    assert_eq!(added, Ok(true));
    let imported = WaitlistEntry {
        confirmed_at: Some(now),
        ..entry("bob@example.com", 1)
    };
    let imported = vec![imported, entry("cyd@example.com", 2)];
    list.join_all(imported).await.expect("a response");
    let corrected = list.correct(&email("ann@example.com"), &email("eve@example.com"));
    corrected.await.expect("a response");
    let asked = WaitlistEntry {
        asked_at: Some(UNIX_EPOCH),
        ..entry("dan@example.com", 3)
    };
    list.join(asked).await.expect("a response");
    let before = UNIX_EPOCH + Duration::from_secs(60);
    for (typed, erasure) in [
        ("EVE@example.com", Erasure::Suppress),
        ("bob@example.com", Erasure::Complete),
        ("dan@example.com", Erasure::Unconfirmed { before }),
        ("nobody@example.com", Erasure::Suppress),
    ] {
        list.erase(&[email(typed)], erasure).await.expect("erased");
    }
    assert_eq!(
        happened(&*list).await,
        [
            "joined Ann@example.com hn",
            "confirmed Ann@example.com hn",
            "joined bob@example.com",
            "confirmed bob@example.com",
            "joined cyd@example.com",
            "left Ann@example.com hn",
            "joined eve@example.com hn",
            "confirmed eve@example.com hn",
            "joined dan@example.com",
            "left eve@example.com hn",
            "left bob@example.com",
            "left dan@example.com",
        ]
    );
    let events = events(&*list).await;
    let is_recent = |at: SystemTime| at.elapsed().is_ok_and(|age| age < Duration::from_secs(60));
    assert!(
        events.iter().all(|(_, event)| is_recent(event.at)),
        "{events:?}"
    );
    let mut ids: Vec<_> = events.iter().map(|(_, event)| event.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), events.len());
}

async fn spelling_and_repeated_facts_record_nothing(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "ann@example.com").await;
    let ann = email("ann@example.com");
    let confirm = || {
        let confirmed = Fact::ConfirmedAt(SystemTime::now());
        add_fact(&*list, "ann@example.com", confirmed)
    };
    confirm().await.expect("a response");
    list.record_events(true).await.expect("recorded");
    let corrected = list.correct(&ann, &email("Ann@Example.com")).await;
    corrected.expect("a response");
    confirm().await.expect("a response");
    let asked = Fact::AskedAt(SystemTime::now());
    let asked = add_fact(&*list, "ann@example.com", asked).await;
    assert_eq!(asked, Ok(true));
    list.suppress(&[email("bob@example.com")])
        .await
        .expect("suppressed");
    assert_eq!(happened(&*list).await, [""; 0]);
}

async fn finished_events_are_gone_and_the_others_keep_their_order(fixture: impl StoreFixture) {
    let list = fixture.open();
    list.record_events(true).await.expect("recorded");
    // More than one call returns.
    let many = (0..CALL_MAX + 10).map(|it| entry(&format!("many{it}@example.com"), 1));
    for some in many.collect::<Vec<_>>().chunks(CALL_MAX) {
        list.join_all(some.to_vec()).await.expect("joined");
    }
    let finished: Vec<_> = ids(&events(&*list).await).collect();
    assert_eq!(finished.len(), CALL_MAX + 10);
    for some in finished.chunks(CALL_MAX) {
        list.finish_events(some.to_vec()).await.expect("finished");
    }
    // Each person joins and leaves, twice.
    let mut people = JoinSet::new();
    for number in 0..30 {
        let list = Arc::clone(&list);
        people.spawn(async move {
            let typed = format!("{number}@example.com");
            for _ in 0..2 {
                join(&*list, &typed).await;
                assert!(erase(&*list, &typed).await);
            }
        });
    }
    people.join_all().await;
    let all = events(&*list).await;
    assert_eq!(all.len(), 120);
    for number in 0..30 {
        let key = format!("{number}@example.com");
        let own = all.iter().filter(|(_, event)| event.email.key() == key);
        let kinds: Vec<_> = own.map(|(_, event)| &*event.kind).collect();
        let (joined, left) = ("joined", "left");
        assert_eq!(kinds, [joined, left, joined, left]);
    }
    let finished = ids(&all[..60]);
    // Twice, and one that there never was.
    for _ in 0..2 {
        let finished = finished.clone().chain([(u64::MAX / 2, Uuid::nil())]);
        list.finish_events(finished.collect())
            .await
            .expect("finished");
    }
    assert_eq!(events(&*list).await, all[60..]);
    let pending = list.pending_events().await.expect("readable").expect("on");
    assert_eq!((pending.count, pending.oldest), (60, Some(all[60].1.at)));
}

#[tokio::test]
async fn compaction_removes_the_addresses_of_finished_events() {
    let SledFixture(directory) = SledFixture::default();
    let list = SledWaitlist::open(directory.path()).expect("the list opens");
    let has_ann = || contains(directory.path(), b"ann@example.com");
    list.record_events(true).await.expect("recorded");
    join(&list, "ann@example.com").await;
    erase(&list, "ann@example.com").await;
    compact(&list).await;
    // The receiver does not have it yet.
    assert!(has_ann());
    list.finish_events(ids(&events(&list).await).collect())
        .await
        .expect("finished");
    compact(&list).await;
    assert!(!has_ann());
}

/// An earlier program reads a list that has never recorded events, and one that no longer does and is compacted.
#[tokio::test]
async fn earlier_programs_reject_only_a_list_that_records_events() {
    let directory = TempDir::new().expect("a directory");
    let format = || {
        let database = open_database(&directory.path().join("waitlist"));
        let format = database.get("format").expect("readable").expect("a format");
        u64::from_be_bytes(format.as_ref().try_into().expect("eight bytes"))
    };
    let open = || SledWaitlist::open(directory.path()).expect("the list opens");
    for (is_on, expected) in [(false, 5), (true, 6), (false, 6)] {
        let list = open();
        list.record_events(is_on).await.expect("recorded");
        join(&list, "ann@example.com").await;
        drop(list);
        assert_eq!(format(), expected);
    }
    let list = open();
    compact(&list).await;
    drop(list);
    assert_eq!(format(), 5);
    assert_eq!(open().pending_events().await, Ok(None));
}

/// sled may hang after a power cut with several unsynced segments of its log, and never syncs the files of large values.
#[tokio::test]
async fn longest_events_of_a_call_begin_at_most_one_segment() {
    let directory = TempDir::new().expect("a directory");
    let list = SledWaitlist::open(directory.path()).expect("the list opens");
    list.record_events(true).await.expect("recorded");
    let domain = format!("@{0}.{0}.{1}", "y".repeat(63), "z".repeat(61));
    let log = directory.path().join("waitlist/db");
    for call in 0..20 {
        let person = |number| WaitlistEntry {
            source: Some("x".repeat(64).parse().expect("a source")),
            asked_at: Some(UNIX_EPOCH),
            confirmed_at: Some(UNIX_EPOCH),
            ..entry(&format!("{number:064}{domain}"), 1)
        };
        let people = (0..CALL_MAX).map(|it| person(call * CALL_MAX + it));
        let before = fs::metadata(&log).expect("a log").len();
        list.join_all(people.collect()).await.expect("joined");
        let segments = (fs::metadata(&log).expect("a log").len() - before) >> 19;
        assert!(segments <= 1, "{segments} segments");
    }
    let blobs = fs::read_dir(directory.path().join("waitlist/blobs"));
    assert_eq!(blobs.expect("readable").count(), 0);
}
