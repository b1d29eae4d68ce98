//! Confirming addresses when something goes wrong, over every store: mail servers that refuse, cut and quote, crashes,
//! wrong clocks, and lists that were imported.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::join_all;

use landing::{
    mail::{PersonTokens, TokenPurpose},
    waitlist::{
        Delivery, DeliveryState, DeliveryStatus, Erasure, ListKey, MessageId, SuppressionItem,
        Waitlist, WaitlistEntry,
    },
};
use tokio::time::sleep;

use super::{
    StoreFixture,
    confirmation::{
        DAY, add_message, all_recipients, is_confirmed, join_asked, link, open, site,
        two_more_join, wait_for, wait_for_delivery,
    },
    email,
};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

conformance_tests! {
    refusals_in_a_row_are_no_mistyped_addresses,
    server_that_defers_one_person_keeps_nobody_waiting,
    addresses_that_do_not_exist_keep_nobody_waiting,
    server_that_cuts_after_messages_gets_few,
    server_that_closes_connections_gets_few,
    replies_that_quote_the_message_are_hidden,
    reply_that_quotes_the_lines_shows_no_part_of_the_link,
    interrupted_message_gets_a_time,
    times_in_the_future_stop_nothing,
    links_of_an_imported_list_work_at_once,
    person_who_was_imported_again_gets_no_message,
    nobody_who_joins_again_is_erased,
    nobody_who_joined_again_elsewhere_is_erased,
    many_confirm_at_the_same_time,
    person_who_has_left_and_returned_can_confirm_again,
}

async fn refusals_in_a_row_are_no_mistyped_addresses(fixture: impl StoreFixture) {
    let list = open(&fixture);
    let server = SmtpServer::scripted(|step, _| match step {
        Step::Recipient => Action::Reply("550 relay access denied"),
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for number in 0..8 {
        site.join(&format!("{number}@example.com")).await;
    }
    // The others get the message when the owner has fixed the cause. After the first of them, there is a pause of a second.
    for [refused, deferred, waiting] in [[5, 1, 2], [5, 3, 0]] {
        let mut expected = [DeliveryState::Refused].repeat(refused);
        expected.extend([DeliveryState::Deferred].repeat(deferred));
        expected.extend([DeliveryState::Waiting].repeat(waiting));
        wait_for_states(&*list, &expected).await;
    }
}

async fn server_that_defers_one_person_keeps_nobody_waiting(fixture: impl StoreFixture) {
    let list = open(&fixture);
    let server = SmtpServer::scripted(|step, line| match step {
        // Greylisting has the codes of an objection to the sender.
        Step::Recipient if line.contains("ann@") => Action::Reply("451 4.7.1 greylisted"),
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for typed in ["ann@example.com", "bob@example.com"] {
        site.join(typed).await;
    }
    assert_eq!(all_recipients(&site, &server).await, ["bob@example.com"]);
    // The next attempt is a minute later.
    let deliveries = list.deliveries(&MessageId::confirmation(1)).await;
    let deliveries = deliveries.expect("deliveries");
    let attempt = (deliveries[0].status.state, deliveries[0].attempts);
    assert_eq!(attempt, (DeliveryState::Deferred, 1));
}

async fn addresses_that_do_not_exist_keep_nobody_waiting(fixture: impl StoreFixture) {
    let list = open(&fixture);
    let server = SmtpServer::scripted(|step, line| match step {
        Step::Recipient if line.contains("good@") => Action::Continue,
        // As Postfix does for `-ann@example.com` and `ann@localhost`.
        Step::Recipient if line.contains("1@") => Action::Reply("501 5.1.3 bad address syntax"),
        Step::Recipient if line.contains("2@") => Action::Reply("504 5.5.2 need a full address"),
        Step::Recipient => Action::Reply("550 5.1.1 no such mailbox"),
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for number in 0..20 {
        site.join(&format!("{number}@example.com")).await;
    }
    site.join("good@example.com").await;
    wait_for(&server, 1).await;
    let refused = states(&*list).await;
    let refused = refused.iter().filter(|it| **it == DeliveryState::Refused);
    assert_eq!(refused.count(), 20);
}

async fn server_that_cuts_after_messages_gets_few(fixture: impl StoreFixture) {
    assert_one_attempt(fixture, Step::End, Action::Cut, DeliveryState::Unknown).await;
}

async fn server_that_closes_connections_gets_few(fixture: impl StoreFixture) {
    let action = Action::Reply("421 4.3.2 too many connections");
    assert_one_attempt(fixture, Step::Mail, action, DeliveryState::Deferred).await;
}

/// Checks that after a fault of the server that is about no recipient, the others wait.
async fn assert_one_attempt(
    fixture: impl StoreFixture,
    at: Step,
    action: Action,
    expected: DeliveryState,
) {
    let list = open(&fixture);
    let server = SmtpServer::scripted(move |step, _| match step == at {
        true => action.clone(),
        false => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for number in 0..10 {
        site.join(&format!("{number}@example.com")).await;
    }
    let mut all = vec![expected];
    all.resize(10, DeliveryState::Waiting);
    wait_for_states(&*list, &all).await;
    // The pause is five seconds.
    two_more_join(&site, &*list).await;
    all.resize(12, DeliveryState::Waiting);
    assert_eq!(states(&*list).await, all);
    assert!(server.connection_count() <= 2);
}

async fn replies_that_quote_the_message_are_hidden(fixture: impl StoreFixture) {
    let list = open(&fixture);
    let reply = reply_to_a_message(&list, Action::Quote("554 5.7.1 blocked:")).await;
    assert_eq!(reply.matches("<hidden>").count(), 2, "{reply}");
    assert!(!reply.contains("/confirm/"), "{reply}");
}

async fn reply_that_quotes_the_lines_shows_no_part_of_the_link(fixture: impl StoreFixture) {
    let list = open(&fixture);
    let reply = reply_to_a_message(&list, Action::QuoteLines("554 5.7.1 blocked:")).await;
    assert!(reply.contains("<hidden>"), "{reply}");
    let keys = list.keys().await.expect("keys");
    let tokens = PersonTokens::new(&keys, TokenPurpose::Confirm);
    let token = tokens.token(&email("ann@example.com")).expect("a token");
    for part in token.as_bytes().windows(8) {
        let part = str::from_utf8(part).expect("ASCII");
        assert!(!reply.contains(part), "{part} is in {reply}");
    }
}

/// Asks ann@example.com to confirm, and returns what the ledger keeps of the mail server's reply to the message.
async fn reply_to_a_message(list: &Arc<dyn Waitlist>, action: Action) -> String {
    let server = SmtpServer::scripted(move |step, _| match step {
        Step::End => action.clone(),
        _ => Action::Continue,
    });
    let site = site(list, &server, &[]).await;
    site.join("ann@example.com").await;
    for _ in 0..400 {
        let deliveries = list.deliveries(&MessageId::confirmation(1)).await;
        let first = deliveries.expect("deliveries").into_iter().next();
        if let Some(reply) = first.and_then(|it| it.status.reply) {
            return reply.text().to_owned();
        }
        sleep(Duration::from_millis(25)).await;
    }
    panic!("no reply");
}

async fn interrupted_message_gets_a_time(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    join_asked(&*list, "ann@example.com", DAY * 40).await;
    // A delivery that has begun, and whose process has ended.
    add_deliveries(&*list, &[("ann@example.com", DeliveryState::Unknown, None)]).await;
    let site = site(&list, &server, &["--confirm-days=30"]).await;
    let id = MessageId::confirmation(1);
    let mut since = None;
    for _ in 0..400 {
        since = list.deliveries(&id).await.expect("deliveries")[0]
            .status
            .since;
        if since.is_some() {
            break;
        }
        sleep(Duration::from_millis(25)).await;
    }
    // From now on, the person may join again after an hour, and is erased after 30 days.
    let age = SystemTime::now().duration_since(since.expect("a time"));
    assert!(age.unwrap_or_default() < Duration::from_secs(60));
    site.join("bob@example.com").await;
    assert_eq!(all_recipients(&site, &server).await, ["bob@example.com"]);
    let listed = list.are_listed(&[email("ann@example.com")]).await;
    assert_eq!(listed, Ok(vec![true]));
}

async fn times_in_the_future_stop_nothing(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let future = SystemTime::now() + DAY * 400;
    let typed = ["ann@example.com", "bob@example.com"];
    for typed in typed {
        join_asked(&*list, typed, DAY * 2).await;
    }
    let accepted = typed.map(|it| (it, DeliveryState::Accepted, Some(future)));
    add_deliveries(&*list, &accepted).await;
    let site = site(&list, &server, &["--confirm-per-day=2"]).await;
    site.join("cyd@example.com").await;
    wait_for(&server, 1).await;
    assert_eq!(site.join("ann@example.com").await.status(), 409);
    let message = wait_for(&server, 2).await;
    assert_eq!(message.recipient, "ann@example.com");
}

async fn links_of_an_imported_list_work_at_once(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    site.join("bob@example.com").await;
    wait_for(&server, 1).await;
    join_asked(&*list, "ann@example.com", DAY).await;
    let key = ListKey::generate().expect("random numbers");
    let imported = vec![SuppressionItem::Key(key)];
    list.add_suppressions(imported).await.expect("a key");
    let token = PersonTokens::new(&[key], TokenPurpose::Confirm).token(&email("ann@example.com"));
    let path = format!("/confirm/{}", token.expect("a token"));
    // The keys are read once a second. Until then, the link is invalid.
    for _ in 0..400 {
        let response = site.post(&path).send().await.expect("a response");
        if response.status() == 200 {
            break;
        }
        assert_eq!(response.status(), 404);
        sleep(Duration::from_millis(25)).await;
    }
    assert!(is_confirmed(&*list, "ann@example.com"));
}

async fn person_who_was_imported_again_gets_no_message(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    // Asked, then erased and imported by the owner before the message could be sent.
    let imported = WaitlistEntry::new(email("ann@example.com"), SystemTime::now() - DAY);
    list.join(imported).await.expect("a response");
    add_deliveries(&*list, &[("ann@example.com", DeliveryState::Waiting, None)]).await;
    let site = site(&list, &server, &[]).await;
    site.join("bob@example.com").await;
    assert_eq!(all_recipients(&site, &server).await, ["bob@example.com"]);
}

async fn nobody_who_joins_again_is_erased(fixture: impl StoreFixture) {
    const PEOPLE: usize = 1500;
    let (list, server) = (open(&fixture), SmtpServer::start());
    let joined_at = SystemTime::now() - DAY * 40;
    let typed: Vec<_> = (0..PEOPLE).map(|it| format!("{it}@example.com")).collect();
    let entries = typed.iter().map(|it| WaitlistEntry {
        asked_at: Some(joined_at),
        ..WaitlistEntry::new(email(it), joined_at)
    });
    list.join_all(entries.collect()).await.expect("a response");
    let asked: Vec<_> = typed.iter().map(|it| (it.as_str(), DAY * 31)).collect();
    add_message(&*list, 1, &asked).await;
    let site = site(&list, &server, &["--confirm-days=30"]).await;
    // While the task erases them.
    let mut told_that_they_are_listed = Vec::new();
    for typed in typed.iter().rev().step_by(PEOPLE / 150) {
        if site.join(typed).await.status() == 409 {
            told_that_they_are_listed.push(typed.as_str());
        }
    }
    let rejoined = PEOPLE.div_ceil(PEOPLE / 150) as u64;
    // The task takes sign-ups when it has erased everybody whose time is up.
    assert_eq!(site.join("last@example.com").await.status(), 201);
    wait_for_delivery(&*list, "last@example.com").await;
    let listed = told_that_they_are_listed.iter().map(|it| email(it));
    let are_listed = list.are_listed(&listed.collect::<Vec<_>>()).await;
    assert!(are_listed.expect("a response").iter().all(|it| *it));
    assert_eq!(list.count(), rejoined + 1);
}

/// Every store but a database has one instance, which restarts.
async fn nobody_who_joined_again_elsewhere_is_erased(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    // Both have had all the messages that a person can get. So joining again sends none, which would be in the ledger.
    let people = ["ann@example.com", "bob@example.com"];
    for typed in people {
        join_asked(&*list, typed, DAY * 40).await;
    }
    for message in 1..=5 {
        add_message(&*list, message, &people.map(|typed| (typed, DAY * 31))).await;
    }
    let patient = site(&list, &server, &["--confirm-days=365"]).await;
    // Each task erases those whose time is up before it sends messages.
    assert_eq!(patient.join("cyd@example.com").await.status(), 201);
    wait_for(&server, 1).await;
    assert_eq!(patient.join("ann@example.com").await.status(), 409);
    let other_list = match fixture.is_shared() {
        true => open(&fixture),
        false => Arc::clone(&list),
    };
    let strict = site(&other_list, &server, &["--confirm-days=30"]).await;
    assert_eq!(strict.join("dan@example.com").await.status(), 201);
    wait_for(&server, 2).await;
    let listed = list.are_listed(&people.map(email)).await;
    assert_eq!(listed, Ok(vec![true, false]));
}

async fn many_confirm_at_the_same_time(fixture: impl StoreFixture) {
    const PEOPLE: usize = 32;
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    for number in 0..PEOPLE {
        site.join(&format!("{number}@example.com")).await;
    }
    wait_for(&server, PEOPLE).await;
    let received = server.received();
    let confirmations = received.iter().map(async |message| {
        let response = site.post(&link(message)).send().await;
        response.expect("a response").status()
    });
    for status in join_all(confirmations).await {
        assert_eq!(status, 200);
    }
}

/// The person leaves and joins again at another instance, of which this one learns nothing.
async fn person_who_has_left_and_returned_can_confirm_again(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    let path = link(&wait_for(&server, 1).await);
    let confirm = || async { site.post(&path).send().await.expect("a response").status() };
    assert_eq!(confirm().await, 200);
    let ann = [email("ann@example.com")];
    let erased = list.erase(&ann, Erasure::Complete).await;
    assert_eq!(erased, Ok(vec![true]));
    join_asked(&*list, "ann@example.com", Duration::ZERO).await;
    for _ in 0..40 {
        assert_eq!(confirm().await, 200);
        if is_confirmed(&*list, "ann@example.com") {
            return;
        }
        sleep(Duration::from_millis(250)).await;
    }
    panic!("the second confirmation was not recorded");
}

async fn states(list: &dyn Waitlist) -> Vec<DeliveryState> {
    let deliveries = list.deliveries(&MessageId::confirmation(1)).await;
    let deliveries = deliveries.expect("deliveries");
    deliveries.iter().map(|it| it.status.state).collect()
}

/// Waits until the deliveries of the first message have these states, in the order of the ledger.
async fn wait_for_states(list: &dyn Waitlist, expected: &[DeliveryState]) {
    for _ in 0..400 {
        if states(list).await == expected {
            return;
        }
        sleep(Duration::from_millis(25)).await;
    }
    panic!("{:?}", states(list).await);
}

/// Adds deliveries of the first message.
async fn add_deliveries(
    list: &dyn Waitlist,
    deliveries: &[(&str, DeliveryState, Option<SystemTime>)],
) {
    // Creates the key.
    add_message(list, 1, &[]).await;
    let key = list.keys().await.expect("keys")[0];
    let deliveries = deliveries.iter().map(|(typed, state, since)| Delivery {
        status: DeliveryStatus {
            since: *since,
            ..DeliveryStatus::new(*state)
        },
        ..Delivery::waiting(key.hash(email(typed).key()))
    });
    let id = MessageId::confirmation(1);
    let added = list.add_deliveries(&id, 0, deliveries.collect()).await;
    assert_eq!(added, Ok(true));
}
