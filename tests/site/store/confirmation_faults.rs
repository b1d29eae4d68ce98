//! Confirming addresses when something goes wrong, over every store: mail servers that stall, close and quote, and wrong
//! clocks.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::channel,
    },
    time::{Duration, SystemTime},
};

use futures_util::future::join_all;

use landing::{
    mail::{PersonTokens, TokenPurpose},
    waitlist::{DeliveryState, DeliveryStatus, Erasure, MessageId, ServerReply, Waitlist},
};
use tokio::time::Instant;

use super::{
    StoreFixture,
    confirmation_fixtures::{
        DAY, add_attempts, add_deliveries, all_recipients, deliveries_to, is_confirmed, join_asked,
        join_from, link, site, wait_for, wait_for_state, wait_until_held,
    },
    email, eventually,
};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

conformance_tests! {
    replies_that_quote_the_message_are_hidden,
    reply_that_quotes_the_lines_shows_no_part_of_the_link,
    attempts_without_a_result_count_after_a_restart,
    connection_that_was_closed_costs_no_attempt,
    person_who_leaves_while_it_connects_again_gets_no_message,
    message_is_deferred_if_it_cannot_connect_again,
    message_that_a_stop_gives_up_is_sent_after_the_restart,
    retry_that_a_stop_gives_up_stays_one,
    times_in_the_future_stop_nothing,
    many_confirm_at_the_same_time,
    person_who_has_left_and_returned_can_confirm_again,
}

async fn replies_that_quote_the_message_are_hidden(fixture: impl StoreFixture) {
    let list = fixture.open();
    let reply = reply_to_a_message(&list, Action::Quote("554 5.7.1 blocked:")).await;
    assert_eq!(reply.matches("<hidden>").count(), 2, "{reply}");
    assert!(!reply.contains("/confirm/"), "{reply}");
}

async fn reply_that_quotes_the_lines_shows_no_part_of_the_link(fixture: impl StoreFixture) {
    let list = fixture.open();
    let reply = reply_to_a_message(&list, Action::QuoteLines("554 5.7.1 blocked:")).await;
    assert!(reply.contains("<hidden>"), "{reply}");
    let token = confirmation_token(&*list, "ann@example.com").await;
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
    let mut reply = None;
    let has_reply = eventually(async || {
        let deliveries = list.deliveries(&MessageId::confirmation(), 0).await;
        let first = deliveries.expect("deliveries").into_iter().next();
        reply = first.and_then(|it| it.status.reply);
        reply.is_some()
    });
    assert!(has_reply.await, "no reply");
    reply.expect("a reply").text().to_owned()
}

/// Each of these attempts was interrupted, and may have put a message into Ann's mailbox. The mail server has rejected all of
/// Bob's.
async fn attempts_without_a_result_count_after_a_restart(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let people = ["ann@example.com", "bob@example.com"];
    for typed in people {
        join_asked(&*list, typed, DAY).await;
    }
    add_deliveries(&*list, &people.map(|it| (it, DeliveryState::Waiting, None))).await;
    let rejected = Some(ServerReply::new(450, "4.2.1 greylisted"));
    let results = [
        (DeliveryState::Unknown, None, None),
        (DeliveryState::Deferred, Some(SystemTime::now()), rejected),
    ];
    for (number, (state, since, reply)) in (0..).zip(results) {
        let status = DeliveryStatus {
            state,
            since,
            reply,
        };
        add_attempts(&*list, number, 5, &status).await;
    }
    let site = site(&list, &server, &[]).await;
    for (client, typed) in [(1, "ann+1@example.com"), (2, "bob+1@example.com")] {
        join_from(&site, client, typed).await;
    }
    wait_for_state(&*list, "ann+1@example.com", DeliveryState::Refused).await;
    wait_for_state(&*list, "bob+1@example.com", DeliveryState::Accepted).await;
    assert_eq!(server.recipients(), ["bob+1@example.com"]);
    // Without a time, they would count as of now for ever.
    let found_at = deliveries_to(&*list, "ann@example.com").await[0]
        .status
        .since;
    assert!(found_at.is_some_and(|it| it.elapsed().is_ok_and(|age| age < DAY)));
}

/// A mail server that closes each connection after a message. Before each greeting, it calls a function with the number of the
/// connection, from 0.
fn closing_server(greet: impl Fn(usize) + Send + Sync + 'static) -> SmtpServer {
    let (connections, messages) = (AtomicUsize::new(0), AtomicUsize::new(0));
    SmtpServer::scripted(move |step, _| match step {
        Step::Greeting => {
            greet(connections.fetch_add(1, Ordering::SeqCst));
            messages.store(0, Ordering::SeqCst);
            Action::Continue
        }
        Step::Mail if messages.fetch_add(1, Ordering::SeqCst) > 0 => Action::Cut,
        _ => Action::Continue,
    })
}

/// What the mail server did not get counts for nothing, also after a restart.
async fn connection_that_was_closed_costs_no_attempt(fixture: impl StoreFixture) {
    let list = fixture.open();
    let server = closing_server(|_| {});
    let first = site(&list, &server, &[]).await;
    for client in 1..4 {
        let typed = format!("ann+{client}@example.com");
        join_from(&first, client, &typed).await;
        wait_for_state(&*list, &typed, DeliveryState::Accepted).await;
        assert_eq!(deliveries_to(&*list, &typed).await[0].attempts, 1);
    }
    let second = site(&list, &server, &[]).await;
    for (client, state) in [
        (4, DeliveryState::Accepted),
        (5, DeliveryState::Accepted),
        (6, DeliveryState::Refused),
    ] {
        let typed = format!("ann+{client}@example.com");
        join_from(&second, client, &typed).await;
        wait_for_state(&*list, &typed, state).await;
    }
}

async fn person_who_leaves_while_it_connects_again_gets_no_message(fixture: impl StoreFixture) {
    let list = fixture.open();
    let (connects, connecting) = channel();
    let (go_on, is_held) = channel::<()>();
    let channels = Mutex::new((connects, is_held));
    let server = closing_server(move |connection| {
        if connection == 1 {
            let (connects, is_held) = &*channels.lock().expect("no panic");
            connects.send(()).expect("the test waits");
            let _ = is_held.recv_timeout(Duration::from_secs(30));
        }
    });
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    wait_for_state(&*list, "ann@example.com", DeliveryState::Accepted).await;
    site.join("bob@example.com").await;
    wait_until_held(connecting).await;
    let erased = list.erase(&[email("bob@example.com")], Erasure::Suppress);
    assert_eq!(erased.await, Ok(vec![true]));
    go_on.send(()).expect("the server waits");
    wait_for_state(&*list, "bob@example.com", DeliveryState::Skipped).await;
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["ann@example.com"]);
}

async fn message_is_deferred_if_it_cannot_connect_again(fixture: impl StoreFixture) {
    let list = fixture.open();
    let commands = AtomicUsize::new(0);
    let server = SmtpServer::scripted(move |step, _| match step {
        Step::Greeting | Step::Mail => match commands.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Action::Continue,
            _ => Action::Cut,
        },
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for (typed, state) in [
        ("ann@example.com", DeliveryState::Accepted),
        ("bob@example.com", DeliveryState::Deferred),
    ] {
        site.join(typed).await;
        wait_for_state(&*list, typed, state).await;
        assert_eq!(deliveries_to(&*list, typed).await[0].attempts, 1);
    }
}

/// The site is stopped while the mail server stalls.
async fn message_that_a_stop_gives_up_is_sent_after_the_restart(fixture: impl StoreFixture) {
    let list = fixture.open();
    let is_first = AtomicBool::new(true);
    let server = SmtpServer::scripted(move |step, _| match step {
        Step::Mail if is_first.swap(false, Ordering::SeqCst) => Action::Stall,
        _ => Action::Continue,
    });
    let first = site(&list, &server, &[]).await;
    first.join("ann@example.com").await;
    wait_for_state(&*list, "ann@example.com", DeliveryState::Sending).await;
    first.stop();
    wait_for_state(&*list, "ann@example.com", DeliveryState::Skipped).await;
    let started = Instant::now();
    let _second = site(&list, &server, &[]).await;
    wait_for_state(&*list, "ann@example.com", DeliveryState::Accepted).await;
    assert!(started.elapsed() < Duration::from_secs(5));
    let deliveries = deliveries_to(&*list, "ann@example.com").await;
    let attempts: Vec<_> = deliveries.iter().map(|it| it.attempts).collect();
    assert_eq!(attempts, [1, 1]);
}

/// Without what is known of them, the earlier attempts would count as messages that may have arrived.
async fn retry_that_a_stop_gives_up_stays_one(fixture: impl StoreFixture) {
    let list = fixture.open();
    join_asked(&*list, "ann@example.com", DAY).await;
    add_deliveries(&*list, &[("ann@example.com", DeliveryState::Waiting, None)]).await;
    let deferred = DeliveryStatus {
        state: DeliveryState::Deferred,
        since: Some(SystemTime::now() - Duration::from_secs(60 * 60)),
        reply: Some(ServerReply::new(450, "4.2.1 greylisted")),
    };
    add_attempts(&*list, 0, 5, &deferred).await;
    let is_first = AtomicBool::new(true);
    let server = SmtpServer::scripted(move |step, _| match step {
        Step::Mail if is_first.swap(false, Ordering::SeqCst) => Action::Stall,
        _ => Action::Continue,
    });
    let first = site(&list, &server, &[]).await;
    wait_for_state(&*list, "ann@example.com", DeliveryState::Sending).await;
    first.stop();
    wait_for_state(&*list, "ann@example.com", DeliveryState::Deferred).await;
    let second = site(&list, &server, &[]).await;
    join_from(&second, 1, "ann+1@example.com").await;
    wait_for_state(&*list, "ann+1@example.com", DeliveryState::Accepted).await;
}

async fn times_in_the_future_stop_nothing(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let future = SystemTime::now() + DAY * 400;
    let typed = ["ann@example.com", "bob@example.com"];
    for typed in typed {
        join_asked(&*list, typed, DAY * 2).await;
    }
    let accepted = typed.map(|it| (it, DeliveryState::Accepted, Some(future)));
    add_deliveries(&*list, &accepted).await;
    let site = site(&list, &server, &["--confirm-per-day=2"]).await;
    join_from(&site, 1, "cyd@example.com").await;
    wait_for(&server, 1).await;
    assert_eq!(site.join("ann@example.com").await.status(), 409);
    let message = wait_for(&server, 2).await;
    assert_eq!(message.recipient, "ann@example.com");
}

async fn many_confirm_at_the_same_time(fixture: impl StoreFixture) {
    const PEOPLE: usize = 32;
    let (list, server) = (fixture.open(), SmtpServer::start());
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

/// The person leaves and joins again at another instance, of which this one learns nothing. A link is for one sign-up.
async fn person_who_has_left_and_returned_can_confirm_again(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    let path = link(&wait_for(&server, 1).await);
    let confirm = async |path: &str| site.post(path).send().await.expect("a response").status();
    assert_eq!(confirm(&path).await, 200);
    let ann = [email("ann@example.com")];
    let erased = list.erase(&ann, Erasure::Complete).await;
    assert_eq!(erased, Ok(vec![true]));
    join_asked(&*list, "ann@example.com", Duration::from_secs(60)).await;
    assert_eq!(confirm(&path).await, 404);
    assert!(!is_confirmed(&*list, "ann@example.com"));
    let token = confirmation_token(&*list, "ann@example.com").await;
    assert_eq!(confirm(&format!("/confirm/{token}")).await, 200);
    assert!(is_confirmed(&*list, "ann@example.com"));
}

/// Returns the token of the link for the last sign-up of a person.
async fn confirmation_token(list: &dyn Waitlist, typed: &str) -> String {
    let key = list.list_key().await.expect("a key");
    let entry = list.person(&email(typed)).await.expect("a response");
    let entry = entry.expect("a person on the list");
    let tokens = PersonTokens::new(&key, TokenPurpose::Confirm);
    tokens.token_for_sign_up(&entry.email, entry.joined_at)
}
