//! Confirming addresses, over every store: the message, its code and its link, and what happens without a confirmation.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use landing::waitlist::{
    Delivery, DeliveryState, DeliveryStatus, Erasure, Fact, ListKey, Message, MessageId,
    SuppressionItem, Waitlist, WaitlistEntry,
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
    wrong_codes_are_limited,
    joining_again_sends_another_code_after_an_hour,
    nobody_gets_more_than_three_messages_a_day_or_five_in_all,
    imported_people_are_not_asked,
    message_survives_a_crash,
    messages_wait_for_the_mail_server,
    refusals_in_a_row_are_no_mistyped_addresses,
    daily_budget_is_kept,
    people_who_do_not_confirm_are_erased,
    only_confirmed_people_are_counted,
    people_who_have_left_get_no_message,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Starts a site that asks people to confirm.
async fn site(list: &Arc<dyn Waitlist>, server: &SmtpServer, more: &[&str]) -> TestSite {
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

fn open(fixture: &impl StoreFixture) -> Arc<dyn Waitlist> {
    Arc::from(fixture.open())
}

/// Waits until the server has received this number of messages, and returns the last one.
async fn wait_for(server: &SmtpServer, count: usize) -> Received {
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
async fn until(mut condition: impl FnMut() -> bool) {
    for _ in 0..400 {
        if condition() {
            return;
        }
        sleep(Duration::from_millis(25)).await;
    }
    panic!("the condition did not become true");
}

/// Returns the code in a message.
fn code(message: &Received) -> String {
    let subject = message.message.split("Subject: ").nth(1);
    subject.expect("a subject").chars().take(6).collect()
}

/// Returns the path of the link in a message.
fn link(message: &Received) -> String {
    let text = message.message.replace("=\r\n", "").replace("=\n", "");
    let path = text.split("https://steward.test").nth(1).expect("a link");
    let is_path = |c: &char| c.is_ascii_alphanumeric() || "/-_".contains(*c);
    path.chars().take_while(is_path).collect()
}

async fn confirm(site: &TestSite, email: &str, code: &str) -> StatusCode {
    let body = json!({ "email": email, "code": code });
    let response = site.post("/api/waitlist/confirm").json(&body).send().await;
    response.expect("a response").status()
}

fn is_confirmed(list: &dyn Waitlist, typed: &str) -> bool {
    let entries = entries(list);
    let entry = entries.iter().find(|it| it.email.as_typed() == typed);
    entry.expect("an entry").confirmed_at.is_some()
}

/// Adds the deliveries of a message to people, of which each has a result since a while ago.
async fn add_message(list: &dyn Waitlist, number: u8, people: &[(&str, Duration)]) {
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
async fn join_asked(list: &dyn Waitlist, typed: &str, age: Duration) {
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
    let spaced = format!(" {} {} ", &code[..3], &code[3..]);
    assert_eq!(confirm(&site, "ann@EXAMPLE.com", &spaced).await, 200);
    let confirmed_at = entries(&*list)[0].confirmed_at;
    assert!(confirmed_at.is_some());
    // Again: the time stays, because it is the proof of the consent.
    assert_eq!(confirm(&site, "ann@example.com", &code).await, 200);
    assert_eq!(entries(&*list)[0].confirmed_at, confirmed_at);
    assert_eq!(entries(&*list)[0].asked_at, asked_at);
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
        assert!(!page.contains("example.com"), "{page}");
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
    for _ in 0..2 {
        // Browsers send this for a page without a referrer.
        let post = site.post(&path).header("origin", "null");
        let response = post.send().await.expect("a response");
        assert_eq!(response.status(), 200);
        let page = response.text().await.expect("text");
        assert!(page.contains("Your address is confirmed"), "{page}");
        assert!(is_confirmed(&*list, "ann@example.com"));
    }
    list.erase(&[email("ann@example.com")], Erasure::Complete)
        .await
        .expect("a response");
    let response = site.post(&path).send().await.expect("a response");
    assert_eq!(response.status(), 404);
    let page = response.text().await.expect("text");
    assert!(page.contains("You are not on the waitlist"), "{page}");
}

async fn wrong_codes_are_limited(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    let code = code(&wait_for(&server, 1).await);
    let wrong = if code == "123456" { "123457" } else { "123456" };
    for malformed in ["", "12345", "1234567", "abcdef", "１２３４５６"] {
        // It is no code, so it is no try.
        assert_eq!(confirm(&site, "ann@example.com", malformed).await, 400);
    }
    assert_eq!(confirm(&site, "eve@example.com", &code).await, 400);
    for _ in 0..5 {
        assert_eq!(confirm(&site, "ann@example.com", wrong).await, 400);
    }
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
    sleep(Duration::from_millis(300)).await;
    assert_eq!(server.received().len(), 2);
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
    // Leaving and joining again does not begin anew.
    list.erase(&[email("cyd@example.com")], Erasure::Complete)
        .await
        .expect("a response");
    assert_eq!(site.join("cyd@example.com").await.status(), 201);
    sleep(Duration::from_millis(300)).await;
    assert_eq!(server.received().len(), 1);
}

async fn imported_people_are_not_asked(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let entry = WaitlistEntry::new(email("ann@example.com"), SystemTime::now());
    list.join_all(vec![entry]).await.expect("a response");
    let site = site(&list, &server, &["--confirm-days=1"]).await;
    site.join("bob@example.com").await;
    assert_eq!(site.join("ann@example.com").await.status(), 409);
    let message = wait_for(&server, 1).await;
    assert_eq!(message.recipient, "bob@example.com");
    sleep(Duration::from_millis(300)).await;
    assert_eq!((server.received().len(), list.count()), (1, 2));
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
    wait_for(&server, 2).await;
    assert_eq!(server.recipients(), ["ann@example.com", "bob@example.com"]);
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
    let id = MessageId::confirmation(1);
    for _ in 0..400 {
        let deliveries = list.deliveries(&id).await.expect("deliveries");
        let count = |state| {
            deliveries
                .iter()
                .filter(|it| it.status.state == state)
                .count()
        };
        // The others get the message when the owner has fixed the cause.
        let counts = [
            DeliveryState::Refused,
            DeliveryState::Deferred,
            DeliveryState::Waiting,
        ];
        if counts.map(count) == [5, 1, 2] {
            return;
        }
        sleep(Duration::from_millis(25)).await;
    }
    panic!("{:?}", list.deliveries(&id).await);
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
    sleep(Duration::from_millis(300)).await;
    assert_eq!(server.received().len(), 2);
    let deliveries = list.deliveries(&MessageId::confirmation(1)).await;
    let deliveries = deliveries.expect("deliveries");
    let waiting = deliveries
        .iter()
        .filter(|it| it.status.state == DeliveryState::Waiting);
    assert_eq!(waiting.count(), 3);
}

async fn people_who_do_not_confirm_are_erased(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let people = ["late@example.com", "soon@example.com", "yes@example.com"];
    for typed in people {
        join_asked(&*list, typed, DAY * 40).await;
    }
    let imported = WaitlistEntry::new(email("old@example.com"), SystemTime::now() - DAY * 90);
    list.join_all(vec![imported]).await.expect("a response");
    let confirmed = (
        email("yes@example.com"),
        Fact::ConfirmedAt(SystemTime::now()),
    );
    list.add_facts(vec![confirmed]).await.expect("a response");
    let sent = [
        ("late@example.com", DAY * 31),
        ("soon@example.com", DAY * 29),
        ("yes@example.com", DAY * 31),
    ];
    add_message(&*list, 1, &sent).await;
    let site = site(&list, &server, &["--confirm-days=30"]).await;
    until(|| list.count() == 3).await;
    let mut left: Vec<_> = entries(&*list)
        .into_iter()
        .map(|it| it.email.key())
        .collect();
    left.sort();
    assert_eq!(
        left,
        ["old@example.com", "soon@example.com", "yes@example.com"]
    );
    // The person may join again, and is asked again.
    assert_eq!(site.join("late@example.com").await.status(), 201);
    let message = wait_for(&server, 1).await;
    assert_eq!(message.recipient, "late@example.com");
    assert_eq!(
        confirm(&site, "late@example.com", &code(&message)).await,
        200
    );
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
    wait_for(&server, 1).await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(server.recipients(), ["cyd@example.com"]);
}
