//! A history of everything that changes a list. Every call is repeated, because its caller did not get the response, and
//! the list must be as if each had been made once.

use std::time::UNIX_EPOCH;

use futures_util::FutureExt;
use landing::waitlist::{
    Delivery, DeliveryState, DeliveryStatus, Erasure, Fact, Message, Waitlist, WaitlistEntry,
};

use super::{
    MemoryFixture, StoreFixture,
    calls::{Call, SignUp, time},
    email, entries,
    ledger::{hash, id, result, start, status},
};

conformance_tests! {
    repeated_calls_are_harmless,
    calls_without_a_response_are_harmless,
}

/// The people of the history.
const PEOPLE: [&str; 9] = [
    "ann", "bob", "carl", "dan", "den", "eve", "fay", "gus", "hal",
];

fn address(name: &str) -> String {
    format!("{name}@example.com")
}

/// Everybody has a time of their own, so that the order of entries is certain.
fn sign_up(name: &str) -> SignUp {
    let number = PEOPLE.iter().position(|it| *it == name);
    SignUp {
        typed: address(name),
        millis: number.expect("a person") as u16,
        ..SignUp::default()
    }
}

/// Returns the history. At its end, each call that arrives once more, late, would change something if nothing made it
/// harmless.
pub(super) fn history() -> Vec<Call> {
    let join = |name| Call::Join(sign_up(name));
    let erase = |name, erasure| Call::Erase(vec![address(name)], erasure);
    let correct = |old, new| Call::Correct(address(old), address(new));
    let confirm = |name| Call::Record(vec![(address(name), Fact::ConfirmedAt(time(5_000)))]);
    let suppress = |name| Call::Suppress(vec![address(name)]);
    let lift = |name| Call::Lift(vec![address(name)]);
    let before = time(60_000);
    let people = vec![
        // Events that are recorded, or no longer are, by a late call would be counted.
        Call::RecordEvents(true),
        Call::RecordEvents(false),
        join("ann"),
        Call::RecordEvents(true),
        join("bob"),
        Call::FinishEvents(address("bob")),
        confirm("ann"),
        confirm("bob"),
        erase("ann", Erasure::Complete),
        // Nobody has this address yet.
        erase("eve", Erasure::Complete),
        confirm("eve"),
        join("carl"),
        // He has not confirmed since he came back.
        erase("bob", Erasure::Complete),
        join("bob"),
        join("fay"),
        erase("fay", Erasure::Unconfirmed { before }),
        // Carl leaves and comes back, and Eve leaves for good.
        erase("carl", Erasure::Suppress),
        Call::Import(vec![sign_up("carl")]),
        erase("eve", Erasure::Suppress),
        Call::Import(vec![sign_up("eve")]),
        join("carl"),
        join("dan"),
        correct("dan", "den"),
        correct("den", "dan"),
        confirm("dan"),
        // The owner has suppressed Gus by mistake, and then Eve.
        suppress("gus"),
        lift("gus"),
        lift("eve"),
        suppress("eve"),
        // Hal leaves before he has joined.
        erase("hal", Erasure::Suppress),
        join("hal"),
    ];
    people.into_iter().chain(sends()).collect()
}

/// Returns the calls of a message.
fn sends() -> Vec<Call> {
    let launch = || id("launch");
    let add = |known: u32, count| {
        let added = (known..known + count).map(|it| Delivery::waiting(hash(it)));
        Call::AddDeliveries(launch(), known, added.collect())
    };
    let begin = |starts| Call::Begin(launch(), starts);
    let finish = |results| Call::Finish(launch(), results);
    let waiting = DeliveryState::Waiting;
    let accepted = status(DeliveryState::Accepted, Some((250, "queued")));
    let given_back = |number| result(number, 1, DeliveryStatus::new(waiting));
    vec![
        Call::AddMessage(Message::new(launch(), UNIX_EPOCH, "Hi")),
        add(0, 2),
        begin(vec![start(0, waiting, 0), start(1, waiting, 0)]),
        finish(vec![given_back(0), given_back(1)]),
        begin(vec![start(1, waiting, 1)]),
        add(2, 1),
        begin(vec![start(2, waiting, 0)]),
        finish(vec![result(2, 1, accepted)]),
    ]
}

/// Makes a call, which must not fail. What the response says depends on what an earlier call has done.
pub(super) async fn make(call: &Call, list: &dyn Waitlist) {
    let response = call.make(list).await;
    assert_eq!(response.err(), None, "{call:?}");
}

/// What a list knows.
#[derive(Debug, PartialEq)]
pub(super) struct Known {
    entries: Vec<WaitlistEntry>,
    count: u64,
    suppressed: Vec<&'static str>,
    messages: Vec<Message>,
    deliveries: Vec<Delivery>,
    events: Option<u64>,
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
        deliveries: list.deliveries(&id("launch"), 0).await.expect("readable"),
        events: list
            .pending_events()
            .await
            .expect("readable")
            .map(|it| it.count),
    }
}

/// Returns what the model knows at the end of the history.
pub(super) async fn expected() -> Known {
    let model = MemoryFixture::default().open();
    for call in history() {
        make(&call, &*model).await;
    }
    let expected = known(&*model).await;
    let listed: Vec<_> = expected.entries.iter().map(|it| it.email.key()).collect();
    assert_eq!(listed, ["bob", "carl", "dan", "hal"].map(address));
    assert_eq!(expected.suppressed, ["eve"]);
    assert_eq!(expected.events, Some(17));
    expected
}

async fn repeated_calls_are_harmless(fixture: impl StoreFixture) {
    let list = fixture.open();
    for call in history() {
        make(&call, &*list).await;
        make(&call, &*list).await;
    }
    assert_eq!(known(&*list).await, expected().await);
}

/// The caller goes away once the call is in the queue or on the way. Whether it is done is then unknown.
async fn calls_without_a_response_are_harmless(fixture: impl StoreFixture) {
    let list = fixture.open();
    for call in history() {
        // Whether it is ready or not.
        drop(call.make(&*list).now_or_never());
        make(&call, &*list).await;
    }
    assert_eq!(known(&*list).await, expected().await);
}
