//! One client uses up neither the budget nor the goodwill of the mail server, over every store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use landing::waitlist::{DeliveryState, MessageId, Waitlist};
use tokio::time::Instant;

use super::{
    StoreFixture,
    confirmation_fixtures::{
        deliveries_to, join_from, post_from, site, slow_server, wait_for, wait_for_state,
        wait_until_asked, wait_until_held,
    },
    eventually,
};
use crate::{
    mail::smtp_server::{Action, SmtpServer, Step},
    test_site::TestSite,
};

conformance_tests! {
    client_has_a_share_of_the_budget,
    newest_sign_up_of_the_least_served_client_is_next,
    addresses_that_do_not_exist_keep_their_client_waiting,
    objections_keep_their_client_waiting,
    server_that_cuts_after_messages_gets_few,
    server_that_closes_connections_gets_few,
}

/// A client that asks for everything leaves as much as it gets, also with all networks of an IPv6 /48.
async fn client_has_a_share_of_the_budget(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let site = site(&list, &server, &["--confirm-per-day=20"]).await;
    wait_for_first_sweep(&site, &*list).await;
    for number in 0..70 {
        let address = format!("2001:db8:0:{number}::1");
        let typed = format!("junk-{number}@example.com");
        assert_eq!(post_from(&site, &address, &typed).await, 201);
    }
    wait_for(&server, 1 + 10).await;
    // Three visitors later, so each of them is asked at once.
    for client in 2..5 {
        let typed = format!("real-{client}@example.com");
        let joined_at = Instant::now();
        join_from(&site, client, &typed).await;
        wait_for_state(&*list, &typed, DeliveryState::Accepted).await;
        assert!(joined_at.elapsed() < Duration::from_secs(60));
    }
    let junk = server.recipients();
    let junk = junk.iter().filter(|it| it.starts_with("junk")).count();
    assert_eq!(junk, 10, "half of the budget");
    // One address was no junk, and its owner signs up too.
    let asked = server.recipients();
    let mut typed = (0..70).map(|number| format!("junk-{number}@example.com"));
    let typed = typed
        .find(|typed| !asked.contains(typed))
        .expect("some wait");
    assert_eq!(post_from(&site, "203.0.113.5", &typed).await, 409);
    wait_for_state(&*list, &typed, DeliveryState::Accepted).await;
}

/// A slow mail server has the first person of the first client, while everybody else signs up.
async fn newest_sign_up_of_the_least_served_client_is_next(fixture: impl StoreFixture) {
    let list = fixture.open();
    let (server, has_it, go_on) = slow_server("first@example.com");
    let site = site(&list, &server, &[]).await;
    join_from(&site, 1, "first@example.com").await;
    wait_until_held(has_it).await;
    for (client, name) in [(1, "old"), (1, "new"), (2, "b-old"), (3, "c"), (2, "b-new")] {
        join_from(&site, client, &format!("{name}@example.com")).await;
    }
    go_on.send(()).expect("the server waits");
    wait_until_asked(&*list).await;
    let received = server.received();
    let order: Vec<_> = received
        .iter()
        .map(|it| it.recipient.split('@').next())
        .collect();
    let expected = ["first", "b-new", "c", "new", "b-old", "old"];
    // After one message each, the clients are equal again, and their newest sign-ups are next.
    assert_eq!(order[..3], expected.map(Some)[..3]);
    assert_eq!(order.len(), expected.len());
    assert_eq!(order.last(), Some(&Some("old")));
}

async fn addresses_that_do_not_exist_keep_their_client_waiting(fixture: impl StoreFixture) {
    let list = fixture.open();
    let server = SmtpServer::scripted(|step, line| match step {
        // As Postfix does for `-ann@example.com` and `ann@localhost`.
        Step::Recipient if line.contains("bad-1@") => Action::Reply("501 5.1.3 bad address"),
        Step::Recipient if line.contains("bad-2@") => Action::Reply("504 5.5.2 no domain"),
        Step::Recipient if line.contains("bad-") => Action::Reply("550 5.1.1 no such mailbox"),
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    wait_for_first_sweep(&site, &*list).await;
    for number in 0..12 {
        join_from(&site, 1, &format!("bad-{number}@example.com")).await;
    }
    for client in 2..5 {
        let typed = format!("good-{client}@example.com");
        join_from(&site, client, &typed).await;
        wait_for_state(&*list, &typed, DeliveryState::Accepted).await;
    }
    wait_for_deliveries(&*list, 1 + 5 + 3).await;
    join_from(&site, 5, "last@example.com").await;
    wait_for_state(&*list, "last@example.com", DeliveryState::Accepted).await;
    wait_for_deliveries(&*list, 1 + 5 + 4).await;
    // Somebody with one mistake among good addresses does not wait.
    join_from(&site, 6, "bad-99@example.com").await;
    join_from(&site, 6, "good-99@example.com").await;
    wait_for_state(&*list, "good-99@example.com", DeliveryState::Accepted).await;
}

/// Waits until one person was asked. The first sweep does not know the clients of the people that it finds, and it is over
/// then.
async fn wait_for_first_sweep(site: &TestSite, list: &dyn Waitlist) {
    join_from(site, 100, "first@example.com").await;
    wait_for_state(list, "first@example.com", DeliveryState::Accepted).await;
}

/// Waits until the ledger has this number of deliveries, and not more.
async fn wait_for_deliveries(list: &dyn Waitlist, count: usize) {
    let has_them = eventually(async || {
        let deliveries = list.deliveries(&MessageId::confirmation(), 0).await;
        let found = deliveries.expect("deliveries").len();
        assert!(found <= count, "{found}");
        found == count
    });
    assert!(has_them.await, "there are fewer deliveries than {count}");
}

async fn objections_keep_their_client_waiting(fixture: impl StoreFixture) {
    let list = fixture.open();
    let server = SmtpServer::scripted(|step, line| match step {
        // Greylisting has the codes of an objection to the sender.
        Step::Recipient if line.contains("grey-") => Action::Reply("451 4.7.1 greylisted"),
        Step::Recipient if line.contains("policy-") => Action::Reply("550 5.7.1 not here"),
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for number in 0..20 {
        join_from(&site, 1, &format!("policy-{number}@example.com")).await;
    }
    join_from(&site, 2, "grey-1@example.com").await;
    wait_for_state(&*list, "grey-1@example.com", DeliveryState::Deferred).await;
    let started = Instant::now();
    for client in 3..8 {
        let typed = format!("good-{client}@example.com");
        join_from(&site, client, &typed).await;
        wait_for_state(&*list, &typed, DeliveryState::Accepted).await;
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    // The next attempt is a minute later.
    let deferred = deliveries_to(&*list, "grey-1@example.com").await;
    assert_eq!((deferred.len(), deferred[0].attempts), (1, 1));
}

/// After a fault that has met several clients, everybody waits.
async fn server_that_cuts_after_messages_gets_few(fixture: impl StoreFixture) {
    assert_pauses(fixture, Step::End, Action::Cut, 3, DeliveryState::Unknown).await;
}

/// The server says that it closes the connection, which is about nobody.
async fn server_that_closes_connections_gets_few(fixture: impl StoreFixture) {
    let action = Action::Reply("421 4.3.2 too many connections");
    assert_pauses(fixture, Step::Mail, action, 1, DeliveryState::Deferred).await;
}

/// Checks that everybody waits after this number of attempts that have failed.
async fn assert_pauses(
    fixture: impl StoreFixture,
    at: Step,
    action: Action,
    until_pause: usize,
    state: DeliveryState,
) {
    let list = fixture.open();
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    let server = SmtpServer::scripted(move |step, _| match step == at {
        true => {
            counter.fetch_add(1, Ordering::SeqCst);
            action.clone()
        }
        false => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for client in 1..4 {
        for number in 0..5 {
            join_from(&site, client, &format!("{client}-{number}@example.com")).await;
        }
    }
    wait_for_deliveries(&*list, until_pause).await;
    let paused_at = Instant::now();
    // A new client is next, when the pause of five seconds is over.
    join_from(&site, 4, "last@example.com").await;
    wait_for_state(&*list, "last@example.com", state).await;
    assert!(paused_at.elapsed() > Duration::from_secs(3));
    assert!(attempts.load(Ordering::SeqCst) <= until_pause + 1);
}
