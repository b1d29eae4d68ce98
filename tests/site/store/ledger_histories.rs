//! Random histories of a ledger, with restarts and kills: each store must behave like the model.

use std::time::{Duration, UNIX_EPOCH};

use landing::waitlist::{Delivery, DeliveryState, DeliveryStatus, Ledger, Message, MessageId};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::select,
};
use tokio::runtime::Runtime;

use super::{
    MemoryFixture, SledFixture, StoreFixture, TestDatabase,
    ledger::{hash, id, result, start, status},
};

/// An event in the history of a ledger.
#[derive(Clone, Debug)]
enum Event {
    AddMessage(u8),
    Add {
        message: u8,
        ahead: u32,
        count: u8,
        state: DeliveryState,
    },
    Begin {
        message: u8,
        deliveries: Vec<(u32, (DeliveryState, u32))>,
    },
    Finish {
        message: u8,
        results: Vec<(u32, (DeliveryState, u32))>,
    },
    Restart,
    Kill,
    Compact,
}

/// Returns states for some deliveries, each at most once, and how many attempts behind the caller is.
fn numbered(
    state: impl Strategy<Value = DeliveryState>,
) -> impl Strategy<Value = Vec<(u32, (DeliveryState, u32))>> {
    let behind = select(&[0u32, 0, 0, 1][..]);
    btree_map(0..40u32, (state, behind), 0..20).prop_map(|states| states.into_iter().collect())
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let state = || select(&DeliveryState::ALL[..]);
    let message = || 0..3u8;
    let event = prop_oneof![
        1 => message().prop_map(Event::AddMessage),
        3 => (message(), select(&[0u32, 0, 0, 1][..]), 0..30u8, state()).prop_map(|(message, ahead, count, state)| {
            Event::Add { message, ahead, count, state }
        }),
        5 => (message(), numbered(state()))
            .prop_map(|(message, deliveries)| Event::Begin { message, deliveries }),
        5 => (message(), numbered(state()))
            .prop_map(|(message, results)| Event::Finish { message, results }),
        1 => Just(Event::Restart),
        1 => Just(Event::Kill),
        1 => Just(Event::Compact),
    ];
    vec(event, 1..40)
}

/// Applies the same events to a store and to the model, and compares them after each.
fn compare<F: StoreFixture>(mut fixture: F, events: Vec<Event>, keeps_leases: bool) {
    let runtime = Runtime::new().expect("a runtime");
    let model = super::ReferenceModel::over(MemoryFixture::default().0);
    let mut list = fixture.open();
    let name = |message: u8| id(&format!("message-{message}"));
    let attempts = |message: &MessageId, number: u32| {
        let known = runtime.block_on(model.deliveries(message));
        let known = known.expect("a response");
        known.get(number as usize).map_or(0, |it| it.attempts)
    };
    for event in events {
        match event {
            Event::AddMessage(it) => {
                let begun_at = UNIX_EPOCH + Duration::from_millis(it.into());
                let message = Message::new(name(it), begun_at, "Hi")
                    .with_text_digest((it % 2 == 0).then_some([it; 32]));
                assert_eq!(runtime.block_on(list.add_message(message.clone())), Ok(()));
                assert_eq!(runtime.block_on(model.add_message(message)), Ok(()));
            }
            Event::Add {
                message,
                ahead,
                count,
                state,
            } => {
                let known = runtime.block_on(model.deliveries(&name(message)));
                let known = known.expect("a response").len() as u32 + ahead;
                let added: Vec<_> = (known..known + u32::from(count))
                    .map(|number| Delivery {
                        status: DeliveryStatus {
                            reply: None,
                            ..status(state, None)
                        },
                        ..Delivery::waiting(hash(number))
                    })
                    .collect();
                let outcome =
                    runtime.block_on(list.add_deliveries(&name(message), known, added.clone()));
                let expected = runtime.block_on(model.add_deliveries(&name(message), known, added));
                if count > 0 {
                    assert_eq!(outcome, expected);
                }
            }
            Event::Begin {
                message,
                deliveries,
            } => {
                let attempts = |number: u32| attempts(&name(message), number);
                let deliveries = deliveries.into_iter();
                let deliveries: Vec<_> = deliveries
                    .map(|(number, (state, behind))| {
                        start(number, state, attempts(number).saturating_sub(behind))
                    })
                    .collect();
                let begun =
                    runtime.block_on(list.begin_deliveries(&name(message), deliveries.clone()));
                let expected = model.begin_deliveries(&name(message), deliveries);
                assert_eq!(begun, runtime.block_on(expected));
            }
            Event::Finish { message, results } => {
                let attempts = |number: u32| attempts(&name(message), number);
                let results: Vec<_> = results
                    .into_iter()
                    .filter(|(_, (state, _))| *state != DeliveryState::Sending)
                    .map(|(number, (state, behind))| {
                        let attempt = attempts(number).saturating_sub(behind);
                        result(number, attempt, status(state, Some((250, "Ok"))))
                    })
                    .collect();
                let finished =
                    runtime.block_on(list.finish_deliveries(&name(message), results.clone()));
                let expected = model.finish_deliveries(&name(message), results);
                assert_eq!(finished, runtime.block_on(expected));
            }
            Event::Restart => {
                drop(list);
                list = fixture.open();
                if !keeps_leases {
                    model.restart();
                }
            }
            Event::Kill => {
                let remains = fixture.after_kill();
                drop(list);
                fixture = remains.unwrap_or(fixture);
                list = fixture.open();
                if !keeps_leases {
                    model.restart();
                }
            }
            Event::Compact => {
                runtime.block_on(super::compact(&*list));
            }
        }
        assert_eq!(
            runtime.block_on(list.messages()),
            runtime.block_on(model.messages())
        );
        for message in 0..3 {
            let deliveries = runtime.block_on(list.deliveries(&name(message)));
            assert_eq!(
                deliveries,
                runtime.block_on(model.deliveries(&name(message)))
            );
        }
    }
}

proptest! {
    #![proptest_config(super::random_histories::config(48))]

    #[test]
    fn sled_ledger_matches_the_model(events in events()) {
        compare(SledFixture::default(), events, false);
    }
}

proptest! {
    #![proptest_config(super::random_histories::config(6))]

    // Another instance may hold the deliveries, so they stay until their leases end.
    #[test]
    fn postgres_ledger_matches_the_model(events in events()) {
        compare(TestDatabase::default(), events, true);
    }
}
