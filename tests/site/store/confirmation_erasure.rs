//! People who do not confirm their address are erased, and only those who had a fair chance, over every store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use landing::waitlist::{
    Delivery, DeliveryState, DeliveryStatus, Fact, Message, MessageId, Waitlist, WaitlistEntry,
};

use super::{
    StoreFixture, add_fact,
    confirmation_fixtures::{
        DAY, add_accepted, add_deliveries, all_recipients, code, confirm, join_asked, join_from,
        site, wait_for_state, wait_until_asked,
    },
    email, entries,
    many_items::ManyItems,
};
use crate::mail::smtp_server::SmtpServer;

conformance_tests! {
    people_who_do_not_confirm_are_erased,
    days_on_which_nobody_was_asked_do_not_count,
    start_with_a_clock_that_is_ahead_erases_nobody,
    each_day_is_noted_once,
    people_who_were_not_asked_successfully_are_not_erased,
    nobody_who_joins_again_is_erased,
    nobody_who_joined_again_elsewhere_is_erased,
}

/// Notes the days on which the site has asked people, by their age.
async fn note_days(list: &dyn Waitlist, ages: impl Iterator<Item = Duration>) {
    let key = list.list_key().await.expect("a key");
    let (id, now) = (MessageId::confirmation_days(), SystemTime::now());
    let message = Message::new(id.clone(), now, "");
    list.add_message(message).await.expect("a message");
    let days = ages.map(|age| Delivery {
        status: DeliveryStatus {
            since: Some(now - age),
            ..DeliveryStatus::new(DeliveryState::Accepted)
        },
        ..Delivery::waiting(key.hash(format!("day\n{}", age.as_secs())))
    });
    let added = list.add_deliveries(&id, 0, days.collect()).await;
    assert_eq!(added, Ok(true));
}

/// The site was asking on each of the last days.
async fn note_last_days(list: &dyn Waitlist, days: u32) {
    note_days(list, (0..days).map(|day| DAY * day + DAY / 2)).await;
}

/// Returns the addresses on the list, in alphabetical order, once a site has looked at everybody: it erases people before it
/// asks somebody.
async fn listed_after_a_start(list: &Arc<dyn Waitlist>, days: u32) -> Vec<String> {
    let server = SmtpServer::start();
    let site = site(list, &server, &[&format!("--confirm-days={days}")]).await;
    static STARTS: AtomicU64 = AtomicU64::new(0);
    let last = format!(
        "last-{}@example.com",
        STARTS.fetch_add(1, Ordering::Relaxed)
    );
    join_from(&site, 200, &last).await;
    wait_for_state(&**list, &last, DeliveryState::Accepted).await;
    let mut listed: Vec<_> = entries(&**list).iter().map(|it| it.email.key()).collect();
    listed.retain(|it| !it.starts_with("last-"));
    listed.sort();
    listed
}

async fn people_who_do_not_confirm_are_erased(fixture: impl StoreFixture) {
    let list = fixture.open();
    let people = ["late@example.com", "soon@example.com", "yes@example.com"];
    for typed in people {
        join_asked(&*list, typed, DAY * 40).await;
    }
    // The second one was asked before the owner erased and imported the address.
    let imported = ["old@example.com", "owner@example.com"];
    let imported =
        imported.map(|typed| WaitlistEntry::new(email(typed), SystemTime::now() - DAY * 90));
    list.join_all(imported.to_vec()).await.expect("a response");
    let confirmed = Fact::ConfirmedAt(SystemTime::now());
    let confirmed = add_fact(&*list, "yes@example.com", confirmed).await;
    assert_eq!(confirmed, Ok(true));
    let sent = [
        ("late@example.com", DAY * 32),
        ("owner@example.com", DAY * 32),
        ("soon@example.com", DAY * 29),
        ("yes@example.com", DAY * 32),
    ];
    add_accepted(&*list, &sent).await;
    note_last_days(&*list, 60).await;
    let listed = listed_after_a_start(&list, 30).await;
    let expected = ["old@", "owner@", "soon@", "yes@"].map(|it| format!("{it}example.com"));
    assert_eq!(listed, expected);
    // The person may join again, and is asked again.
    let server = SmtpServer::start();
    let site = site(&list, &server, &["--confirm-days=30"]).await;
    assert_eq!(site.join("late@example.com").await.status(), 201);
    wait_until_asked(&*list).await;
    let received = server.received();
    let message = received
        .iter()
        .find(|it| it.recipient == "late@example.com");
    let code = code(message.expect("a message"));
    assert_eq!(confirm(&site, "late@example.com", &code).await, 200);
}

/// Confirmations were switched off for most of the time: the codes and links did not work then.
async fn days_on_which_nobody_was_asked_do_not_count(fixture: impl StoreFixture) {
    let list = fixture.open();
    join_asked(&*list, "ann@example.com", DAY * 100).await;
    add_accepted(&*list, &[("ann@example.com", DAY * 99)]).await;
    let days = (0..5).chain(90..120).map(|day| DAY * day + DAY / 2);
    note_days(&*list, days).await;
    // 5 of the last days and 9 after the message.
    assert_eq!(listed_after_a_start(&list, 30).await, ["ann@example.com"]);
    assert_eq!(listed_after_a_start(&list, 10).await, [""; 0]);
}

/// To a clock that is a year ahead, everything is a year old.
async fn start_with_a_clock_that_is_ahead_erases_nobody(fixture: impl StoreFixture) {
    let list = fixture.open();
    for typed in ["ann@example.com", "bob@example.com"] {
        join_asked(&*list, typed, DAY * 365).await;
    }
    let future = Some(SystemTime::now() + DAY * 365);
    add_deliveries(
        &*list,
        &[("bob@example.com", DeliveryState::Accepted, future)],
    )
    .await;
    add_accepted(&*list, &[("ann@example.com", DAY * 365)]).await;
    let ages = (0..20).map(|day| DAY * 365 + DAY * day).rev();
    note_days(&*list, ages).await;
    let listed = listed_after_a_start(&list, 30).await;
    assert_eq!(listed, ["ann@example.com", "bob@example.com"]);
}

async fn each_day_is_noted_once(fixture: impl StoreFixture) {
    let list = fixture.open();
    note_days(&*list, [DAY, DAY * 2].into_iter()).await;
    for _ in 0..2 {
        listed_after_a_start(&list, 30).await;
        let days = list.deliveries(&MessageId::confirmation_days(), 0).await;
        assert_eq!(days.expect("days").len(), 3);
    }
}

/// The mail server has deferred one message and refused another one, and nobody knows whether the third was sent. They were
/// tried often enough.
async fn people_who_were_not_asked_successfully_are_not_erased(fixture: impl StoreFixture) {
    let list = fixture.open();
    let people = [
        "deferred@example.com",
        "refused@example.com",
        "returned@example.com",
    ];
    for typed in people {
        join_asked(&*list, typed, DAY * 40).await;
    }
    let since = Some(SystemTime::now() - DAY * 35);
    // The last one has left and joined again since the message.
    let before = Some(SystemTime::now() - DAY * 50);
    let ledger = [
        ("refused@example.com", DeliveryState::Refused, since),
        ("deferred@example.com", DeliveryState::Skipped, since),
        ("returned@example.com", DeliveryState::Accepted, before),
    ];
    add_deliveries(&*list, &ledger).await;
    note_last_days(&*list, 60).await;
    assert_eq!(listed_after_a_start(&list, 30).await, people);
}

async fn nobody_who_joins_again_is_erased(fixture: impl StoreFixture) {
    const PEOPLE: usize = 1500;
    let (list, server) = (fixture.open(), SmtpServer::start());
    let joined_at = SystemTime::now() - DAY * 40;
    let typed: Vec<_> = (0..PEOPLE).map(|it| format!("{it}@example.com")).collect();
    let people = typed.iter().map(|it| WaitlistEntry {
        asked_at: Some(joined_at),
        ..WaitlistEntry::new(email(it), joined_at)
    });
    list.join_many(people.collect()).await.expect("a response");
    let asked: Vec<_> = typed.iter().map(|it| (it.as_str(), DAY * 32)).collect();
    add_accepted(&*list, &asked).await;
    note_last_days(&*list, 60).await;
    let site = site(&list, &server, &["--confirm-days=30"]).await;
    // While the task erases them.
    let mut told_that_they_are_listed = Vec::new();
    for typed in typed.iter().rev().step_by(PEOPLE / 150) {
        if site.join(typed).await.status() == 409 {
            told_that_they_are_listed.push(email(typed));
        }
    }
    let rejoined = PEOPLE.div_ceil(PEOPLE / 150) as u64;
    // The task asks people when it has erased everybody whose time is up.
    join_from(&site, 1, "last@example.com").await;
    wait_for_state(&*list, "last@example.com", DeliveryState::Accepted).await;
    let found = list.find_many(&told_that_they_are_listed).await;
    assert!(found.expect("a response").iter().all(Option::is_some));
    assert_eq!(list.count(), rejoined + 1);
}

/// Every store but a database has one instance, which restarts.
async fn nobody_who_joined_again_elsewhere_is_erased(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let people = ["ann@example.com", "bob@example.com"];
    for typed in people {
        join_asked(&*list, typed, DAY * 40).await;
        add_accepted(&*list, &[(typed, DAY * 32)]).await;
    }
    note_last_days(&*list, 60).await;
    let patient = site(&list, &server, &["--confirm-days=365"]).await;
    assert_eq!(patient.join("ann@example.com").await.status(), 409);
    assert_eq!(
        all_recipients(&patient, &*list, &server).await,
        ["ann@example.com"]
    );
    let other_list = fixture.open_again(&list);
    let listed = listed_after_a_start(&other_list, 30).await;
    assert!(listed.contains(&"ann@example.com".to_owned()), "{listed:?}");
    assert!(
        !listed.contains(&"bob@example.com".to_owned()),
        "{listed:?}"
    );
}
