//! Confirming addresses, over every store: the message, its code and its link, and that crashes lose nothing.
//! `confirmation_instances` has several servers, `http/confirmation.txt` the form and the link, `confirmation_limits` and
//! `confirmation_fairness` the limits, `confirmation_erasure` the people who do not confirm, and `confirmation_faults` what
//! else goes wrong.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};

use landing::waitlist::DeliveryState;

use super::{
    StoreFixture,
    confirmation_fixtures::{
        add_deliveries, all_recipients, code, confirm, deliveries_to, is_confirmed, join_asked,
        join_from, open, site, slow_server, wait_for, wait_for_state, wait_until_held,
    },
    entries,
};
use crate::mail::smtp_server::{Action, Received, SmtpServer, Step};

conformance_tests! {
    code_confirms_the_address,
    message_survives_a_crash,
    messages_wait_for_the_mail_server,
    message_without_a_result_is_sent_again_with_the_same_code,
    joining_again_during_the_message_sends_no_other_one,
}

async fn code_confirms_the_address(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    assert_eq!(site.join("Ann@example.com").await.status(), 201);
    assert_eq!(site.join("ann@example.com").await.status(), 409);
    let message = wait_for(&server, 1).await;
    assert_eq!(message.recipient, "Ann@example.com");
    assert_eq!(message.sender, "hello@steward.test");
    for header in [
        "Auto-Submitted: auto-generated\r\n",
        "is your code for Steward\r\n",
    ] {
        assert!(message.message.contains(header), "{}", message.message);
    }
    assert!(!message.message.contains("List-Unsubscribe"));
    let asked_at = entries(&*list)[0].asked_at;
    assert!(asked_at.is_some());
    assert!(!is_confirmed(&*list, "Ann@example.com"));
    let code = code(&message);
    let written = format!("Your code: {} - {}.", &code[..3], &code[3..]);
    assert_eq!(confirm(&site, "ann@EXAMPLE.com", &written).await, 200);
    let confirmed_at = entries(&*list)[0].confirmed_at;
    assert!(confirmed_at.is_some());
    // Again: the time stays, because it is the proof of the consent.
    assert_eq!(confirm(&site, "ann@example.com", &code).await, 200);
    assert_eq!(entries(&*list)[0].confirmed_at, confirmed_at);
    assert_eq!(entries(&*list)[0].asked_at, asked_at);
}

async fn message_survives_a_crash(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    // As after a crash: Ann's message is not in the ledger, Bob's was not sent, and Cyd's may have been.
    let people = ["ann@example.com", "bob@example.com", "cyd@example.com"];
    for typed in people {
        join_asked(&*list, typed, Duration::from_secs(30)).await;
    }
    let begun_at = Some(SystemTime::now() - Duration::from_secs(20));
    let ledger = [
        ("bob@example.com", DeliveryState::Waiting, None),
        ("cyd@example.com", DeliveryState::Unknown, begun_at),
    ];
    add_deliveries(&*list, &ledger).await;
    let site = site(&list, &server, &[]).await;
    assert_eq!(all_recipients(&site, &*list, &server).await, people);
    for message in server.received() {
        let status = confirm(&site, &message.recipient, &code(&message)).await;
        assert_eq!(status, 200);
    }
}

async fn messages_wait_for_the_mail_server(fixture: impl StoreFixture) {
    let list = open(&fixture);
    let server = SmtpServer::scripted(|step, line| match step {
        Step::Recipient if line.contains("ann") => Action::Reply("550 5.1.1 no such user"),
        Step::Recipient if line.contains("bob") => Action::Reply("450 4.2.1 try later"),
        // They get the message when the owner has fixed the cause.
        Step::Recipient if line.contains("eve") => Action::Reply("550 relay access denied"),
        Step::End if line.contains("cyd") => Action::AcceptAndCut,
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for (client, name, state) in [
        (1, "ann", DeliveryState::Refused),
        (2, "bob", DeliveryState::Deferred),
        (3, "cyd", DeliveryState::Unknown),
        (4, "dan", DeliveryState::Accepted),
        (5, "eve", DeliveryState::Deferred),
    ] {
        let typed = format!("{name}@example.com");
        join_from(&site, client, &typed).await;
        wait_for_state(&*list, &typed, state).await;
    }
}

/// The connection breaks after the message was written: the person may have it, or not.
async fn message_without_a_result_is_sent_again_with_the_same_code(fixture: impl StoreFixture) {
    let list = open(&fixture);
    let is_first = AtomicBool::new(true);
    let server = SmtpServer::scripted(move |step, _| match step {
        Step::End if is_first.swap(false, Ordering::SeqCst) => Action::AcceptAndCut,
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    wait_for_state(&*list, "ann@example.com", DeliveryState::Accepted).await;
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert_eq!(code(&received[0]), code(&received[1]));
    let message_id = |message: &Received| {
        let id = message.message.split("Message-ID: ").nth(1);
        let id = id.and_then(|rest| rest.lines().next());
        id.expect("a Message-ID").to_owned()
    };
    assert_eq!(message_id(&received[0]), message_id(&received[1]));
    let deliveries = deliveries_to(&*list, "ann@example.com").await;
    assert_eq!((deliveries.len(), deliveries[0].attempts), (1, 2));
}

/// A message that is under way when the person joins again is enough. The sweep has found the person, as if the sign-up had not
/// reached the queue yet.
async fn joining_again_during_the_message_sends_no_other_one(fixture: impl StoreFixture) {
    let (server, has_it, go_on) = slow_server("ann@example.com");
    let list = open(&fixture);
    join_asked(&*list, "ann@example.com", Duration::from_secs(62 * 60)).await;
    let site = site(&list, &server, &[]).await;
    wait_until_held(has_it).await;
    assert_eq!(site.join("ann@example.com").await.status(), 409);
    go_on.send(()).expect("the server waits");
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["ann@example.com"]);
}
