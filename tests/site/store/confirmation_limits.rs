//! The limits of asking people to confirm their address, over every store: tries, messages, the budget of a day, and the
//! time to confirm.

use std::time::{Duration, SystemTime};

use landing::{
    mail::confirmation_code,
    waitlist::{
        Delivery, DeliveryResult, DeliveryState, DeliveryStatus, Erasure, Fact, MessageId,
        SuppressionItem, WaitlistEntry,
    },
};

use super::{
    StoreFixture,
    confirmation::{
        DAY, add_message, all_recipients, code, confirm, is_confirmed, join_asked, open, site,
        two_more_join, until, wait_for,
    },
    email, entries,
};
use crate::mail::smtp_server::SmtpServer;

conformance_tests! {
    wrong_codes_are_limited,
    code_confirms_nobody_who_was_not_asked,
    joining_again_sends_another_code_after_an_hour,
    nobody_gets_more_than_three_messages_a_day_or_five_in_all,
    people_who_leave_and_join_again_are_asked_again,
    imported_people_are_not_asked,
    daily_budget_is_kept,
    budget_survives_a_clock_that_is_set_back,
    people_who_do_not_confirm_are_erased,
    people_who_have_left_get_no_message,
}

async fn wrong_codes_are_limited(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    let code = code(&wait_for(&server, 1).await);
    let wrong = if code == "123456" { "123457" } else { "123456" };
    let several = format!("{code} or {wrong}");
    for malformed in [
        "",
        "12345",
        "1234567",
        "abcdef",
        "１２３４５",
        "12345\u{661}",
        "30 358 208",
        &several,
    ] {
        // A malformed code does not count as a try.
        assert_eq!(confirm(&site, "ann@example.com", malformed).await, 400);
    }
    assert_eq!(confirm(&site, "eve@example.com", &code).await, 400);
    for _ in 0..5 {
        assert_eq!(confirm(&site, "ann@example.com", wrong).await, 400);
    }
    // The right one too, however often.
    for code in [wrong, &code].into_iter().cycle().take(300) {
        assert_eq!(confirm(&site, "ann@example.com", code).await, 423);
    }
    // Nobody learns by it who is on the list: a sign-up says more.
    for _ in 0..10 {
        assert_eq!(confirm(&site, "eve@example.com", wrong).await, 400);
    }
    assert!(!is_confirmed(&*list, "ann@example.com"));
}

async fn code_confirms_nobody_who_was_not_asked(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let imported = WaitlistEntry::new(email("ann@example.com"), SystemTime::now());
    list.join(imported).await.expect("a response");
    let site = site(&list, &server, &[]).await;
    // The start creates the key.
    site.join("bob@example.com").await;
    wait_for(&server, 1).await;
    let key = list.keys().await.expect("keys")[0];
    let code = confirmation_code(&key, &email("ann@example.com"), 1);
    assert_eq!(confirm(&site, "ann@example.com", &code).await, 400);
    assert!(!is_confirmed(&*list, "ann@example.com"));
}

async fn joining_again_sends_another_code_after_an_hour(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    for typed in ["ann@example.com", "bob@example.com", "cyd@example.com"] {
        join_asked(&*list, typed, DAY).await;
    }
    let confirmed = (
        email("cyd@example.com"),
        Fact::ConfirmedAt(SystemTime::now()),
    );
    list.add_facts(vec![confirmed]).await.expect("a response");
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let sent = [
        ("ann@example.com", minutes(61)),
        ("bob@example.com", minutes(59)),
        ("cyd@example.com", minutes(61)),
    ];
    add_message(&*list, 1, &sent).await;
    let site = site(&list, &server, &[]).await;
    // The start reads the list first.
    site.join("dan@example.com").await;
    wait_for(&server, 1).await;
    for typed in ["ann@example.com", "bob@example.com", "cyd@example.com"] {
        assert_eq!(site.join(typed).await.status(), 409);
    }
    let message = wait_for(&server, 2).await;
    assert_eq!(message.recipient, "ann@example.com");
    let recipients = all_recipients(&site, &server).await;
    assert_eq!(recipients, ["ann@example.com", "dan@example.com"]);
    assert_eq!(
        confirm(&site, "ann@example.com", &code(&message)).await,
        200
    );
}

async fn nobody_gets_more_than_three_messages_a_day_or_five_in_all(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
    // Ann has had three today, Bob three with the last one yesterday, and Cyd five.
    let people = ["ann@example.com", "bob@example.com", "cyd@example.com"];
    for typed in people {
        join_asked(&*list, typed, DAY * 3).await;
    }
    for (number, ages) in [(1, [23, 72, 72]), (2, [10, 71, 71]), (3, [5, 25, 70])] {
        let sent: Vec<_> = people.into_iter().zip(ages.map(hours)).collect();
        add_message(&*list, number, &sent).await;
    }
    add_message(&*list, 4, &[("cyd@example.com", hours(40))]).await;
    add_message(&*list, 5, &[("cyd@example.com", hours(30))]).await;
    let site = site(&list, &server, &[]).await;
    for typed in people {
        assert_eq!(site.join(typed).await.status(), 409);
    }
    let message = wait_for(&server, 1).await;
    assert_eq!(message.recipient, "bob@example.com");
    // Leaving and joining again resets nothing.
    list.erase(&[email("cyd@example.com")], Erasure::Complete)
        .await
        .expect("a response");
    assert_eq!(site.join("cyd@example.com").await.status(), 201);
    assert_eq!(all_recipients(&site, &server).await, ["bob@example.com"]);
}

/// Ann joins again before another message is allowed. An hour after the last one, she gets it all the same.
async fn people_who_leave_and_join_again_are_asked_again(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    for (typed, joined) in [("ann@example.com", 30), ("bob@example.com", 90)] {
        join_asked(&*list, typed, minutes(joined)).await;
    }
    let sent = [
        ("ann@example.com", minutes(61)),
        ("bob@example.com", minutes(61)),
    ];
    add_message(&*list, 1, &sent).await;
    let site = site(&list, &server, &["--confirm-days=1"]).await;
    let message = wait_for(&server, 1).await;
    assert_eq!(message.recipient, "ann@example.com");
    // The task has erased those whose time is up before it sends messages.
    assert_eq!(list.count(), 2);
    assert_eq!(
        confirm(&site, "ann@example.com", &code(&message)).await,
        200
    );
    assert_eq!(all_recipients(&site, &server).await, ["ann@example.com"]);
}

async fn imported_people_are_not_asked(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let entry = WaitlistEntry::new(email("ann@example.com"), SystemTime::now());
    list.join_all(vec![entry]).await.expect("a response");
    let site = site(&list, &server, &["--confirm-days=1"]).await;
    site.join("bob@example.com").await;
    assert_eq!(site.join("ann@example.com").await.status(), 409);
    wait_for(&server, 1).await;
    assert_eq!(list.count(), 2);
    assert_eq!(all_recipients(&site, &server).await, ["bob@example.com"]);
}

async fn daily_budget_is_kept(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    for typed in ["old@example.com", "today@example.com"] {
        join_asked(&*list, typed, DAY * 2).await;
    }
    let sent = [
        ("old@example.com", DAY + Duration::from_secs(60)),
        ("today@example.com", DAY - Duration::from_secs(60)),
    ];
    add_message(&*list, 1, &sent).await;
    let site = site(&list, &server, &["--confirm-per-day=3"]).await;
    for number in 0..5 {
        let joined = site.join(&format!("{number}@example.com")).await;
        assert_eq!(joined.status(), 201);
    }
    wait_for(&server, 2).await;
    two_more_join(&site, &*list).await;
    assert_eq!(server.recipients(), ["0@example.com", "1@example.com"]);
    let deliveries = list.deliveries(&MessageId::confirmation(1)).await;
    let deliveries = deliveries.expect("deliveries");
    let waiting = deliveries
        .iter()
        .filter(|it| it.status.state == DeliveryState::Waiting);
    assert_eq!(waiting.count(), 5);
}

async fn budget_survives_a_clock_that_is_set_back(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    join_asked(&*list, "ann@example.com", DAY).await;
    add_message(&*list, 1, &[("ann@example.com", Duration::ZERO)]).await;
    let id = MessageId::confirmation(1);
    let two_hours_ahead = DeliveryStatus {
        since: Some(SystemTime::now() + Duration::from_secs(2 * 60 * 60)),
        ..DeliveryStatus::new(DeliveryState::Accepted)
    };
    let finished = list
        .finish_deliveries(
            &id,
            vec![DeliveryResult {
                number: 0,
                attempt: 0,
                status: two_hours_ahead,
            }],
        )
        .await;
    assert_eq!(finished, Ok(()));
    let site = site(&list, &server, &["--confirm-per-day=2"]).await;
    site.join("bob@example.com").await;
    wait_for(&server, 1).await;
    two_more_join(&site, &*list).await;
    assert_eq!(server.recipients(), ["bob@example.com"]);
}

async fn people_who_do_not_confirm_are_erased(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let people = ["late@example.com", "soon@example.com", "yes@example.com"];
    for typed in people {
        join_asked(&*list, typed, DAY * 40).await;
    }
    // The second one was asked before the owner erased and imported the address.
    let imported = ["old@example.com", "owner@example.com"];
    let imported =
        imported.map(|typed| WaitlistEntry::new(email(typed), SystemTime::now() - DAY * 90));
    list.join_all(imported.to_vec()).await.expect("a response");
    let confirmed = (
        email("yes@example.com"),
        Fact::ConfirmedAt(SystemTime::now()),
    );
    list.add_facts(vec![confirmed]).await.expect("a response");
    let sent = [
        ("late@example.com", DAY * 31),
        ("owner@example.com", DAY * 31),
        ("soon@example.com", DAY * 29),
        ("yes@example.com", DAY * 31),
    ];
    add_message(&*list, 1, &sent).await;
    let site = site(&list, &server, &["--confirm-days=30"]).await;
    until(|| list.count() < 5).await;
    // The person may join again, and is asked again, once the task has erased everybody whose time is up.
    assert_eq!(site.join("late@example.com").await.status(), 201);
    let message = wait_for(&server, 1).await;
    assert_eq!(message.recipient, "late@example.com");
    let mut listed: Vec<_> = entries(&*list)
        .into_iter()
        .map(|it| it.email.key())
        .collect();
    listed.sort();
    assert_eq!(
        listed,
        [
            "late@example.com",
            "old@example.com",
            "owner@example.com",
            "soon@example.com",
            "yes@example.com"
        ]
    );
    assert_eq!(
        confirm(&site, "late@example.com", &code(&message)).await,
        200
    );
}

async fn people_who_have_left_get_no_message(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    for typed in ["ann@example.com", "bob@example.com"] {
        join_asked(&*list, typed, DAY).await;
    }
    add_message(&*list, 1, &[]).await;
    let key = list.keys().await.expect("keys")[0];
    let hash = |typed| key.hash(email(typed).key());
    let deliveries = ["ann@example.com", "bob@example.com"].map(|it| Delivery::waiting(hash(it)));
    let id = MessageId::confirmation(1);
    let added = list.add_deliveries(&id, 0, deliveries.to_vec()).await;
    assert_eq!(added, Ok(true));
    // Ann has left, and Bob is listed and suppressed, as in the middle of an import.
    list.erase(&[email("ann@example.com")], Erasure::Complete)
        .await
        .expect("a response");
    let suppressed = vec![SuppressionItem::Address(hash("bob@example.com"))];
    list.add_suppressions(suppressed).await.expect("a response");
    let site = site(&list, &server, &[]).await;
    site.join("cyd@example.com").await;
    assert_eq!(all_recipients(&site, &server).await, ["cyd@example.com"]);
}
