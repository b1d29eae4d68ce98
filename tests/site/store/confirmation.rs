//! Confirming addresses, over every store: the message, its code and its link, the welcome, and that crashes lose nothing.
//! `confirmation_instances` has several servers, `http/confirmation.txt` the form, the code and the link, `confirmation_limits`
//! and `confirmation_fairness` the limits, `confirmation_erasure` the people who do not confirm, and `confirmation_faults`
//! what else goes wrong.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};

use landing::waitlist::{CALL_MAX, DeliveryState, Erasure, MessageId, WaitlistEntry};

use super::{
    StoreFixture,
    confirmation_fixtures::{
        WELCOME, add_deliveries, add_deliveries_of, all_recipients, begin_welcome, code, confirm,
        deliveries_of, deliveries_to, join_asked, join_confirmed, join_from, link, site,
        slow_server, wait_for, wait_for_state, wait_for_state_of, wait_until_held,
    },
    email, erase, eventually,
};
use crate::mail::smtp_server::{Action, Received, SmtpServer, Step};

conformance_tests! {
    message_survives_a_crash,
    messages_wait_for_the_mail_server,
    message_without_a_result_is_sent_again_with_the_same_code,
    joining_again_during_the_message_sends_no_other_one,
    who_leaves_and_joins_again_during_the_message_gets_another_one,
    welcome_comes_once_after_a_code_or_a_link,
    welcome_goes_on_after_a_crash_and_never_twice,
    codes_go_before_welcomes,
    many_who_wait_for_a_code_delay_no_welcome,
}

async fn message_survives_a_crash(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
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
    let list = fixture.open();
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
    let list = fixture.open();
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
    let list = fixture.open();
    join_asked(&*list, "ann@example.com", Duration::from_secs(62 * 60)).await;
    let site = site(&list, &server, &[]).await;
    wait_until_held(has_it).await;
    assert_eq!(site.join("ann@example.com").await.status(), 409);
    go_on.send(()).expect("the server waits");
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["ann@example.com"]);
}

/// The code of the message that is under way is for the sign-up that she took back.
async fn who_leaves_and_joins_again_during_the_message_gets_another_one(
    fixture: impl StoreFixture,
) {
    let (server, has_it, go_on) = slow_server("ann@example.com");
    let list = fixture.open();
    let site = site(&list, &server, &[]).await;
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    wait_until_held(has_it).await;
    assert!(erase(&*list, "ann@example.com").await);
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    go_on.send(()).expect("the server waits");
    let message = wait_for(&server, 2).await;
    let status = confirm(&site, "ann@example.com", &code(&message)).await;
    assert_eq!(status, 200);
}

/// Ann confirms by the code, and Bob by the link. Cyd has confirmed before the owner switched the welcome on.
async fn welcome_comes_once_after_a_code_or_a_link(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    join_confirmed(&*list, "cyd@example.com", Duration::from_secs(60)).await;
    let first = site(&list, &server, &[WELCOME]).await;
    for (sent, typed) in [(1, "ann@example.com"), (3, "bob@example.com")] {
        assert_eq!(first.join(typed).await.status(), 201);
        let message = wait_for(&server, sent).await;
        let status = match sent {
            1 => confirm(&first, typed, &code(&message)).await,
            _ => {
                let response = first.post(&link(&message)).send().await;
                response.expect("a response").status()
            }
        };
        assert_eq!(status, 200);
        let welcome = wait_for(&server, sent + 1).await;
        assert_eq!(welcome.recipient, typed);
        let position = sent / 2 + 2;
        for part in [
            &format!("Subject: Welcome, number {position}\r\n"),
            &format!("You are number {position} on the list of Steward."),
            "https://steward.test/?ref=3Dinvite-",
            "List-Id: <waitlist.steward.test>\r\n",
            "List-Unsubscribe: <https://steward.test/unsubscribe/",
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n",
        ] {
            assert!(welcome.message.contains(part), "{}", welcome.message);
        }
    }
    // Ann leaves by the link of the welcome, and comes back.
    let welcome = server.received().swap_remove(1);
    let left = first.post(&link(&welcome)).send().await;
    assert_eq!(left.expect("a response").status(), 200);
    assert_eq!(first.join("ann@example.com").await.status(), 201);
    let message = wait_for(&server, 5).await;
    let status = confirm(&first, "ann@example.com", &code(&message)).await;
    assert_eq!(status, 200);
    let second = site(&list, &server, &[WELCOME]).await;
    for site in [&first, &second] {
        let recipients = all_recipients(site, &*list, &server).await;
        let mut names = recipients.iter().map(|it| &it[..3]).collect::<Vec<_>>();
        names.dedup();
        assert_eq!((names, recipients.len()), (vec!["ann", "bob"], 5));
    }
}

/// As after crashes and stops: the ledger has some deliveries of the welcome.
async fn welcome_goes_on_after_a_crash_and_never_twice(fixture: impl StoreFixture) {
    use DeliveryState::{Accepted, Deferred, Refused, Skipped, Unknown, Waiting};
    let (list, id) = (fixture.open(), MessageId::welcome());
    begin_welcome(&*list).await;
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let now = SystemTime::now();
    let ago = |time: u64| Some(now - minutes(time));
    // The state in the ledger, and the one after the next start.
    let people = [
        ("new", None, Some(Accepted)),
        ("waiting", Some((Waiting, None)), Some(Accepted)),
        ("stopped", Some((Skipped, ago(5))), Some(Accepted)),
        ("deferred", Some((Deferred, ago(5))), Some(Accepted)),
        ("accepted", Some((Accepted, ago(5))), Some(Accepted)),
        ("unknown", Some((Unknown, ago(5))), Some(Unknown)),
        ("refused", Some((Refused, ago(5))), Some(Refused)),
        ("no-mailbox", None, Some(Refused)),
        ("greylisted", None, Some(Deferred)),
        ("suppressed", None, None),
        ("early", None, None),
        ("imported", None, None),
        ("asked", None, None),
    ];
    let typed = |name: &str| format!("{name}@example.com");
    for (name, state, _) in people {
        let typed = typed(name);
        match name {
            "imported" => {
                let entry = WaitlistEntry {
                    confirmed_at: ago(5),
                    ..WaitlistEntry::new(email(&typed), now)
                };
                list.join_all(vec![entry]).await.expect("a response");
            }
            "asked" => {
                join_asked(&*list, &typed, minutes(5)).await;
                add_deliveries(&*list, &[(&typed, Accepted, ago(4))]).await;
            }
            "early" => join_confirmed(&*list, &typed, minutes(90)).await,
            _ => join_confirmed(&*list, &typed, minutes(10)).await,
        }
        if let Some((state, since)) = state {
            add_deliveries_of(&*list, id.clone(), &[(&typed, state, since)]).await;
        }
    }
    // She had left before, and the owner has corrected an address to hers.
    let left = email("suppressed@example.com");
    let erased = list.erase(std::slice::from_ref(&left), Erasure::Suppress);
    erased.await.expect("a response");
    let typo = email("supressed@example.com");
    join_confirmed(&*list, typo.as_typed(), minutes(10)).await;
    list.correct(&typo, &left).await.expect("a response");

    let server = SmtpServer::scripted(|step, line| match step {
        Step::Recipient if line.contains("no-mailbox") => Action::Reply("550 5.1.1 no such user"),
        Step::Recipient if line.contains("greylisted") => Action::Reply("450 4.2.1 try later"),
        _ => Action::Continue,
    });
    let expected = ["deferred", "new", "stopped", "waiting"].map(typed);
    for _ in 0..2 {
        let site = site(&list, &server, &[WELCOME]).await;
        for (name, _, state) in people {
            if let Some(state) = state {
                wait_for_state_of(&*list, &id, &typed(name), state).await;
            }
        }
        let recipients = all_recipients(&site, &*list, &server).await;
        assert_eq!(recipients, expected);
    }
    for (name, _, state) in people {
        let deliveries = deliveries_of(&*list, &id, &typed(name)).await;
        assert_eq!(deliveries.len(), usize::from(state.is_some()), "{name}");
    }
}

/// Those who wait have joined later, and the list is read from the newest.
async fn many_who_wait_for_a_code_delay_no_welcome(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    begin_welcome(&*list).await;
    join_confirmed(&*list, "ann@example.com", Duration::ZERO).await;
    // They are like one client, which gets half of the budget.
    let now = SystemTime::now();
    let asked = |number: &u32| WaitlistEntry {
        asked_at: Some(now),
        ..WaitlistEntry::new(email(&format!("{number}@example.org")), now)
    };
    for some in (0..6000).collect::<Vec<_>>().chunks(CALL_MAX) {
        let some = some.iter().map(asked).collect();
        list.join_all(some).await.expect("joined");
    }
    let _site = site(&list, &server, &[WELCOME, "--confirm-per-day=10"]).await;
    let is_welcome = |it: &Received| it.recipient == "ann@example.com";
    let is_welcomed = eventually(async || server.received().iter().any(is_welcome));
    assert!(is_welcomed.await, "no welcome");
}

/// A slow mail server has another code, while Ann and Cyd confirm, Cyd leaves, and Bob joins.
async fn codes_go_before_welcomes(fixture: impl StoreFixture) {
    let (server, has_it, go_on) = slow_server("first@example.com");
    let list = fixture.open();
    let site = site(&list, &server, &[WELCOME]).await;
    let mut codes = Vec::new();
    for (client, typed) in [(1, "ann@example.com"), (2, "cyd@example.com")] {
        join_from(&site, client, typed).await;
        codes.push((typed, code(&wait_for(&server, client.into()).await)));
    }
    join_from(&site, 3, "first@example.com").await;
    wait_until_held(has_it).await;
    for (typed, code) in codes {
        assert_eq!(confirm(&site, typed, &code).await, 200);
    }
    let left = list.erase(&[email("cyd@example.com")], Erasure::Suppress);
    assert_eq!(left.await, Ok(vec![true]));
    join_from(&site, 3, "bob@example.com").await;
    go_on.send(()).expect("the server waits");
    wait_for(&server, 5).await;
    let received = server.received();
    let order = received.iter().map(|it| it.recipient.split('@').next());
    let order: Vec<_> = order.flatten().collect();
    assert_eq!(order, ["ann", "cyd", "first", "bob", "ann"]);
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients.len(), order.len(), "{recipients:?}");
}
