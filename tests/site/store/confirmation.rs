//! Confirming addresses, over every store: the message, its code and its link, and that crashes and other instances lose
//! and repeat nothing. `confirmation_form` has the form without JavaScript, `confirmation_limits` the limits, and
//! `confirmation_faults` what else goes wrong.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use landing::waitlist::{
    Delivery, DeliveryState, DeliveryStatus, Erasure, ListKey, Message, MessageId, SuppressionItem,
    Waitlist, WaitlistEntry,
};
use reqwest::StatusCode;
use serde_json::json;
use tokio::time::sleep;

use super::{StoreFixture, email, entries};
use crate::{
    mail::smtp_server::{Action, Received, SmtpServer, Step},
    test_site::TestSite,
};

conformance_tests! {
    code_confirms_the_address,
    link_confirms_the_address,
    message_survives_a_crash,
    messages_wait_for_the_mail_server,
    only_confirmed_people_are_counted,
    instances_ask_nobody_twice_and_accept_each_others_codes,
}

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Starts a site that asks people to confirm.
pub(super) async fn site(list: &Arc<dyn Waitlist>, server: &SmtpServer, more: &[&str]) -> TestSite {
    let smtp = format!("--smtp={}", server.url());
    let fixed = [
        "--signups-per-minute=0",
        "--confirm-signups",
        "--mail-from=Steward <hello@steward.test>",
        "--origin=https://steward.test",
        &smtp,
    ];
    TestSite::with_list(Arc::clone(list), &[&fixed[..], more].concat()).await
}

pub(super) fn open(fixture: &impl StoreFixture) -> Arc<dyn Waitlist> {
    Arc::from(fixture.open())
}

/// Waits until the server has received this number of messages, and returns the last one.
pub(super) async fn wait_for(server: &SmtpServer, count: usize) -> Received {
    for _ in 0..400 {
        if server.received().len() >= count {
            break;
        }
        sleep(Duration::from_millis(25)).await;
    }
    let received = server.received();
    assert_eq!(received.len(), count);
    received.last().expect("a message").clone()
}

/// Waits for a condition.
pub(super) async fn until(mut condition: impl FnMut() -> bool) {
    for _ in 0..400 {
        if condition() {
            return;
        }
        sleep(Duration::from_millis(25)).await;
    }
    panic!("the condition did not become true");
}

/// Returns the recipients of all messages, in alphabetical order, once the task has sent those that it was asked for.
///
/// The task sends one message after another, in the order of its queue. So two more people join, and are left out of the
/// result. The task queues first messages before second ones if it takes their sign-ups together: the first of the two
/// people may get ahead of a person who is asked again. The second one cannot.
pub(super) async fn all_recipients(site: &TestSite, server: &SmtpServer) -> Vec<String> {
    for _ in 0..2 {
        let last = format!("last-{}@example.com", server.received().len());
        assert_eq!(site.join(&last).await.status(), 201);
        until(|| server.recipients().contains(&last)).await;
    }
    let mut recipients = server.recipients();
    recipients.retain(|it| !it.starts_with("last-"));
    recipients
}

/// Makes the task handle two more sign-ups, one after the other. Between them, it sends the next message of its queue,
/// unless messages are paused.
pub(super) async fn two_more_join(site: &TestSite, list: &dyn Waitlist) {
    for typed in ["yan@example.com", "zoe@example.com"] {
        assert_eq!(site.join(typed).await.status(), 201);
        wait_for_delivery(list, typed).await;
    }
}

/// Waits until the ledger has the first message to a person. It may be sent later.
pub(super) async fn wait_for_delivery(list: &dyn Waitlist, typed: &str) {
    let key = list.keys().await.expect("keys")[0];
    let hash = key.hash(email(typed).key());
    for _ in 0..2400 {
        let deliveries = list.deliveries(&MessageId::confirmation(1)).await;
        let deliveries = deliveries.expect("deliveries");
        if deliveries.iter().any(|it| it.recipient == hash) {
            return;
        }
        sleep(Duration::from_millis(25)).await;
    }
    panic!("no delivery to {typed}");
}

/// Returns the code in a message.
pub(super) fn code(message: &Received) -> String {
    let subject = message.message.split("Subject: ").nth(1);
    subject.expect("a subject").chars().take(6).collect()
}

/// Returns the path of the link in a message.
pub(super) fn link(message: &Received) -> String {
    let text = message.message.replace("=\r\n", "").replace("=\n", "");
    let path = text.split("https://steward.test").nth(1).expect("a link");
    let is_path = |c: &char| c.is_ascii_alphanumeric() || "/-_".contains(*c);
    path.chars().take_while(is_path).collect()
}

pub(super) async fn confirm(site: &TestSite, email: &str, code: &str) -> StatusCode {
    let body = json!({ "email": email, "code": code });
    let response = site.post("/api/waitlist/confirm").json(&body).send().await;
    response.expect("a response").status()
}

pub(super) fn is_confirmed(list: &dyn Waitlist, typed: &str) -> bool {
    let entries = entries(list);
    let entry = entries.iter().find(|it| it.email.as_typed() == typed);
    entry.expect("an entry").confirmed_at.is_some()
}

/// Adds the deliveries of a message to people, of which each has a result since a while ago.
pub(super) async fn add_message(list: &dyn Waitlist, number: u8, people: &[(&str, Duration)]) {
    if list.keys().await.expect("keys").is_empty() {
        let key = ListKey::generate().expect("random numbers");
        let key = vec![SuppressionItem::Key(key)];
        list.add_suppressions(key).await.expect("a key");
    }
    let key = list.keys().await.expect("keys")[0];
    let id = MessageId::confirmation(number);
    let message = Message::new(id.clone(), SystemTime::now(), "code");
    list.add_message(message).await.expect("a message");
    let deliveries = people.iter().map(|(typed, age)| Delivery {
        status: DeliveryStatus {
            since: Some(SystemTime::now() - *age),
            ..DeliveryStatus::new(DeliveryState::Accepted)
        },
        ..Delivery::waiting(key.hash(email(typed).key()))
    });
    let added = list.add_deliveries(&id, 0, deliveries.collect()).await;
    assert_eq!(added, Ok(true));
}

/// Joins as on a page that asks for a confirmation.
pub(super) async fn join_asked(list: &dyn Waitlist, typed: &str, age: Duration) {
    let joined_at = SystemTime::now() - age;
    let entry = WaitlistEntry {
        asked_at: Some(joined_at),
        ..WaitlistEntry::new(email(typed), joined_at)
    };
    list.join(entry).await.expect("a response");
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
        "Auto-Submitted: auto-replied\r\n",
        "is your code for Steward\r\n",
    ] {
        assert!(message.message.contains(header), "{}", message.message);
    }
    assert!(!message.message.contains("List-Unsubscribe"));
    let asked_at = entries(&*list)[0].asked_at;
    assert!(asked_at.is_some());
    assert!(!is_confirmed(&*list, "Ann@example.com"));
    let code = code(&message);
    let written = format!(
        "2 codes: {}-{}, not 123456",
        in_script('٠', &code[..3]),
        in_script('０', &code[3..]),
    );
    assert_eq!(confirm(&site, "ann@EXAMPLE.com", &written).await, 200);
    let confirmed_at = entries(&*list)[0].confirmed_at;
    assert!(confirmed_at.is_some());
    // Again: the time stays, because it is the proof of the consent.
    let sentence = format!("Your code {code} is valid for 30 minutes");
    assert_eq!(confirm(&site, "ann@example.com", &sentence).await, 200);
    assert_eq!(entries(&*list)[0].confirmed_at, confirmed_at);
    assert_eq!(entries(&*list)[0].asked_at, asked_at);
}

/// Returns digits in the script that has this zero.
fn in_script(zero: char, digits: &str) -> String {
    let value = |c: char| c.to_digit(10).expect("a digit");
    let convert = |c| char::from_u32(u32::from(zero) + value(c)).expect("a digit");
    digits.chars().map(convert).collect()
}

async fn link_confirms_the_address(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    let path = link(&wait_for(&server, 1).await);
    for method in ["GET", "HEAD"] {
        let response = site
            .request(method, &path)
            .send()
            .await
            .expect("a response");
        assert_eq!(response.status(), 200, "{method}");
        let headers = response.headers();
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(headers["x-robots-tag"], "noindex");
        assert_eq!(headers["cache-control"], "no-store");
        let page = response.text().await.expect("text");
        assert!(!page.contains("ann@"), "{page}");
        let names_the_person = page.contains("a…@example.com") && page.contains("/unsubscribe/");
        assert_eq!(names_the_person, method == "GET", "{page}");
    }
    assert!(!is_confirmed(&*list, "ann@example.com"));
    let page = site.get("/confirm").send().await.expect("a response");
    assert_eq!(page.headers()["location"], "/#contact");
    let wrong = [
        "/confirm/x".to_owned(),
        format!("{path}A"),
        path.replace("/confirm/", "/unsubscribe/"),
    ];
    for path in wrong {
        for method in ["GET", "POST"] {
            let response = site
                .request(method, &path)
                .send()
                .await
                .expect("a response");
            assert_eq!(response.status(), 404, "{method} {path}");
        }
    }
    for method in ["POST", "POST", "GET"] {
        // Browsers send this for a page without a referrer.
        let request = site.request(method, &path).header("origin", "null");
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), 200);
        let page = response.text().await.expect("text");
        assert!(page.contains("Your address is confirmed"), "{page}");
        assert!(!page.contains("method=\"post\""), "{page}");
        assert!(is_confirmed(&*list, "ann@example.com"));
    }
    list.erase(&[email("ann@example.com")], Erasure::Complete)
        .await
        .expect("a response");
    for method in ["POST", "GET"] {
        let response = site.request(method, &path).send().await;
        let response = response.expect("a response");
        assert_eq!(response.status(), 404, "{method}");
        let page = response.text().await.expect("text");
        assert!(page.contains("You are not on the waitlist"), "{page}");
    }
}

async fn message_survives_a_crash(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    // As after a crash: Ann's message is not in the ledger, and Bob's was not sent.
    for typed in ["ann@example.com", "bob@example.com"] {
        join_asked(&*list, typed, Duration::from_secs(5)).await;
    }
    add_message(&*list, 1, &[]).await;
    let key = list.keys().await.expect("keys")[0];
    let bob = Delivery::waiting(key.hash(email("bob@example.com").key()));
    let id = MessageId::confirmation(1);
    assert_eq!(list.add_deliveries(&id, 0, vec![bob]).await, Ok(true));
    let site = site(&list, &server, &[]).await;
    let recipients = all_recipients(&site, &server).await;
    assert_eq!(recipients, ["ann@example.com", "bob@example.com"]);
    for message in server.received() {
        let status = confirm(&site, &message.recipient, &code(&message)).await;
        assert_eq!(status, 200);
    }
}

async fn messages_wait_for_the_mail_server(fixture: impl StoreFixture) {
    let list = open(&fixture);
    let server = SmtpServer::scripted(|step, line| match step {
        Step::Recipient if line.contains("ann") => Action::Reply("550 5.1.1 no such user"),
        Step::Recipient if line.contains("bob") => Action::Reply("451 4.3.0 try later"),
        Step::End if line.contains("cyd") => Action::AcceptAndCut,
        _ => Action::Continue,
    });
    let site = site(&list, &server, &[]).await;
    for name in ["ann", "bob", "cyd", "dan"] {
        let joined = site.join(&format!("{name}@example.com")).await;
        assert_eq!(joined.status(), 201);
    }
    let id = MessageId::confirmation(1);
    let expected = [
        DeliveryState::Refused,
        DeliveryState::Deferred,
        DeliveryState::Unknown,
        DeliveryState::Accepted,
    ];
    for _ in 0..400 {
        let deliveries = list.deliveries(&id).await.expect("deliveries");
        let states = deliveries.iter().map(|it| it.status.state);
        if states.eq(expected) {
            return;
        }
        sleep(Duration::from_millis(25)).await;
    }
    panic!("{:?}", list.deliveries(&id).await);
}

async fn only_confirmed_people_are_counted(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let imported = WaitlistEntry {
        confirmed_at: Some(SystemTime::now()),
        ..WaitlistEntry::new(email("old@example.com"), SystemTime::now())
    };
    list.join_all(vec![imported]).await.expect("a response");
    let site = site(&list, &server, &["--count-confirmed"]).await;
    assert_eq!(site.count().await, 1);
    site.join("ann@example.com").await;
    site.join("bob@example.com").await;
    wait_for(&server, 2).await;
    assert_eq!((site.count().await, list.count()), (1, 3));
    let ann = server
        .received()
        .into_iter()
        .find(|it| it.recipient.contains("ann"));
    confirm(&site, "ann@example.com", &code(&ann.expect("a message"))).await;
    for expected in [2, 1] {
        wait_for_count(&site, expected).await;
        list.erase(&[email("old@example.com")], Erasure::Complete)
            .await
            .expect("a response");
    }
}

/// Waits until the API and the page show this number of people.
async fn wait_for_count(site: &TestSite, expected: u64) {
    let in_page = format!("{expected} entrepreneurs");
    for _ in 0..200 {
        let page = site.get("/").send().await.expect("a response");
        let page = page.text().await.expect("text");
        if site.count().await == expected && page.contains(&in_page) {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("the count did not become {expected}");
}

/// Only a database has several instances. Of the other stores, both sites have the same list.
async fn instances_ask_nobody_twice_and_accept_each_others_codes(fixture: impl StoreFixture) {
    let server = SmtpServer::start();
    let first_list = open(&fixture);
    let second_list = match fixture.is_shared() {
        true => open(&fixture),
        false => Arc::clone(&first_list),
    };
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
        assert_eq!(all_recipients(site, &server).await, expected);
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
    for _ in 0..5 {
        assert_eq!(confirm(&sites[1], "eve@example.com", wrong).await, 400);
    }
    assert_eq!(confirm(&sites[1], "eve@example.com", &code).await, 423);
}
