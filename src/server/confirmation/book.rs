//! The people who were asked to confirm the address, how often, and with which result.
//!
//! It is read from the ledger at the start, and has an entry of 100 to 250 bytes for each person who was ever asked.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant, SystemTime},
};

use crate::waitlist::{AddressHash, Delivery, DeliveryState, DeliveryStatus};

/// Maximum number of messages to a person.
pub(super) const MESSAGES_MAX: u8 = 5;
/// Minimum time between two messages to a person.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Number of messages to a person, after which there is a pause of a day. So there are at most three in a day.
const MESSAGES_PER_DAY: u8 = 3;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// By how much the clocks of several instances may differ.
const CLOCK_DIFFERENCE_MAX: Duration = Duration::from_secs(60 * 60);
/// How long this process relies on having seen that a person has confirmed. Another instance may have seen the person
/// leave and join again since then.
const RECORDED_MAX_AGE: Duration = Duration::from_secs(5);
/// Number of wrong codes after which the codes of a person are void, until the next message.
const TRIES_MAX: u8 = 5;

/// The first pause before a message is tried again, and the longest. The pauses double, and are three days in all
/// ([`CONFIRMATION_ATTEMPTS_MAX`](crate::waitlist::CONFIRMATION_ATTEMPTS_MAX)).
const RETRY_PAUSES: (Duration, Duration) =
    (Duration::from_secs(60), Duration::from_secs(6 * 60 * 60));

/// The people who were asked.
#[derive(Default)]
pub(super) struct Book {
    people: HashMap<AddressHash, Person>,
    /// When the messages of the last day were sent.
    sent: VecDeque<SystemTime>,
    /// Wrong codes of people on the list that another instance has asked a moment ago, until the next refresh.
    asked_elsewhere: HashMap<AddressHash, u8>,
    /// The number of deliveries of each message in the ledger.
    known: [u32; MESSAGES_MAX as usize],
}

/// A person who was asked.
#[derive(Clone, Debug)]
pub(super) struct Person {
    /// The number of the last message, from 1.
    pub(super) message: u8,
    /// The number of its delivery.
    pub(super) delivery: u32,
    pub(super) status: DeliveryStatus,
    pub(super) attempts: u32,
    /// Wrong codes since that message.
    tries: u8,
    pub(super) is_confirmed: bool,
    /// When this process has last seen that the list says that the person has confirmed.
    recorded_at: Option<Instant>,
    expiry: Expiry,
    /// When the person has last signed up, since the start of this process.
    signed_up_at: Option<SystemTime>,
    /// When this process has last recorded in the list that the person has signed up again.
    recorded_return: Option<SystemTime>,
}

/// Whether a person is erased, because time is up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expiry {
    None,
    /// The person will be, unless something happens first.
    Due,
    /// The store is erasing the person.
    Erasing,
}

impl Book {
    /// Takes the ledger into account: the deliveries of each message, in the order of the messages. Other instances may
    /// have changed it.
    pub(super) fn refresh(&mut self, ledger: &[(u8, Vec<Delivery>)], now: SystemTime) {
        self.sent.clear();
        self.asked_elsewhere.clear();
        for (message, deliveries) in ledger {
            for (number, delivery) in (0..).zip(deliveries) {
                let mut status = delivery.status.clone();
                // Another instance sends it, or this one could not record the result. Nobody is to send it now.
                if status.state == DeliveryState::Sending {
                    status.state = DeliveryState::Unknown;
                    let known = self.people.get(&delivery.recipient);
                    let known = known.filter(|it| it.message == *message);
                    status.since = known.and_then(|it| it.status.since).or(Some(now));
                }
                let is_recent = |sent_at: &SystemTime| age_in_budget(*sent_at, now) < DAY;
                if status.state.counts_against_budget() {
                    self.sent.extend(status.since.filter(is_recent));
                }
                let known = self.people.entry(delivery.recipient);
                let person = known.or_insert_with(|| Person::asked(*message, number));
                if *message > person.message {
                    (person.message, person.delivery, person.tries) = (*message, number, 0);
                    // Another instance has asked again, because the person had left and joined again.
                    (person.is_confirmed, person.recorded_at) = (false, None);
                }
                if *message == person.message {
                    (person.status, person.attempts) = (status, delivery.attempts);
                }
            }
            self.known[usize::from(*message) - 1] = deliveries.len() as u32;
        }
        self.sent.make_contiguous().sort_unstable();
    }

    /// Returns the number of deliveries of a message.
    pub(super) fn known(&self, message: u8) -> u32 {
        self.known[usize::from(message) - 1]
    }

    /// Returns a person by the hashes of the address under all keys of the list. If several lists have asked
    /// the person and were imported into one, this is the entry with the most messages.
    pub(super) fn find(&self, hashes: &[AddressHash]) -> Option<&Person> {
        self.people.get(self.find_hash(hashes)?)
    }

    fn find_mut(&mut self, hashes: &[AddressHash]) -> Option<&mut Person> {
        self.people.get_mut(self.find_hash(hashes)?)
    }

    fn find_hash<'a>(&self, hashes: &'a [AddressHash]) -> Option<&'a AddressHash> {
        let known = hashes.iter().filter(|hash| self.people.contains_key(hash));
        known.max_by_key(|hash| self.people[hash].message)
    }

    /// Returns the number of the next message to a person who has signed up, or signed up again. Returns `None` if the
    /// person must wait, or has confirmed, or was on the list before people were asked.
    pub(super) fn next_message(
        &self,
        hashes: &[AddressHash],
        is_new: bool,
        now: SystemTime,
    ) -> Option<u8> {
        let Some(person) = self.find(hashes) else {
            return is_new.then_some(1);
        };
        if person.is_confirmed || !person.is_done() || person.message >= MESSAGES_MAX {
            return None;
        }
        let pause = if person.message.is_multiple_of(MESSAGES_PER_DAY) {
            DAY
        } else {
            INTERVAL
        };
        let since = person.status.since.unwrap_or(now);
        (age(since, now) >= pause).then_some(person.message + 1)
    }

    /// Notes that a message to a person is in the ledger.
    pub(super) fn add(&mut self, hash: AddressHash, message: u8) {
        let known = &mut self.known[usize::from(message) - 1];
        let person = Person::asked(message, *known);
        *known += 1;
        let signed_up_at = self.people.get(&hash).and_then(|it| it.signed_up_at);
        let person = Person {
            signed_up_at,
            ..person
        };
        self.people.insert(hash, person);
    }

    /// Notes that a person is about to sign up, perhaps again. Then the person is not erased. Returns false if that is
    /// happening at this moment: then wait until it is done, so that the person joins as somebody new.
    pub(super) fn note_return(&mut self, hashes: &[AddressHash], now: SystemTime) -> bool {
        let Some(person) = self.find_mut(hashes) else {
            return true;
        };
        if person.expiry != Expiry::Erasing {
            person.expiry = Expiry::None;
            person.signed_up_at = Some(now);
        }
        person.expiry == Expiry::None
    }

    /// Returns whether the list must note durably that a person who was asked has signed up again: nothing else says so
    /// to other instances, and after a restart. Once in an hour is enough, because nobody is erased within a day.
    pub(super) fn must_record_return(&mut self, hashes: &[AddressHash], now: SystemTime) -> bool {
        let Some(person) = self.find_mut(hashes) else {
            return false;
        };
        let last = person.recorded_return.max(person.status.since);
        let is_due = !person.is_confirmed && last.is_none_or(|last| age(last, now) >= INTERVAL);
        if is_due {
            person.recorded_return = Some(now);
        }
        is_due
    }

    /// Notes that the return of a person could not be recorded.
    pub(super) fn undo_record_return(&mut self, hashes: &[AddressHash]) {
        if let Some(person) = self.find_mut(hashes) {
            person.recorded_return = None;
        }
    }

    /// Notes that a person has signed up, perhaps again, or after having left.
    pub(super) fn note_sign_up(&mut self, hashes: &[AddressHash], is_new: bool, now: SystemTime) {
        if let Some(person) = self.find_mut(hashes) {
            person.is_confirmed &= !is_new;
            person.recorded_at = person.recorded_at.filter(|_| !is_new);
            person.signed_up_at = Some(now);
        }
    }

    /// Notes the result of an attempt to send the message.
    pub(super) fn finish(&mut self, hashes: &[AddressHash], status: &DeliveryStatus) {
        if let Some(person) = self.find_mut(hashes) {
            person.status = status.clone();
            person.attempts += 1;
        }
        if status.state.counts_against_budget() {
            self.sent.extend(status.since);
        }
    }

    /// Returns how long to wait until another message fits into the budget of a day.
    pub(super) fn wait_for_budget(&mut self, per_day: u32, now: SystemTime) -> Option<Duration> {
        self.sent
            .retain(|sent_at| age_in_budget(*sent_at, now) < DAY);
        let excess = self.sent.len().checked_sub(per_day as usize)?;
        Some(DAY.saturating_sub(age_in_budget(self.sent[excess], now)))
    }

    /// Counts a code that a person has entered. Returns the number of the last message that the person can have had, or
    /// `None` if there were too many wrong codes. Another instance may have sent one since the last refresh.
    pub(super) fn try_code(&mut self, hashes: &[AddressHash]) -> Option<u8> {
        let person = self.find_mut(hashes)?;
        person.tries = person.tries.saturating_add(1);
        (person.tries <= TRIES_MAX).then_some((person.message + 1).min(MESSAGES_MAX))
    }

    /// Counts a code of a person on the list that this instance has not asked. Returns the number of the last message
    /// that the person can have had, or `None` if there were too many wrong codes.
    pub(super) fn try_code_from_elsewhere(&mut self, hash: AddressHash) -> Option<u8> {
        let tries = self.asked_elsewhere.entry(hash).or_default();
        *tries = tries.saturating_add(1);
        (*tries <= TRIES_MAX).then_some(2)
    }

    /// Takes back a code that was counted.
    pub(super) fn undo_try(&mut self, hashes: &[AddressHash]) {
        if let Some(person) = self.find_mut(hashes) {
            person.tries = person.tries.saturating_sub(1);
            return;
        }
        for hash in hashes {
            if let Some(tries) = self.asked_elsewhere.get_mut(hash) {
                *tries = tries.saturating_sub(1);
            }
        }
    }

    /// Notes that a person has confirmed the address. Returns whether this is in time.
    pub(super) fn confirm(&mut self, hashes: &[AddressHash]) -> bool {
        let Some(person) = self.find_mut(hashes) else {
            return true;
        };
        if person.expiry != Expiry::Erasing {
            person.is_confirmed = true;
            person.expiry = Expiry::None;
        }
        person.is_confirmed
    }

    /// Notes that the list says that a person has confirmed.
    pub(super) fn note_recorded(&mut self, hashes: &[AddressHash]) {
        if let Some(person) = self.find_mut(hashes) {
            (person.is_confirmed, person.recorded_at) = (true, Some(Instant::now()));
        }
    }

    /// Returns whether the list has said a moment ago that a person has confirmed.
    pub(super) fn is_recorded(&self, hashes: &[AddressHash]) -> bool {
        let recorded_at = self.find(hashes).and_then(|person| person.recorded_at);
        recorded_at.is_some_and(|at| at.elapsed() < RECORDED_MAX_AGE)
    }

    /// Notes that the confirmation of a person could not be recorded.
    pub(super) fn undo_confirm(&mut self, hashes: &[AddressHash]) {
        if let Some(person) = self.find_mut(hashes) {
            person.is_confirmed = false;
        }
    }

    /// Marks a person as due for erasure whose time is up, since the last message and the last sign-up. Returns false if
    /// it is not, or the person has confirmed.
    pub(super) fn mark_due(
        &mut self,
        hashes: &[AddressHash],
        last_sign_up: SystemTime,
        lifetime: Duration,
        now: SystemTime,
    ) -> bool {
        let Some(person) = self.find_mut(hashes) else {
            return false;
        };
        let moments = [person.status.since, person.signed_up_at, Some(last_sign_up)];
        let is_old = |moment: SystemTime| {
            let age = now.duration_since(moment);
            age.is_ok_and(|age| age >= lifetime)
        };
        let is_over = person.status.since.is_some() && moments.into_iter().flatten().all(is_old);
        let is_expiring = is_over && person.is_done() && !person.is_confirmed;
        if is_expiring {
            person.expiry = Expiry::Due;
        }
        is_expiring
    }

    /// Notes that a person is being erased. Returns false if the person has come back or confirmed before.
    pub(super) fn begin_erasure(&mut self, hashes: &[AddressHash]) -> bool {
        let person = self.find_mut(hashes);
        let Some(person) = person.filter(|person| person.expiry == Expiry::Due) else {
            return false;
        };
        person.expiry = Expiry::Erasing;
        true
    }

    /// Notes that a person was erased, or that this has failed.
    pub(super) fn end_erasure(&mut self, hashes: &[AddressHash]) {
        if let Some(person) = self.find_mut(hashes) {
            person.expiry = Expiry::None;
        }
    }
}

/// Returns how long ago something was. If that is more than an hour in the future, the clock was wrong at the time, and
/// it counts as long ago. The clocks of several instances may differ by less.
fn age(then: SystemTime, now: SystemTime) -> Duration {
    match now.duration_since(then) {
        Ok(age) => age,
        Err(error) if error.duration() < CLOCK_DIFFERENCE_MAX => Duration::ZERO,
        Err(_) => Duration::MAX,
    }
}

/// Like [`age`], for the budget of a day: a clock that was set back by hours must not give another budget. A time that is
/// further in the future comes from a clock that was wrong.
fn age_in_budget(sent_at: SystemTime, now: SystemTime) -> Duration {
    match now.duration_since(sent_at) {
        Err(error) if error.duration() < DAY => Duration::ZERO,
        _ => age(sent_at, now),
    }
}

impl Person {
    /// A person whose message is in the ledger.
    fn asked(message: u8, delivery: u32) -> Self {
        Self {
            message,
            delivery,
            status: DeliveryStatus::new(DeliveryState::Waiting),
            attempts: 0,
            tries: 0,
            is_confirmed: false,
            recorded_at: None,
            expiry: Expiry::None,
            signed_up_at: None,
            recorded_return: None,
        }
    }

    /// Returns whether nothing more happens with the last message.
    pub(super) fn is_done(&self) -> bool {
        self.status.state.is_confirmation_done(self.attempts)
    }

    /// Returns the pause before the message is tried again.
    pub(super) fn retry_pause(&self) -> Duration {
        let (first, longest) = RETRY_PAUSES;
        let doublings = self.attempts.saturating_sub(1).min(16);
        (first * 2_u32.pow(doublings)).min(longest)
    }
}
