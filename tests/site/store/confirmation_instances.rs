//! Several servers that ask the people on one list to confirm their addresses, over every store. Only a database has several
//! instances. Of the other stores, all sites have the same list.

use std::time::{Duration, SystemTime};

use landing::waitlist::{DeliveryState, DeliveryStatus, MessageId};

use super::{
    StoreFixture,
    confirmation_fixtures::{
        WELCOME, add_attempts, add_deliveries, all_recipients, begin_welcome, code, confirm,
        delivery_start, is_confirmed, join_asked, join_confirmed, join_from, site, slow_server,
        sweeping_site, wait_for, wait_for_state, wait_for_state_of, wait_until_held,
    },
};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

conformance_tests! {
    instances_ask_nobody_twice_and_accept_each_others_codes,
    message_under_way_is_not_sent_by_another_instance,
    person_whom_another_instance_gives_back_is_asked,
    attempts_of_another_instance_count_after_a_sweep,
    instances_welcome_nobody_twice,
    person_whom_a_killed_instance_had_queued_is_asked_after_joining_again,
    instance_adds_its_messages_between_those_of_another_one,
}

async fn person_whom_a_killed_instance_had_queued_is_asked_after_joining_again(
    fixture: impl StoreFixture,
) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    site.join("first@example.com").await;
    wait_for(&server, 1).await;
    join_asked(&*list, "ann@example.com", Duration::from_secs(1)).await;
    for _ in 0..3 {
        assert_eq!(site.join("ann@example.com").await.status(), 409);
        assert_eq!(wait_for(&server, 2).await.recipient, "ann@example.com");
    }
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["ann@example.com", "first@example.com"]);
}

/// The other one adds messages to other people all the time, and this one adds its own at a number that it knows.
async fn instance_adds_its_messages_between_those_of_another_one(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let first = site(&list, &server, &[]).await;
    first.join("first@example.com").await;
    wait_for(&server, 1).await;
    for number in 0..3 {
        // The site knows one delivery less each time.
        let other = format!("other-{number}@example.com");
        join_asked(&*list, &other, Duration::from_secs(1)).await;
        let sent = (&*other, DeliveryState::Accepted, Some(SystemTime::now()));
        add_deliveries(&*list, &[sent]).await;
        first.join(&format!("{number}@example.com")).await;
        wait_for(&server, number + 2).await;
    }
    let recipients = all_recipients(&first, &*list, &server).await;
    let expected = [
        "0@example.com",
        "1@example.com",
        "2@example.com",
        "first@example.com",
    ];
    assert_eq!(recipients, expected);
}

/// The mail server is so slow that another instance starts, and looks for people to ask, before it replies.
async fn message_under_way_is_not_sent_by_another_instance(fixture: impl StoreFixture) {
    let (server, has_it, go_on) = slow_server("ann@example.com");
    let first_list = fixture.open();
    let first = site(&first_list, &server, &[]).await;
    first.join("ann@example.com").await;
    wait_until_held(has_it).await;
    // A message without a result is tried again after ten seconds, and this one is due two seconds later.
    let deferred_at = SystemTime::now() - Duration::from_secs(48);
    join_asked(&*first_list, "bob@example.com", Duration::from_secs(50)).await;
    let bob = (
        "bob@example.com",
        DeliveryState::Deferred,
        Some(deferred_at),
    );
    add_deliveries(&*first_list, &[bob]).await;
    let second_list = fixture.open_again(&first_list);
    let second = site(&second_list, &server, &[]).await;
    wait_for_state(&*second_list, "bob@example.com", DeliveryState::Accepted).await;
    go_on.send(()).expect("the server waits");
    wait_for_state(&*first_list, "ann@example.com", DeliveryState::Accepted).await;
    for site in [&first, &second] {
        let recipients = all_recipients(site, &*first_list, &server).await;
        assert_eq!(recipients, ["ann@example.com", "bob@example.com"]);
    }
}

/// Another instance has begun the message, and is stopped before it is sent.
async fn person_whom_another_instance_gives_back_is_asked(fixture: impl StoreFixture) {
    let (server, has_it, go_on) = slow_server("first@example.com");
    let list = fixture.open();
    let site = site(&list, &server, &[]).await;
    join_from(&site, 1, "first@example.com").await;
    wait_until_held(has_it).await;
    join_from(&site, 2, "bob@example.com").await;
    // The newest sign-up, so she is next.
    join_from(&site, 3, "ann@example.com").await;
    add_deliveries(&*list, &[("ann@example.com", DeliveryState::Waiting, None)]).await;
    let id = MessageId::confirmation();
    let start = delivery_start(&*list, 1).await;
    assert_eq!(
        list.begin_deliveries(&id, vec![start]).await,
        Ok(vec![true])
    );
    go_on.send(()).expect("the server waits");
    wait_for_state(&*list, "bob@example.com", DeliveryState::Accepted).await;
    assert_eq!(
        server.recipients(),
        ["bob@example.com", "first@example.com"]
    );
    let status = DeliveryStatus {
        since: Some(SystemTime::now()),
        ..DeliveryStatus::new(DeliveryState::Skipped)
    };
    let given_back = vec![start.result(status)];
    let finished = list.finish_deliveries(&id, given_back).await;
    assert_eq!(finished, Ok(()));
    wait_for_state(&*list, "ann@example.com", DeliveryState::Accepted).await;
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients.len(), 3, "{recipients:?}");
}

/// The mail server defers five messages to a mailbox, and another instance gets them through.
async fn attempts_of_another_instance_count_after_a_sweep(fixture: impl StoreFixture) {
    let list = fixture.open();
    let server = SmtpServer::scripted(|step, line| match step {
        Step::Recipient if line.contains('+') => Action::Reply("450 4.2.1 greylisted"),
        _ => Action::Continue,
    });
    let site = sweeping_site(&list, &server, &[]).await;
    for client in 1..6 {
        let typed = format!("ann+{client}@example.com");
        join_from(&site, client, &typed).await;
        wait_for_state(&*list, &typed, DeliveryState::Deferred).await;
    }
    let accepted = DeliveryStatus {
        since: Some(SystemTime::now()),
        ..DeliveryStatus::new(DeliveryState::Accepted)
    };
    for number in 0..5 {
        add_attempts(&*list, number, 1, &accepted).await;
    }
    // Only a sweep finds him.
    join_asked(&*list, "bob@example.com", Duration::ZERO).await;
    wait_for_state(&*list, "bob@example.com", DeliveryState::Accepted).await;
    join_from(&site, 6, "ann@example.com").await;
    wait_for_state(&*list, "ann@example.com", DeliveryState::Refused).await;
}

async fn instances_ask_nobody_twice_and_accept_each_others_codes(fixture: impl StoreFixture) {
    let server = SmtpServer::start();
    let first_list = fixture.open();
    let second_list = fixture.open_again(&first_list);
    let sites = [
        site(&first_list, &server, &[]).await,
        site(&second_list, &server, &[]).await,
    ];
    for number in 0..20 {
        let email = format!("{number}@example.com");
        assert_eq!(sites[number % 2].join(&email).await.status(), 201);
        // The same person, at the other instance.
        assert_eq!(sites[(number + 1) % 2].join(&email).await.status(), 409);
    }
    wait_for(&server, 20).await;
    let received = server.received();
    let emails = (0..20).map(|number| format!("{number}@example.com"));
    let mut expected: Vec<_> = emails.collect();
    expected.sort();
    for site in &sites {
        let recipients = all_recipients(site, &*first_list, &server).await;
        assert_eq!(recipients, expected);
    }
    for message in received {
        let number: usize = message
            .recipient
            .split('@')
            .next()
            .expect("a name")
            .parse()
            .expect("a number");
        let other = &sites[(number + 1) % 2];
        assert_eq!(
            confirm(other, &message.recipient, &code(&message)).await,
            200
        );
        assert!(is_confirmed(&*first_list, &message.recipient));
    }
    // The limit holds at the other instance too.
    let sent = server.received().len();
    assert_eq!(sites[0].join("eve@example.com").await.status(), 201);
    let code = code(&wait_for(&server, sent + 1).await);
    let wrong = if code == "123456" { "123457" } else { "123456" };
    for status in [400, 400, 400, 400, 423] {
        assert_eq!(confirm(&sites[1], "eve@example.com", wrong).await, status);
    }
    assert_eq!(confirm(&sites[1], "eve@example.com", &code).await, 423);
}

/// Both find the same people, at the start and every second. Others confirm meanwhile.
async fn instances_welcome_nobody_twice(fixture: impl StoreFixture) {
    let server = SmtpServer::start();
    let first_list = fixture.open();
    let second_list = fixture.open_again(&first_list);
    begin_welcome(&*first_list).await;
    let typed = |number: usize| format!("{number:02}@example.com");
    for number in 0..20 {
        join_confirmed(&*first_list, &typed(number), Duration::from_secs(60)).await;
    }
    let sites = [
        sweeping_site(&first_list, &server, &[WELCOME]).await,
        sweeping_site(&second_list, &server, &[WELCOME]).await,
    ];
    for number in 20..24 {
        join_asked(&*first_list, &typed(number), Duration::ZERO).await;
        wait_for_state(&*first_list, &typed(number), DeliveryState::Accepted).await;
        let received = server.received();
        let message = received.iter().find(|it| it.recipient == typed(number));
        let code = code(message.expect("a message"));
        assert_eq!(
            confirm(&sites[number % 2], &typed(number), &code).await,
            200
        );
    }
    let mut expected: Vec<_> = (0..24).chain(20..24).map(typed).collect();
    expected.sort();
    let (id, accepted) = (MessageId::welcome(), DeliveryState::Accepted);
    for number in 0..24 {
        wait_for_state_of(&*first_list, &id, &typed(number), accepted).await;
    }
    for site in &sites {
        let recipients = all_recipients(site, &*first_list, &server).await;
        assert_eq!(recipients, expected);
    }
}
