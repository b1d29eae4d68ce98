//! The ledger of messages, with many deliveries. Every store passes this test, and those of `random_histories`.

use std::time::{Duration, UNIX_EPOCH};

use landing::waitlist::{
    AddressHash, Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, ListKey,
    Message, MessageId, ServerReply, StoreError,
};

use super::{StoreFixture, many_items::ManyItems};

conformance_tests! {
    keeps_many_deliveries,
    deliveries_are_given_up_in_one_step,
}

pub(super) fn id(text: &str) -> MessageId {
    text.parse().expect("an id")
}

pub(super) fn hash(person: u32) -> AddressHash {
    let key = ListKey::from_slice(&[7; 32]).expect("32 bytes");
    key.hash(format!("{person}@example.com"))
}

pub(super) fn status(state: DeliveryState, reply: Option<(u16, &str)>) -> DeliveryStatus {
    DeliveryStatus {
        state,
        since: Some(UNIX_EPOCH + Duration::from_millis(1_700_000_001_456)),
        reply: reply.map(|(code, text)| ServerReply::new(code, text)),
    }
}

pub(super) fn start(number: u32, state: DeliveryState, attempts: u32) -> DeliveryStart {
    DeliveryStart {
        number,
        recipient: hash(number),
        state,
        attempts,
    }
}

pub(super) fn result(number: u32, attempt: u32, status: DeliveryStatus) -> DeliveryResult {
    DeliveryResult {
        number,
        recipient: hash(number),
        attempt,
        status,
    }
}

/// Returns whether a delivery in a state may have this result of its last attempt.
pub(super) fn may_become(state: DeliveryState, result: &DeliveryResult) -> bool {
    match state {
        DeliveryState::Sending | DeliveryState::Unknown => true,
        DeliveryState::Waiting | DeliveryState::Deferred
            if result.status.state == DeliveryState::Skipped =>
        {
            true
        }
        state => state == result.status.state,
    }
}

async fn keeps_many_deliveries(fixture: impl StoreFixture) {
    const MANY: u32 = 10_000;
    let list = fixture.open();
    let launch = id("launch");
    let message = Message::new(launch.clone(), UNIX_EPOCH, "Hi");
    assert_eq!(list.add_message(message).await, Ok(()));
    let waiting = (0..MANY).map(|it| Delivery::waiting(hash(it)));
    let added = list.add_many_deliveries(&launch, waiting.collect()).await;
    assert_eq!(added, Ok(true));
    let starts = (0..MANY).map(|it| start(it, DeliveryState::Waiting, 0));
    let begun = list.begin_many(&launch, starts.collect()).await;
    assert_eq!(begun, Ok(vec![true; MANY as usize]));
    let accepted = status(DeliveryState::Accepted, Some((250, "Ok")));
    let results = (0..MANY).map(|number| result(number, 1, accepted.clone()));
    assert_eq!(list.finish_many(&launch, results.collect()).await, Ok(()));
    drop(list);
    let deliveries = fixture.open().deliveries(&launch, 0).await;
    let expected = (0..MANY).map(|it| Delivery {
        status: accepted.clone(),
        attempts: 1,
        ..Delivery::waiting(hash(it))
    });
    assert!(deliveries == Ok(expected.collect()), "a delivery differs");
}

/// Without an attempt that a kill would leave unknown.
async fn deliveries_are_given_up_in_one_step(fixture: impl StoreFixture) {
    let (list, launch) = (fixture.open(), id("launch"));
    let message = Message::new(launch.clone(), UNIX_EPOCH, "Hi");
    assert_eq!(list.add_message(message).await, Ok(()));
    let waiting = (0..3).map(|it| Delivery::waiting(hash(it)));
    let added = list.add_deliveries(&launch, 0, waiting.collect()).await;
    assert_eq!(added, Ok(true));
    let starts = [1, 2].map(|it| start(it, DeliveryState::Waiting, 0));
    let begun = list.begin_deliveries(&launch, starts.to_vec()).await;
    assert_eq!(begun, Ok(vec![true, true]));
    let deferred = result(1, 1, status(DeliveryState::Deferred, Some((450, "busy"))));
    let finished = list.finish_deliveries(&launch, vec![deferred]).await;
    assert_eq!(finished, Ok(()));
    let skipped = status(DeliveryState::Skipped, None);
    let give_up = |number, attempt| vec![result(number, attempt, skipped.clone())];
    for (number, attempts, expected) in [
        (0, 0, Ok(())),
        (1, 0, Err(StoreError::Superseded)),
        (1, 1, Ok(())),
        // It is being sent.
        (2, 0, Err(StoreError::Superseded)),
    ] {
        let given_up = list.finish_deliveries(&launch, give_up(number, attempts));
        assert_eq!(given_up.await, expected, "{number} {attempts}");
    }
    let deliveries = list.deliveries(&launch, 0).await.expect("no error");
    let states: Vec<_> = deliveries.iter().map(|it| it.status.state).collect();
    use DeliveryState::{Sending, Skipped};
    assert_eq!(states, [Skipped, Skipped, Sending]);
}
