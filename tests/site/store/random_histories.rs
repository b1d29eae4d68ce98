//! Random histories of a list, with restarts and kills: each store must behave like the model.
//!
//! `PROPTEST_CASES=100 cargo test random_histories` runs more cases.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{Email, Erasure, Fact, OwnerList, Source, Waitlist, WaitlistEntry};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use tokio::{runtime::Runtime, task::JoinSet};

use super::{
    SledFixture, StoreFixture, TestDatabase, email, entries, reference_model::ReferenceModel,
};

prop_state_machine! {
    #![proptest_config(config(48))]

    #[test]
    fn sled_matches_the_model(sequential 1..40 => StoreAndModel<SledFixture>);
}

prop_state_machine! {
    #![proptest_config(config(6))]

    #[test]
    fn postgres_matches_the_model(sequential 1..40 => StoreAndModel<TestDatabase>);
}

/// Runs this many cases, unless `PROPTEST_CASES` says otherwise.
pub(super) fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let is_set = env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if is_set { default.cases } else { cases },
        ..default
    }
}

/// An event in a history. People are numbers.
#[derive(Clone, Debug)]
enum Event {
    Join(SignUp),
    /// Concurrent joins.
    JoinTogether(Vec<SignUp>),
    Erase(u8),
    /// Erases people and suppresses them.
    Suppress(Vec<u8>),
    /// An import.
    Import(Vec<SignUp>),
    /// Suppresses those people who are not listed, or await a confirmation.
    SuppressUnlisted(Vec<u8>),
    /// Gives a person the address of another.
    Correct(u8, SignUp),
    /// Records that people have confirmed their addresses.
    Record(Vec<(u8, u16)>),
    Compact,
    /// The process stops, and starts again.
    Restart,
    /// The process is killed, and starts again with the files as they are at that moment.
    Kill,
}

#[derive(Clone, Copy, Debug)]
struct SignUp {
    person: u8,
    in_capitals: bool,
    millis: u16,
    source: Option<u8>,
    asked: Option<u16>,
    confirmed: Option<u16>,
}

impl SignUp {
    fn entry(self) -> WaitlistEntry {
        WaitlistEntry {
            email: email(&address(self.person, self.in_capitals)),
            joined_at: time(self.millis),
            source: self.source.map(source),
            asked_at: self.asked.map(time),
            confirmed_at: self.confirmed.map(time),
        }
    }
}

fn time(millis: u16) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.into())
}

/// Returns one of four sources. Some are long, to fill records.
fn source(number: u8) -> Source {
    let filling = "x".repeat(usize::from(number) * 20);
    format!("source{number}{filling}")
        .parse()
        .expect("a source")
}

/// Returns the address of a person. Some addresses are long, to fill records.
fn address(person: u8, in_capitals: bool) -> String {
    let filling = "x".repeat(usize::from(person % 4) * 15);
    let address = format!("person{person}{filling}@example.com");
    if in_capitals {
        address.to_uppercase()
    } else {
        address
    }
}

/// The people on the list, and the suppressed ones, from which the next event is chosen.
struct People;

#[derive(Clone, Debug, Default)]
struct PeopleState {
    /// Whether each of them awaits a confirmation.
    listed: BTreeMap<u8, bool>,
    suppressed: BTreeSet<u8>,
}

impl PeopleState {
    fn join(&mut self, sign_up: &SignUp) {
        let awaits = sign_up.entry().awaits_confirmation();
        self.listed.entry(sign_up.person).or_insert(awaits);
        if !awaits {
            self.suppressed.remove(&sign_up.person);
        }
    }
}

impl ReferenceStateMachine for People {
    type State = PeopleState;
    type Transition = Event;

    fn init_state() -> BoxedStrategy<Self::State> {
        Just(PeopleState::default()).boxed()
    }

    fn transitions(state: &Self::State) -> BoxedStrategy<Event> {
        let sign_up = || {
            let facts = (
                proptest::option::of(0u8..4),
                proptest::option::of(0u16..1000),
                proptest::option::of(0u16..1000),
            );
            (0u8..60, any::<bool>(), 0u16..1000, facts).prop_map(
                |(person, in_capitals, millis, (source, asked, confirmed))| SignUp {
                    person,
                    in_capitals,
                    millis,
                    source,
                    asked,
                    confirmed,
                },
            )
        };
        let people: Vec<_> = state.listed.keys().copied().chain([200]).collect();
        let some_people = || prop::collection::vec(0u8..60, 1..20);
        prop_oneof![
            6 => sign_up().prop_map(Event::Join),
            4 => prop::collection::vec(sign_up(), 2..80).prop_map(Event::JoinTogether),
            3 => prop::sample::select(people.clone()).prop_map(Event::Erase),
            3 => some_people().prop_map(Event::Suppress),
            3 => prop::collection::vec(sign_up(), 1..80).prop_map(Event::Import),
            1 => some_people().prop_map(Event::SuppressUnlisted),
            3 => (prop::sample::select(people.clone()), sign_up())
                .prop_map(|(person, new)| Event::Correct(person, new)),
            3 => prop::collection::vec((prop::sample::select(people), 0u16..1000), 1..40)
                .prop_map(Event::Record),
            1 => Just(Event::Compact),
            1 => Just(Event::Restart),
            2 => Just(Event::Kill),
        ]
        .boxed()
    }

    fn apply(mut state: Self::State, event: &Event) -> Self::State {
        if let Event::Join(sign_up) = event {
            state.join(sign_up);
        }
        if let Event::JoinTogether(all) = event {
            let mut seen = BTreeSet::new();
            let first = all.iter().filter(|sign_up| seen.insert(sign_up.person));
            first.for_each(|sign_up| state.join(sign_up));
        }
        let PeopleState { listed, suppressed } = &mut state;
        match event {
            Event::Import(all) => {
                for sign_up in all {
                    if !suppressed.contains(&sign_up.person) {
                        let awaits = sign_up.entry().awaits_confirmation();
                        listed.entry(sign_up.person).or_insert(awaits);
                    }
                }
            }
            Event::Suppress(people) => {
                listed.retain(|person, _| !people.contains(person));
                suppressed.extend(people);
            }
            Event::SuppressUnlisted(people) => {
                let is_member = |person: &u8| listed.get(person) == Some(&false);
                suppressed.extend(people.iter().filter(|it| !is_member(it)));
            }
            Event::Erase(person) => drop(listed.remove(person)),
            Event::Correct(old, new) => {
                if let Some(awaits) = listed.get(old).copied()
                    && !listed.contains_key(&new.person)
                {
                    listed.remove(old);
                    listed.insert(new.person, awaits);
                }
            }
            Event::Record(confirmations) => {
                for (person, _) in confirmations {
                    if let Some(awaits) = listed.get_mut(person) {
                        *awaits = false;
                        suppressed.remove(person);
                    }
                }
            }
            Event::Join(_)
            | Event::JoinTogether(_)
            | Event::Compact
            | Event::Restart
            | Event::Kill => {}
        }
        state
    }
}

/// The list and its model.
struct StoreAndModel<P> {
    runtime: Runtime,
    fixture: P,
    /// `None` only while the list is being reopened.
    list: Option<Arc<dyn Waitlist>>,
    model: ReferenceModel,
}

impl<P: StoreFixture> StoreAndModel<P> {
    fn list(&self) -> &Arc<dyn Waitlist> {
        self.list.as_ref().expect("the list is open")
    }

    /// Erases addresses from the list and from the model.
    fn erase(&self, emails: &[Email], erasure: Erasure) {
        let erased = self.runtime.block_on(self.list().erase(emails, erasure));
        let expected = self.runtime.block_on(self.model.erase(emails, erasure));
        assert_eq!(erased, expected);
    }

    fn open(&mut self) {
        self.list = Some(self.fixture.open().into());
    }
}

impl<P: StoreFixture + Default> StateMachineTest for StoreAndModel<P> {
    type SystemUnderTest = Self;
    type Reference = People;

    fn init_test(_: &PeopleState) -> Self {
        let mut state = Self {
            runtime: Runtime::new().expect("a runtime"),
            fixture: P::default(),
            list: None,
            model: ReferenceModel::over(Arc::default()),
        };
        state.open();
        state
    }

    fn apply(mut state: Self, _: &PeopleState, event: Event) -> Self {
        match event {
            Event::Join(sign_up) => {
                let joined = state.runtime.block_on(state.list().join(sign_up.entry()));
                let expected = state.runtime.block_on(state.model.join(sign_up.entry()));
                assert_eq!(joined, expected);
            }
            Event::JoinTogether(sign_ups) => {
                // Of several sign-ups of one person any may be the first, so only one is kept.
                let mut seen = BTreeSet::new();
                let first = |sign_up: &SignUp| seen.insert(sign_up.person);
                let sign_ups: Vec<_> = sign_ups.into_iter().filter(first).collect();
                let mut joins = JoinSet::new();
                for sign_up in sign_ups.clone() {
                    let list = Arc::clone(state.list());
                    let join = async move { (sign_up.person, list.join(sign_up.entry()).await) };
                    joins.spawn_on(join, state.runtime.handle());
                }
                let mut joined = state.runtime.block_on(joins.join_all());
                joined.sort_by_key(|(person, _)| *person);
                let model = |sign_up: SignUp| {
                    let joined = state.runtime.block_on(state.model.join(sign_up.entry()));
                    (sign_up.person, joined)
                };
                let mut expected: Vec<_> = sign_ups.into_iter().map(model).collect();
                expected.sort_by_key(|(person, _)| *person);
                assert_eq!(joined, expected);
            }
            Event::Erase(person) => {
                // Both spellings name one entry.
                let emails = [false, true].map(|in_capitals| email(&address(person, in_capitals)));
                state.erase(&emails, Erasure::Complete);
            }
            Event::Suppress(people) => {
                let emails = people
                    .into_iter()
                    .map(|it| email(&address(it, it % 2 == 0)));
                state.erase(&emails.collect::<Vec<_>>(), Erasure::Suppress);
            }
            Event::Import(sign_ups) => {
                let entries: Vec<_> = sign_ups.into_iter().map(SignUp::entry).collect();
                let joined = state.list().join_all(entries.clone());
                let joined = state.runtime.block_on(joined);
                let expected = state.runtime.block_on(state.model.join_all(entries));
                assert_eq!(joined, expected);
            }
            Event::SuppressUnlisted(people) => {
                let emails = people
                    .into_iter()
                    .map(|it| email(&address(it, it % 2 == 0)));
                let emails: Vec<_> = emails.collect();
                let suppressed = state.runtime.block_on(state.list().suppress(&emails));
                let expected = state.runtime.block_on(state.model.suppress(&emails));
                assert_eq!(suppressed, expected);
            }
            Event::Correct(person, new) => {
                let (old, new) = (email(&address(person, false)), new.entry().email);
                let corrected = state.runtime.block_on(state.list().correct(&old, &new));
                let expected = state.runtime.block_on(state.model.correct(&old, &new));
                assert_eq!(corrected, expected);
            }
            Event::Record(confirmations) => {
                let facts: Vec<_> = confirmations
                    .into_iter()
                    .map(|(person, at)| {
                        let email = email(&address(person, at % 2 == 0));
                        (email, Fact::ConfirmedAt(time(at)))
                    })
                    .collect();
                let recorded = state
                    .runtime
                    .block_on(state.list().add_facts(facts.clone()));
                assert_eq!(
                    recorded,
                    state.runtime.block_on(state.model.add_facts(facts))
                );
            }
            Event::Compact => {
                let compacting = super::compact(&**state.list());
                state.runtime.block_on(compacting);
            }
            Event::Restart => {
                state.list = None;
                state.open();
            }
            Event::Kill => {
                let remains = state.fixture.after_kill();
                state.list = None;
                state.fixture = remains.unwrap_or(state.fixture);
                state.open();
            }
        }
        state
    }

    fn check_invariants(state: &Self, people: &PeopleState) {
        let list = state.list();
        assert_eq!(list.count(), people.listed.len() as u64);
        assert_eq!(list.count(), state.model.count());
        // Concurrent joins with the same time may be in any order.
        let sorted = |list: &dyn Waitlist| {
            let mut entries = entries(list);
            assert!(entries.is_sorted_by_key(|entry| entry.joined_at));
            entries.sort_by_key(|entry| (entry.joined_at, entry.email.key()));
            entries
        };
        assert_eq!(sorted(&**list), sorted(&state.model));
        let suppressions = state.runtime.block_on(list.suppressions());
        let suppressions = suppressions.expect("readable");
        let suppressed = (0..60).filter(|it| suppressions.contains(&email(&address(*it, false))));
        assert!(suppressed.eq(people.suppressed.iter().copied()));
        assert_eq!(suppressions.len(), people.suppressed.len());
    }
}
