//! The ledger of messages. Every store passes these tests.

use std::time::{Duration, UNIX_EPOCH};

use landing::waitlist::{
    AddressHash, Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Erasure,
    ListKey, Message, MessageId, ServerReply, Waitlist,
};

use super::{StoreFixture, email, erase, join, many_items::ManyItems};

conformance_tests! {
    new_list_has_no_messages,
    message_is_added_once,
    deliveries_are_added_only_by_a_caller_who_knows_the_others,
    added_deliveries_that_had_begun_are_unknown,
    delivery_begins_once,
    ledger_survives_corrections_erasures_and_compaction,
    knows_who_is_listed,
    keeps_many_deliveries,
}

pub(super) fn id(text: &str) -> MessageId {
    text.parse().expect("an id")
}

/// Adds a message, and a waiting delivery for each person.
pub(super) async fn begin_message(list: &dyn Waitlist, text: &str, people: u32) -> MessageId {
    let message = Message::new(
        id(text),
        UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
        "Hi",
    );
    assert_eq!(list.add_message(message).await, Ok(()));
    let deliveries = (0..people).map(|number| Delivery::waiting(hash(number)));
    let added = list
        .add_many_deliveries(&id(text), deliveries.collect())
        .await;
    assert_eq!(added, Ok(true));
    id(text)
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

pub(super) async fn states(list: &dyn Waitlist, message: &MessageId) -> Vec<DeliveryState> {
    let deliveries = list.deliveries(message).await.expect("readable");
    deliveries.iter().map(|it| it.status.state).collect()
}

pub(super) fn start(number: u32, state: DeliveryState, attempts: u32) -> DeliveryStart {
    DeliveryStart {
        number,
        state,
        attempts,
    }
}

pub(super) fn result(number: u32, attempt: u32, status: DeliveryStatus) -> DeliveryResult {
    DeliveryResult {
        number,
        attempt,
        status,
    }
}

/// The first beginnings of this many deliveries.
pub(super) fn first_starts(count: u32) -> Vec<DeliveryStart> {
    let starts = (0..count).map(|number| start(number, DeliveryState::Waiting, 0));
    starts.collect()
}

pub(super) async fn begin(list: &dyn Waitlist, message: &MessageId, start: DeliveryStart) -> bool {
    let begun = list.begin_deliveries(message, vec![start]).await;
    begun.expect("a response")[0]
}

async fn new_list_has_no_messages(fixture: impl StoreFixture) {
    let list = fixture.open();
    assert_eq!(list.messages().await, Ok(vec![]));
    let launch = id("launch");
    assert_eq!(list.deliveries(&launch).await, Ok(vec![]));
    let waiting = vec![Delivery::waiting(hash(0))];
    assert_eq!(list.add_deliveries(&launch, 0, waiting).await, Ok(false));
    assert!(!begin(&*list, &launch, start(0, DeliveryState::Waiting, 0)).await);
}

async fn message_is_added_once(fixture: impl StoreFixture) {
    let list = fixture.open();
    let time = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    let subject = "We are open \u{1f389}";
    let first = Message::new(id("launch"), time(1_700_000_000_123), subject);
    let first = first.with_text_digest(Some([7; 32]));
    let second = Message::new(id("news-2"), time(1_700_000_000_124), &"é".repeat(500));
    assert_eq!(second.subject().len(), 200);
    for message in [&first, &second, &first] {
        assert_eq!(list.add_message(message.clone()).await, Ok(()));
    }
    let again = Message::new(id("launch"), time(1_800_000_000_000), "Again");
    let again = again.with_text_digest(Some([8; 32]));
    assert_eq!(list.add_message(again).await, Ok(()));
    assert_eq!(list.messages().await, Ok(vec![first, second]));
}

async fn deliveries_are_added_only_by_a_caller_who_knows_the_others(fixture: impl StoreFixture) {
    let list = fixture.open();
    let launch = begin_message(&*list, "launch", 3).await;
    let other = begin_message(&*list, "other", 1).await;
    for known in [0, 2, 4] {
        let waiting = vec![Delivery::waiting(hash(3))];
        let added = list.add_deliveries(&launch, known, waiting).await;
        assert_eq!(added, Ok(false), "{known}");
    }
    let refused = Delivery {
        status: status(DeliveryState::Refused, Some((550, "5.1.1 no such user"))),
        ..Delivery::waiting(hash(5))
    };
    let more = [3, 4].map(|it| Delivery::waiting(hash(it))).to_vec();
    let more = [more, vec![refused.clone()]].concat();
    assert_eq!(list.add_deliveries(&launch, 3, more).await, Ok(true));
    let deliveries = list.deliveries(&launch).await.expect("readable");
    let recipients: Vec<_> = deliveries.iter().map(|it| it.recipient).collect();
    assert_eq!(recipients, (0..6).map(hash).collect::<Vec<_>>());
    assert_eq!(deliveries[4].status.state, DeliveryState::Waiting);
    assert_eq!(deliveries[5], refused);
    assert_eq!(states(&*list, &other).await, [DeliveryState::Waiting]);
}

/// The process that began them does not finish them here.
async fn added_deliveries_that_had_begun_are_unknown(fixture: impl StoreFixture) {
    let list = fixture.open();
    let launch = begin_message(&*list, "launch", 0).await;
    let begun = Delivery {
        status: status(DeliveryState::Sending, None),
        attempts: 3,
        ..Delivery::waiting(hash(0))
    };
    assert_eq!(list.add_deliveries(&launch, 0, vec![begun]).await, Ok(true));
    let deliveries = list.deliveries(&launch).await.expect("readable");
    let expected = Delivery {
        status: status(DeliveryState::Unknown, None),
        ..Delivery::waiting(hash(0))
    };
    assert_eq!(deliveries, [expected]);
    assert!(begin(&*list, &launch, start(0, DeliveryState::Unknown, 0)).await);
}

async fn delivery_begins_once(fixture: impl StoreFixture) {
    let list = fixture.open();
    let launch = begin_message(&*list, "launch", 2).await;
    let first = start(0, DeliveryState::Waiting, 0);
    for other in [
        start(0, DeliveryState::Deferred, 0),
        start(0, DeliveryState::Waiting, 1),
    ] {
        assert!(!begin(&*list, &launch, other).await, "{other:?}");
    }
    assert!(begin(&*list, &launch, first).await);
    for expected in DeliveryState::ALL {
        for attempts in [0, 1] {
            let again = start(0, expected, attempts);
            assert!(!begin(&*list, &launch, again).await, "{again:?}");
        }
    }
    assert!(!begin(&*list, &launch, start(2, DeliveryState::Waiting, 0)).await);
    let deliveries = list.deliveries(&launch).await.expect("readable");
    let begun = &deliveries[0];
    assert_eq!(
        (begun.status.state, begun.attempts),
        (DeliveryState::Sending, 1)
    );
    assert_eq!(deliveries[1], Delivery::waiting(hash(1)));
}

async fn ledger_survives_corrections_erasures_and_compaction(fixture: impl StoreFixture) {
    let list = fixture.open();
    let mut message = None;
    for number in 0..40 {
        join(&*list, &format!("{number}@example.com")).await;
        if number == 20 {
            message = Some(begin_message(&*list, "launch", 40).await);
        }
    }
    let launch = message.expect("a message");
    assert_eq!(
        list.begin_deliveries(&launch, first_starts(40)).await,
        Ok(vec![true; 40])
    );
    let results = (0..40).map(|number| {
        let text = format!("2.0.0 queued as {number}");
        result(
            number,
            1,
            status(DeliveryState::Accepted, Some((250, &text))),
        )
    });
    let results: Vec<_> = results.collect();
    assert_eq!(
        list.finish_deliveries(&launch, results.clone()).await,
        Ok(())
    );
    let long = format!("{}@example.com", "x".repeat(60));
    for number in 0..20 {
        let new = email(&format!("{number}{long}"));
        let corrected = list
            .correct(&email(&format!("{number}@example.com")), &new)
            .await;
        assert!(corrected.is_ok());
    }
    assert!(erase(&*list, "30@example.com").await);
    let left = list
        .erase(&[email("31@example.com")], Erasure::Suppress)
        .await;
    assert_eq!(left, Ok(vec![true]));
    super::compact(&*list).await;
    let deliveries = list.deliveries(&launch).await.expect("readable");
    let statuses = (0..).zip(&deliveries);
    let statuses = statuses.map(|(number, it)| result(number, it.attempts, it.status.clone()));
    assert_eq!(statuses.collect::<Vec<_>>(), results);
    let recipients: Vec<_> = deliveries.iter().map(|it| it.recipient).collect();
    assert_eq!(recipients, (0..40).map(hash).collect::<Vec<_>>());
}

async fn knows_who_is_listed(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "Ann@example.com").await;
    join(&*list, "bob@example.com").await;
    erase(&*list, "bob@example.com").await;
    let emails = ["ann@EXAMPLE.com", "bob@example.com", "eve@example.com"].map(email);
    assert_eq!(list.are_listed(&emails).await, Ok(vec![true, false, false]));
}

async fn keeps_many_deliveries(fixture: impl StoreFixture) {
    let list = fixture.open();
    let launch = begin_message(&*list, "launch", 10_000).await;
    assert_eq!(
        list.begin_many(&launch, first_starts(10_000)).await,
        Ok(vec![true; 10_000])
    );
    let accepted = status(DeliveryState::Accepted, Some((250, "Ok")));
    let results = (0..10_000).map(|number| result(number, 1, accepted.clone()));
    assert_eq!(list.finish_many(&launch, results.collect()).await, Ok(()));
    drop(list);
    let list = fixture.open();
    assert_eq!(
        states(&*list, &launch).await,
        [DeliveryState::Accepted; 10_000]
    );
    let recipients = list.deliveries(&launch).await.expect("readable");
    assert!(
        recipients
            .iter()
            .map(|it| it.recipient)
            .eq((0..10_000).map(hash))
    );
}

#[test]
fn message_ids_are_short_and_plain() {
    for valid in ["a", "launch-2026", &"x".repeat(64)] {
        assert_eq!(id(valid).to_string(), valid);
    }
    for invalid in ["", "Launch", "a b", "a_b", "é", &"x".repeat(65)] {
        let parsed = invalid.parse::<MessageId>();
        let message = "an id has 1 to 64 lower-case letters (a-z), digits and hyphens";
        assert_eq!(
            parsed.map_err(|error| error.to_string()),
            Err(message.into())
        );
    }
}
