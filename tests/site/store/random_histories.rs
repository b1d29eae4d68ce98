//! Random histories of a list and its ledger, with restarts and kills: each store must behave like the model.
//!
//! `PROPTEST_CASES=100 cargo test random_histories` runs more cases.

use std::{collections::BTreeSet, env, fmt::Debug, sync::Arc};

use futures_util::future::join_all;
use landing::waitlist::{
    Delivery, DeliveryState, EmailDomain, Erasure, Fact, Message, MessageId, Selection,
    Suppressions, Waitlist,
};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};

use super::{
    MemoryFixture, SledFixture, StoreFixture, TestDatabase,
    calls::{Call, SignUp, source, time},
    email,
    events::events,
    ledger::{hash, id, result, start, status},
    read_on_thread, run, selected,
};

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn sled_matches_the_model(events in vec(event(), 1..60)) {
        run(SledFixture::default(), |fixture| compare(fixture, events, false));
    }
}

proptest! {
    #![proptest_config(config(8))]

    // Another instance may hold the deliveries, so they stay until their leases end.
    #[test]
    fn postgres_matches_the_model(events in vec(event(), 1..60)) {
        run(TestDatabase::default(), |fixture| compare(fixture, events, true));
    }
}

/// Runs this many cases, unless `PROPTEST_CASES` says otherwise.
fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let is_set = env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if is_set { default.cases } else { cases },
        ..default
    }
}

/// An event in a history.
#[derive(Clone, Debug)]
enum Event {
    Call(Call),
    /// Concurrent joins.
    JoinTogether(Vec<SignUp>),
    /// Changes the deliveries of a message.
    Change(u8, Change),
    Compact,
    /// The process stops, and starts again.
    Restart,
    /// The process is killed, and starts again with the files as they are at that moment.
    Kill,
}

/// A change to the deliveries of a message.
#[derive(Clone, Debug)]
enum Change {
    /// Adds some with a state, by a caller who knows of this number too many, or too few if it is negative.
    Add(i32, u32, DeliveryState),
    Begin(Numbered),
    Finish(Numbered),
}

/// States for some deliveries, each at most once, and how many attempts behind the caller is. Without a state, a delivery is
/// begun in the one that it has, and accepted.
type Numbered = Vec<(u32, (Option<DeliveryState>, u32))>;

/// The people have these numbers.
const PEOPLE: u8 = 60;

/// Returns the address of a person. Some addresses are long, to fill records.
fn address(person: u8, in_capitals: bool) -> String {
    let filling = "x".repeat(usize::from(person % 4) * 15);
    let domain = ["com", "org"][usize::from(person % 2)];
    let address = format!("person{person}{filling}@example.{domain}");
    match in_capitals {
        true => address.to_uppercase(),
        false => address,
    }
}

fn typed() -> impl Strategy<Value = String> {
    (0..PEOPLE, any::<bool>()).prop_map(|(person, in_capitals)| address(person, in_capitals))
}

fn sign_up() -> impl Strategy<Value = SignUp> {
    let facts = (
        option::of(0u8..4),
        option::of(0u16..1000),
        option::of(0u16..1000),
    );
    (typed(), 0u16..1000, facts).prop_map(|(typed, millis, (source, asked, confirmed))| SignUp {
        typed,
        millis,
        source,
        asked,
        confirmed,
    })
}

fn fact() -> impl Strategy<Value = Fact> {
    (any::<bool>(), 0u16..1000).prop_map(|(is_confirmation, at)| match is_confirmation {
        true => Fact::ConfirmedAt(time(at)),
        false => Fact::AskedAt(time(at)),
    })
}

fn erasure() -> impl Strategy<Value = Erasure> {
    let unconfirmed = (0u16..1000).prop_map(|it| Erasure::Unconfirmed { before: time(it) });
    prop_oneof![
        2 => Just(Erasure::Complete),
        3 => Just(Erasure::Suppress),
        1 => unconfirmed,
    ]
}

fn numbered() -> impl Strategy<Value = Numbered> {
    let behind = select(&[0u32, 0, 0, 1][..]);
    let state = option::weighted(0.3, select(&DeliveryState::ALL[..]));
    let states = btree_map(0..20u32, (state, behind), 0..20);
    states.prop_map(|states| states.into_iter().collect())
}

fn event() -> impl Strategy<Value = Event> {
    let people = || vec(typed(), 0..20);
    // Most changes are to one message, so that they meet the same deliveries.
    let message = || select(&[0u8, 0, 0, 1, 2][..]);
    let added = |(message, text): (u8, u8)| {
        let begun_at = time(u16::from(10 * message + text));
        let message = Message::new(name(message), begun_at, &format!("Hi {text}"));
        message.with_text_digest((text % 2 == 0).then_some([text; 32]))
    };
    let call = prop_oneof![
        6 => sign_up().prop_map(Call::Join),
        3 => vec(sign_up(), 0..80).prop_map(Call::Import),
        6 => (people(), erasure()).prop_map(|(people, erasure)| Call::Erase(people, erasure)),
        3 => (typed(), typed()).prop_map(|(old, new)| Call::Correct(old, new)),
        3 => vec((typed(), fact()), 1..8).prop_map(Call::Record),
        1 => people().prop_map(Call::Suppress),
        1 => people().prop_map(Call::Lift),
        3 => (message(), 0..5u8).prop_map(move |it| Call::AddMessage(added(it))),
    ];
    let ahead = select(&[-1, 0, 0, 0, 1][..]);
    let state = select(&DeliveryState::ALL[..]);
    let change = prop_oneof![
        3 => (ahead, 1..30u32, state).prop_map(|(ahead, count, state)| Change::Add(ahead, count, state)),
        5 => numbered().prop_map(Change::Begin),
        5 => numbered().prop_map(Change::Finish),
    ];
    prop_oneof![
        26 => call.prop_map(Event::Call),
        4 => vec(sign_up(), 2..80).prop_map(Event::JoinTogether),
        14 => (message(), change).prop_map(|(message, change)| Event::Change(message, change)),
        1 => Just(Event::Compact),
        1 => Just(Event::Restart),
        2 => Just(Event::Kill),
    ]
}

fn name(message: u8) -> MessageId {
    id(&format!("message-{message}"))
}

/// Applies the same events to a store and to the model, and compares them after each.
async fn compare<F: StoreFixture>(fixture: Arc<F>, events: Vec<Event>, keeps_leases: bool) {
    let model_state = MemoryFixture::default();
    let model = model_state.open();
    // The storage that remains after each kill.
    let mut fixtures = vec![fixture];
    let mut list = fixtures[0].open();
    let key = list.list_key().await.expect("a key");
    for list in [&*list, &*model] {
        list.record_events(true).await.expect("recorded");
    }
    let mut changes = list.watch_count();
    for (number, event) in (0..).zip(events) {
        let before = list.count();
        match event.clone() {
            Event::Call(call) => make_both(&*list, &*model, &call).await,
            Event::JoinTogether(mut all) => {
                // Of several sign-ups of one person any may be the first, so only one is kept.
                let mut seen = BTreeSet::new();
                all.retain(|it| seen.insert(it.typed.to_lowercase()));
                let joins: Vec<_> = all.into_iter().map(Call::Join).collect();
                let joined = join_all(joins.iter().map(|it| it.make(&*list))).await;
                for (join, joined) in joins.iter().zip(joined) {
                    assert_eq!(joined, join.make(&*model).await, "{join:?}");
                }
            }
            Event::Change(message, change) => {
                let call = change.call(&*model, name(message)).await;
                make_both(&*list, &*model, &call).await;
            }
            Event::Compact => super::compact(&*list).await,
            Event::Restart | Event::Kill => {
                if matches!(event, Event::Kill) {
                    fixtures.extend(fixtures[fixtures.len() - 1].after_kill());
                }
                drop(list);
                list = fixtures[fixtures.len() - 1].open();
                changes = list.watch_count();
                if !keeps_leases {
                    model_state.0.lock().expect("no panic").interrupt();
                }
            }
        }
        assert_eq!(list.list_key().await, Ok(key));
        let is_reported = changes.has_changed().expect("the list is open");
        assert_eq!(is_reported, list.count() != before, "{event:?}");
        assert_eq!(*changes.borrow_and_update(), list.count());
        compare_lists(&*list, &*model, number).await;
        // A database gives the events to a process that is gone, for a while.
        if !keeps_leases {
            assert_eq!(known_events(&*list).await, known_events(&*model).await);
        }
    }
}

/// Makes a call to both, which must have the same response.
async fn make_both(list: &dyn Waitlist, model: &dyn Waitlist, call: &Call) {
    assert_eq!(call.make(list).await, call.make(model).await, "{call:?}");
}

impl Change {
    /// Returns the call that makes it. The model says what the caller knows.
    async fn call(self, model: &dyn Waitlist, message: MessageId) -> Call {
        let deliveries = model.deliveries(&message, 0).await.expect("a response");
        let known = |number: u32| {
            let known = deliveries.get(number as usize);
            known.map_or((DeliveryState::Waiting, 0), |it| {
                (it.status.state, it.attempts)
            })
        };
        match self {
            Self::Add(ahead, count, state) => {
                let known = (deliveries.len() as u32).saturating_add_signed(ahead);
                let added = (known..known + count).map(|number| Delivery {
                    status: status(state, None),
                    attempts: number % 3,
                    ..Delivery::waiting(hash(number))
                });
                Call::AddDeliveries(message, known, added.collect())
            }
            Self::Begin(starts) => {
                let starts = starts.into_iter().map(|(number, (state, behind))| {
                    let (known, attempts) = known(number);
                    let attempts = attempts.saturating_sub(behind);
                    start(number, state.unwrap_or(known), attempts)
                });
                Call::Begin(message, starts.collect())
            }
            Self::Finish(results) => {
                let results = results.into_iter().map(|(number, (state, behind))| {
                    let state = state.filter(|it| *it != DeliveryState::Sending);
                    let state = state.unwrap_or(DeliveryState::Accepted);
                    let reply = (number % 3 > 0).then_some((250, "Ok"));
                    let attempt = known(number).1.saturating_sub(behind);
                    result(number, attempt, status(state, reply))
                });
                Call::Finish(message, results.collect())
            }
        }
    }
}

/// Compares what both know. `number` chooses a selection and a person.
async fn compare_lists(list: &dyn Waitlist, model: &dyn Waitlist, number: usize) {
    let some = selections().swap_remove(number % selections().len());
    for selection in [Selection::default(), some] {
        // Concurrent joins with the same time may be in any order.
        let sorted = |list: &dyn Waitlist| {
            let mut entries = selected(list, selection.clone());
            let times: Vec<_> = entries.iter().map(|entry| entry.joined_at).collect();
            let is_ordered = match selection.newest_first {
                true => times.iter().rev().is_sorted(),
                false => times.is_sorted(),
            };
            assert!(is_ordered, "{selection:?}");
            entries.sort_by_key(|entry| (entry.joined_at, entry.email.key()));
            entries
        };
        let expected = sorted(model);
        assert_eq!(sorted(list), expected, "{selection:?}");
        let count = read_on_thread(|| {
            list.entries(selection.clone())
                .map(|it| it.selected_count())
        });
        assert_eq!(count, Ok(expected.len() as u64), "{selection:?}");
    }
    assert_eq!(list.count(), model.count());
    let person = [email(&address(number as u8 % PEOPLE, true))];
    assert_eq!(list.find(&person).await, model.find(&person).await);
    let [ours, expected] = [list.suppressions(), model.suppressions()];
    let [ours, expected] = [ours.await, expected.await].map(|it| it.expect("readable"));
    for typed in (0..PEOPLE).map(|person| address(person, false)) {
        let is_suppressed = expected.contains(&email(&typed));
        assert_eq!(ours.contains(&email(&typed)), is_suppressed, "{typed}");
    }
    assert_eq!(ours.len(), expected.len());
    let is_suppressed = list.is_suppressed(&person[0]).await;
    assert_eq!(is_suppressed, Ok(expected.contains(&person[0])));
    let sources = |it: &Suppressions| {
        let mut sources: Vec<_> = it.departures().map(|it| it.source).collect();
        sources.sort();
        sources
    };
    assert_eq!(sources(&ours), sources(&expected));
    assert_eq!(list.messages().await, model.messages().await);
    for message in (0..3).map(name) {
        let expected = model.deliveries(&message, 0).await;
        assert_eq!(list.deliveries(&message, 0).await, expected, "{message}");
        let last = list.deliveries(&message, 2).await;
        assert_eq!(last, model.deliveries(&message, 2).await, "{message}");
    }
    let [ours, expected] = [list.pending_events(), model.pending_events()];
    let [ours, expected] = [ours.await, expected.await].map(|it| it.expect("readable"));
    assert_eq!(ours.map(|it| it.count), expected.map(|it| it.count));
}

/// Returns what the events say. Of each person they are in order.
async fn known_events(list: &dyn Waitlist) -> Vec<impl Debug + PartialEq + use<>> {
    let events = events(list).await.into_iter();
    let known = events.map(|(_, it)| (it.email.key(), it.kind, it.source));
    let mut known: Vec<_> = known.collect();
    known.sort_by_key(|(key, ..)| key.clone());
    known
}

fn selections() -> Vec<Selection> {
    let domain = EmailDomain::parse("@EXAMPLE.org").expect("a domain");
    let (since, until) = (Some(time(300)), Some(time(700)));
    [
        (None, None, Some(domain), None, None, false),
        (since, until, None, None, None, true),
        (None, None, None, Some(source(1)), None, true),
        (since, None, None, None, Some(true), false),
        (None, until, None, None, Some(false), true),
    ]
    .map(
        |(since, until, domain, source, confirmed, newest_first)| Selection {
            since,
            until,
            domain,
            source,
            confirmed,
            newest_first,
        },
    )
    .to_vec()
}
