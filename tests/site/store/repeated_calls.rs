//! A history of everything that changes a list. Every call is repeated, because its caller did not get the response, and
//! the list must be as if each had been made once.

use std::{
    future::poll_fn,
    pin::pin,
    task::Poll,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{
    Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Erasure, Fact, Message,
    Waitlist, WaitlistEntry,
};

use super::{
    MemoryFixture, StoreFixture, email, entries, entry,
    ledger::{hash, id, result, start, status},
};

conformance_tests! {
    repeated_calls_are_harmless,
    calls_without_a_response_are_harmless,
}

/// The people of the history.
const PEOPLE: [&str; 8] = ["ann", "bob", "carl", "dan", "den", "eve", "fay", "gus"];

/// A call that changes a list.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Join(&'static str),
    Import(&'static str),
    Erase(&'static str, Erasure),
    Correct(&'static str, &'static str),
    Confirm(&'static str),
    Suppress(&'static str),
    Lift(&'static str),
    AddMessage,
    /// How many deliveries are known, and how many are added.
    AddDeliveries(u32, u32),
    Begin(Vec<DeliveryStart>),
    Finish(Vec<DeliveryResult>),
}

impl Step {
    /// Makes the call, and waits for the response. What it says depends on what an earlier call has done.
    pub(super) async fn run(&self, list: &dyn Waitlist) {
        let launch = id("launch");
        let done = match self.clone() {
            Self::Join(name) => list.join(person(name)).await.map(drop),
            Self::Import(name) => list.join_all(vec![person(name)]).await.map(drop),
            Self::Erase(name, erasure) => list
                .erase(&[email(&address(name))], erasure)
                .await
                .map(drop),
            Self::Correct(old, new) => {
                let (old, new) = (email(&address(old)), email(&address(new)));
                list.correct(&old, &new).await.map(drop)
            }
            Self::Confirm(name) => {
                let fact = Fact::ConfirmedAt(UNIX_EPOCH + Duration::from_secs(5));
                list.add_facts(vec![(email(&address(name)), fact)])
                    .await
                    .map(drop)
            }
            Self::Suppress(name) => list.suppress(&[email(&address(name))]).await.map(drop),
            Self::Lift(name) => list.lift(&[email(&address(name))]).await.map(drop),
            Self::AddMessage => {
                let message = Message::new(launch, UNIX_EPOCH, "Hi");
                list.add_message(message).await
            }
            Self::AddDeliveries(known, count) => {
                let deliveries = (known..known + count).map(|it| Delivery::waiting(hash(it)));
                list.add_deliveries(&launch, known, deliveries.collect())
                    .await
                    .map(drop)
            }
            Self::Begin(starts) => list.begin_deliveries(&launch, starts).await.map(drop),
            Self::Finish(results) => list.finish_deliveries(&launch, results).await,
        };
        done.unwrap_or_else(|error| panic!("{self:?}: {error}"));
    }
}

fn address(name: &str) -> String {
    format!("{name}@example.com")
}

/// Everybody has a time of their own, so that the order of entries is certain.
fn person(name: &str) -> WaitlistEntry {
    let number = PEOPLE.iter().position(|it| *it == name);
    entry(&address(name), number.expect("a person") as u64)
}

/// Returns the history. At its end, each call that arrives once more, late, would change something if nothing made it
/// harmless.
pub(super) fn history() -> Vec<Step> {
    use Step::{
        AddDeliveries, AddMessage, Begin, Confirm, Correct, Erase, Finish, Import, Join, Lift,
        Suppress,
    };
    let waiting = DeliveryState::Waiting;
    let before = SystemTime::now() + Duration::from_secs(60);
    let given_back = |number| result(number, 1, DeliveryStatus::new(waiting));
    let accepted = status(DeliveryState::Accepted, Some((250, "queued")));
    vec![
        Join("ann"),
        Join("bob"),
        Confirm("ann"),
        Confirm("bob"),
        Erase("ann", Erasure::Complete),
        // Nobody has this address yet.
        Erase("eve", Erasure::Complete),
        Confirm("eve"),
        Join("carl"),
        // He has not confirmed since he came back.
        Erase("bob", Erasure::Complete),
        Join("bob"),
        Join("fay"),
        Erase("fay", Erasure::Unconfirmed { before }),
        // Carl leaves and comes back, and Eve leaves for good.
        Erase("carl", Erasure::Suppress),
        Import("carl"),
        Erase("eve", Erasure::Suppress),
        Import("eve"),
        Join("carl"),
        Join("dan"),
        Correct("dan", "den"),
        Correct("den", "dan"),
        Confirm("dan"),
        // The owner has suppressed Gus by mistake, and then Eve.
        Suppress("gus"),
        Lift("gus"),
        Lift("eve"),
        Suppress("eve"),
        AddMessage,
        AddDeliveries(0, 2),
        Begin(vec![start(0, waiting, 0), start(1, waiting, 0)]),
        Finish(vec![given_back(0), given_back(1)]),
        Begin(vec![start(1, waiting, 1)]),
        AddDeliveries(2, 1),
        Begin(vec![start(2, waiting, 0)]),
        Finish(vec![result(2, 1, accepted)]),
    ]
}

/// What a list knows.
#[derive(Debug, PartialEq)]
pub(super) struct Known {
    entries: Vec<WaitlistEntry>,
    count: u64,
    suppressed: Vec<&'static str>,
    messages: Vec<Message>,
    deliveries: Vec<Delivery>,
}

/// Returns what a list knows.
pub(super) async fn known(list: &dyn Waitlist) -> Known {
    let mut suppressed = Vec::new();
    for name in PEOPLE {
        let is_suppressed = list.is_suppressed(&email(&address(name))).await;
        suppressed.extend(is_suppressed.expect("readable").then_some(name));
    }
    Known {
        entries: entries(list),
        count: list.count(),
        suppressed,
        messages: list.messages().await.expect("readable"),
        deliveries: list.deliveries(&id("launch")).await.expect("readable"),
    }
}

/// Returns what the model knows at the end of the history.
pub(super) async fn expected() -> Known {
    let model = MemoryFixture::default().open();
    for step in history() {
        step.run(&*model).await;
    }
    let expected = known(&*model).await;
    let listed: Vec<_> = expected.entries.iter().map(|it| it.email.key()).collect();
    assert_eq!(listed, ["bob", "carl", "dan"].map(address));
    assert_eq!(expected.suppressed, ["eve"]);
    expected
}

async fn repeated_calls_are_harmless(fixture: impl StoreFixture) {
    let list = fixture.open();
    for step in history() {
        step.run(&*list).await;
        step.run(&*list).await;
    }
    assert_eq!(known(&*list).await, expected().await);
}

/// The caller goes away once the call is in the queue or on the way. Whether it is done is then unknown.
async fn calls_without_a_response_are_harmless(fixture: impl StoreFixture) {
    let list = fixture.open();
    for step in history() {
        {
            let mut call = pin!(step.run(&*list));
            let polled = poll_fn(|context| Poll::Ready(call.as_mut().poll(context)));
            let _ = polled.await;
        }
        step.run(&*list).await;
    }
    assert_eq!(known(&*list).await, expected().await);
}
