//! Reading the list: its order, selections and snapshots. Every store passes these tests.

use std::sync::Arc;

use landing::waitlist::{AddressFilter, EmailDomain, Selection, Waitlist, WaitlistEntry};
use tokio::task::JoinSet;

use super::{StoreFixture, addresses, email, entries, entry, join, read_on_thread, selected};

conformance_tests! {
    entries_are_ordered_by_sign_up_time,
    entries_can_be_filtered_by_time_and_reversed,
    snapshot_count_matches_its_entries,
    entries_can_be_selected_by_address_and_domain,
    entries_are_a_snapshot,
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
