//! What the tests of confirmations share: a site that asks people, its list and its ledger, and the messages.

use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, SystemTime},
};

use landing::waitlist::{
    Delivery, DeliveryStart, DeliveryState, DeliveryStatus, Fact, Message, MessageId, Waitlist,
    WaitlistEntry,
};
use reqwest::StatusCode;
use serde_json::json;

use super::{add_fact, email, entries, eventually, many_items::ManyItems};
use crate::{
    mail::smtp_server::{Action, Received, SmtpServer, Step},
    test_site::{TRUST_LOOPBACK, TestSite},
};

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The options of a site that asks people to confirm, without the mail server.
const OPTIONS: [&str; 5] = [
    "--signups-per-minute=0",
    "--confirm-signups",
    TRUST_LOOPBACK,
    "--mail-from=Steward <hello@steward.test>",
    "--origin=https://steward.test",
];

/// The option of a site that welcomes people who have confirmed.
pub(crate) const WELCOME: &str = concat!(
    "--welcome=",
    env!("CARGO_MANIFEST_DIR"),
    "/tests/site/mail/welcome.md"
);

/// Starts a site that asks people to confirm.
pub(super) async fn site(list: &Arc<dyn Waitlist>, server: &SmtpServer, more: &[&str]) -> TestSite {
    let smtp = format!("--smtp={}", server.url());
    let options = [&OPTIONS, &[&*smtp][..], more].concat();
    TestSite::with_list(Arc::clone(list), &options).await
}

/// The same, for a site that sweeps every second.
pub(super) async fn sweeping_site(
    list: &Arc<dyn Waitlist>,
    server: &SmtpServer,
    more: &[&str],
) -> TestSite {
    let smtp = format!("--smtp={}", server.url());
    let options = [&OPTIONS, &[&*smtp][..], more].concat();
    TestSite::with_sweeps(Arc::clone(list), &options, Duration::from_secs(1)).await
}

/// A mail server that holds the first message to a person back. The receiver says when it has it, and the sender lets it
/// reply.
pub(super) fn slow_server(person: &'static str) -> (SmtpServer, Receiver<()>, Sender<()>) {
    let (has_it, wait_for_it) = channel();
    let (go_on, is_held) = channel::<()>();
    let held = Mutex::new(Some(is_held));
    let server = SmtpServer::scripted(move |step, recipient| {
        if step == Step::End
            && recipient == person
            && let Some(is_held) = held.lock().expect("no panic").take()
        {
            has_it.send(()).expect("the test waits");
            let _ = is_held.recv_timeout(Duration::from_secs(60));
        }
        Action::Continue
    });
    (server, wait_for_it, go_on)
}

pub(super) async fn wait_until_held(has_it: Receiver<()>) {
    let waiting = tokio::task::spawn_blocking(move || {
        has_it
            .recv_timeout(Duration::from_secs(30))
            .expect("a message");
    });
    waiting.await.expect("no panic");
}

/// Signs up as the visitor of a proxy, with the address 203.0.113.`client`.
pub(super) async fn join_from(site: &TestSite, client: u8, typed: &str) {
    let address = format!("203.0.113.{client}");
    assert_eq!(post_from(site, &address, typed).await, 201, "{typed}");
}

/// Signs up from this address of a client, and returns the status.
pub(super) async fn post_from(site: &TestSite, address: &str, typed: &str) -> StatusCode {
    let post = site.post("/api/waitlist").json(&json!({ "email": typed }));
    let post = post.header("x-forwarded-for", address);
    post.send().await.expect("a response").status()
}

/// Waits until the server has received this number of messages, and returns the last one.
pub(super) async fn wait_for(server: &SmtpServer, count: usize) -> Received {
    eventually(async || server.received().len() >= count).await;
    let received = server.received();
    assert_eq!(received.len(), count);
    received.last().expect("a message").clone()
}

/// Returns the recipients of all messages, in alphabetical order, once the task has asked everybody. Two more people join,
/// one after the other, and are left out of the result: a person that the task asks by mistake gets the message before the
/// second one.
pub(super) async fn all_recipients(
    site: &TestSite,
    list: &dyn Waitlist,
    server: &SmtpServer,
) -> Vec<String> {
    for number in 0..2 {
        let last = format!("last-{number}-{}@example.com", server.received().len());
        assert_eq!(site.join(&last).await.status(), 201);
        wait_until_asked(list).await;
    }
    let mut recipients = server.recipients();
    recipients.retain(|it| !it.starts_with("last-"));
    recipients
}

/// Returns the codes to a person.
pub(super) async fn deliveries_to(list: &dyn Waitlist, typed: &str) -> Vec<Delivery> {
    deliveries_of(list, &MessageId::confirmation(), typed).await
}

/// Returns the deliveries of a message to a person.
pub(super) async fn deliveries_of(
    list: &dyn Waitlist,
    id: &MessageId,
    typed: &str,
) -> Vec<Delivery> {
    let key = list.list_key().await.expect("a key");
    let deliveries = list.deliveries(id, 0).await;
    let mut deliveries = deliveries.expect("deliveries");
    deliveries.retain(|it| it.recipient == key.hash(email(typed).key()));
    deliveries
}

/// Waits until the last code to a person has this state.
pub(super) async fn wait_for_state(list: &dyn Waitlist, typed: &str, state: DeliveryState) {
    wait_for_state_of(list, &MessageId::confirmation(), typed, state).await;
}

/// Waits until the last delivery of a message to a person has this state.
pub(super) async fn wait_for_state_of(
    list: &dyn Waitlist,
    id: &MessageId,
    typed: &str,
    state: DeliveryState,
) {
    let mut found = Vec::new();
    let has_it = eventually(async || {
        found = deliveries_of(list, id, typed).await;
        found.last().is_some_and(|it| it.status.state == state)
    });
    assert!(has_it.await, "{typed}: {found:?}");
}

/// Waits until the ledger has a result for everybody who awaits a confirmation.
pub(super) async fn wait_until_asked(list: &dyn Waitlist) {
    let key = list.list_key().await.expect("a key");
    let are_all_asked = eventually(async || {
        let deliveries = list.deliveries(&MessageId::confirmation(), 0).await;
        let deliveries = deliveries.expect("deliveries");
        let was_asked = |entry: &WaitlistEntry| {
            let hash = key.hash(entry.email.key());
            let mut own = deliveries.iter().filter(|it| it.recipient == hash);
            own.any(|Delivery { status, .. }| {
                status.state != DeliveryState::Unknown && status.since >= entry.asked_at
            })
        };
        let entries = entries(list);
        let mut asked = entries.iter().filter(|it| it.awaits_confirmation());
        asked.all(was_asked)
    });
    assert!(are_all_asked.await, "somebody was not asked");
}

/// Returns the code in a message.
pub(crate) fn code(message: &Received) -> String {
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

/// Adds codes to people to the ledger, each with a state since a while ago.
pub(crate) async fn add_deliveries(
    list: &dyn Waitlist,
    people: &[(&str, DeliveryState, Option<SystemTime>)],
) {
    add_deliveries_of(list, MessageId::confirmation(), people).await;
}

/// The same for another message.
pub(crate) async fn add_deliveries_of(
    list: &dyn Waitlist,
    id: MessageId,
    people: &[(&str, DeliveryState, Option<SystemTime>)],
) {
    let key = list.list_key().await.expect("a key");
    let message = Message::new(id.clone(), SystemTime::now(), "code");
    list.add_message(message).await.expect("a message");
    let deliveries = people.iter().map(|(typed, state, since)| Delivery {
        status: DeliveryStatus {
            since: *since,
            ..DeliveryStatus::new(*state)
        },
        ..Delivery::waiting(key.hash(email(typed).key()))
    });
    let added = list.add_many_deliveries(&id, deliveries.collect()).await;
    assert_eq!(added, Ok(true));
}

/// Adds messages to people to the ledger, which the mail server has accepted a while ago.
pub(super) async fn add_accepted(list: &dyn Waitlist, people: &[(&str, Duration)]) {
    let now = SystemTime::now();
    let accepted = |(typed, age): &(_, _)| (*typed, DeliveryState::Accepted, Some(now - *age));
    add_deliveries(list, &people.iter().map(accepted).collect::<Vec<_>>()).await;
}

/// Joins as on a page that asks for a confirmation.
pub(crate) async fn join_asked(list: &dyn Waitlist, typed: &str, age: Duration) {
    let joined_at = SystemTime::now() - age;
    let entry = WaitlistEntry {
        asked_at: Some(joined_at),
        ..WaitlistEntry::new(email(typed), joined_at)
    };
    list.join(entry).await.expect("a response");
}

/// Begins the welcome message an hour ago, as another server has.
pub(crate) async fn begin_welcome(list: &dyn Waitlist) {
    let begun_at = SystemTime::now() - Duration::from_secs(60 * 60);
    let message = Message::new(MessageId::welcome(), begun_at, "Welcome");
    list.add_message(message).await.expect("a message");
}

/// Joins, and confirms a while ago.
pub(crate) async fn join_confirmed(list: &dyn Waitlist, typed: &str, age: Duration) {
    join_asked(list, typed, age).await;
    let fact = Fact::ConfirmedAt(SystemTime::now() - age);
    let added = add_fact(list, typed, fact).await;
    assert_eq!(added, Ok(true));
}

/// Begins a delivery this number of times, as another process does. Each attempt has the same result.
pub(crate) async fn add_attempts(
    list: &dyn Waitlist,
    number: u32,
    count: u32,
    status: &DeliveryStatus,
) {
    let id = MessageId::confirmation();
    let mut start = delivery_start(list, number).await;
    for _ in 0..count {
        let begun = list.begin_deliveries(&id, vec![start]).await;
        assert_eq!(begun, Ok(vec![true]));
        let result = start.result(status.clone());
        start.attempts += 1;
        start.state = status.state;
        assert_eq!(list.finish_deliveries(&id, vec![result]).await, Ok(()));
    }
}

/// Returns what a process passes that begins a delivery.
pub(super) async fn delivery_start(list: &dyn Waitlist, number: u32) -> DeliveryStart {
    let deliveries = list.deliveries(&MessageId::confirmation(), 0).await;
    deliveries.expect("a response")[number as usize].start(number)
}
