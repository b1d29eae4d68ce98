//! The people who were asked to confirm the address, how often, and with which result.
//!
//! It is read from the ledger at the start, and has an entry of 100 to 250 bytes for each person who was ever asked.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, SystemTime},
};

use crate::waitlist::{AddressHash, Delivery, DeliveryState, DeliveryStatus};

/// Maximum number of messages to a person.
pub(super) const MESSAGES_MAX: u8 = 5;
/// Minimum time between two messages to a person.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Number of messages to a person, after which there is a pause of a day. So there are at most three in a day.
const MESSAGES_PER_DAY: u8 = 3;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Number of wrong codes after which the codes of a person are void, until the next message.
const TRIES_MAX: u8 = 5;

/// How often a message is tried. The pauses double from a minute to six hours, and are three days in all.
pub(super) const ATTEMPTS_MAX: u32 = 20;
/// The first pause before a message is tried again, and the longest.
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
    /// Whether the person is being erased, because time is up.
    is_expiring: bool,
    /// When the person has last signed up, since the start of this process.
    signed_up_at: Option<SystemTime>,
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
                // By another instance, or by this one before a crash. Nobody else is to send it now.
                if status.state == DeliveryState::Sending {
                    status.state = DeliveryState::Unknown;
                    status.since = Some(now);
                }
                let is_recent =
                    |sent_at: &SystemTime| now.duration_since(*sent_at).unwrap_or_default() < DAY;
                if counts_as_sent(status.state) {
                    self.sent.extend(status.since.filter(is_recent));
                }
                let known = self.people.entry(delivery.recipient);
                let person = known.or_insert_with(|| Person::asked(*message, number));
                if *message > person.message {
                    (person.message, person.delivery, person.tries) = (*message, number, 0);
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

    /// Returns a person by the hashes of the address under all keys of the list.
    pub(super) fn find(&self, hashes: &[AddressHash]) -> Option<&Person> {
        hashes.iter().find_map(|hash| self.people.get(hash))
    }

    fn find_mut(&mut self, hashes: &[AddressHash]) -> Option<&mut Person> {
        let hash = hashes.iter().find(|hash| self.people.contains_key(hash))?;
        self.people.get_mut(hash)
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
        let has_paused = now.duration_since(since).unwrap_or_default() >= pause;
        has_paused.then_some(person.message + 1)
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

    /// Notes that a person has signed up, perhaps again, or after having left. The person is not erased now.
    pub(super) fn note_sign_up(&mut self, hashes: &[AddressHash], is_new: bool, now: SystemTime) {
        if let Some(person) = self.find_mut(hashes) {
            person.is_confirmed &= !is_new;
            person.is_expiring = false;
            person.signed_up_at = Some(now);
        }
    }

    /// Notes the result of an attempt to send the message.
    pub(super) fn finish(&mut self, hashes: &[AddressHash], status: &DeliveryStatus) {
        if let Some(person) = self.find_mut(hashes) {
            person.status = status.clone();
            person.attempts += 1;
        }
        if counts_as_sent(status.state) {
            self.sent.extend(status.since);
        }
    }

    /// Returns how long to wait until another message fits into the budget of a day.
    pub(super) fn wait_for_budget(&mut self, per_day: u32, now: SystemTime) -> Option<Duration> {
        let age = |sent_at: &SystemTime| now.duration_since(*sent_at).unwrap_or_default();
        while self.sent.front().is_some_and(|sent_at| age(sent_at) >= DAY) {
            self.sent.pop_front();
        }
        let excess = self.sent.len().checked_sub(per_day as usize)?;
        Some(DAY.saturating_sub(age(&self.sent[excess])))
    }

    /// Counts a code that a person has entered. Returns the number of the last message, or `None` if there were too many
    /// wrong ones.
    pub(super) fn try_code(&mut self, hashes: &[AddressHash]) -> Option<u8> {
        let person = self.find_mut(hashes)?;
        person.tries += 1;
        (person.tries <= TRIES_MAX).then_some(person.message)
    }

    /// Counts a code of a person on the list that this instance has not asked. Returns the number of the last message
    /// that the person can have had, or `None` if there were too many wrong codes.
    pub(super) fn try_code_from_elsewhere(&mut self, hash: AddressHash) -> Option<u8> {
        let tries = self.asked_elsewhere.entry(hash).or_default();
        *tries = tries.saturating_add(1);
        (*tries <= TRIES_MAX).then_some(2)
    }

    /// Notes that a person has confirmed the address. Returns whether this is in time.
    pub(super) fn confirm(&mut self, hashes: &[AddressHash]) -> bool {
        let Some(person) = self.find_mut(hashes) else {
            return true;
        };
        if !person.is_expiring {
            person.is_confirmed = true;
        }
        person.is_confirmed
    }

    /// Notes that the confirmation of a person could not be recorded.
    pub(super) fn undo_confirm(&mut self, hashes: &[AddressHash]) {
        if let Some(person) = self.find_mut(hashes) {
            person.is_confirmed = false;
        }
    }

    /// Begins to erase a person whose time is up, since the last message and the last sign-up. Returns false if it is
    /// not, or the person has confirmed.
    pub(super) fn expire(
        &mut self,
        hashes: &[AddressHash],
        joined_at: SystemTime,
        lifetime: Duration,
        now: SystemTime,
    ) -> bool {
        let Some(person) = self.find_mut(hashes) else {
            return false;
        };
        let moments = [person.status.since, person.signed_up_at, Some(joined_at)];
        let is_old = |moment: SystemTime| {
            let age = now.duration_since(moment);
            age.is_ok_and(|age| age >= lifetime)
        };
        let is_over = person.status.since.is_some() && moments.into_iter().flatten().all(is_old);
        person.is_expiring = is_over && person.is_done() && !person.is_confirmed;
        person.is_expiring
    }

    /// Returns whether a person is still to be erased.
    pub(super) fn is_expiring(&self, hashes: &[AddressHash]) -> bool {
        self.find(hashes).is_some_and(|person| person.is_expiring)
    }

    /// Notes that a person stays after all.
    pub(super) fn keep(&mut self, hashes: &[AddressHash]) {
        if let Some(person) = self.find_mut(hashes) {
            person.is_expiring = false;
        }
    }
}

/// Returns whether a message counts against the budget of a day.
fn counts_as_sent(state: DeliveryState) -> bool {
    matches!(state, DeliveryState::Accepted | DeliveryState::Unknown)
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
            is_expiring: false,
            signed_up_at: None,
        }
    }

    /// Returns whether nothing more happens with the last message.
    pub(super) fn is_done(&self) -> bool {
        match self.status.state {
            DeliveryState::Waiting | DeliveryState::Sending => false,
            DeliveryState::Deferred => self.attempts >= ATTEMPTS_MAX,
            _ => true,
        }
    }

    /// Returns the pause before the message is tried again.
    pub(super) fn retry_pause(&self) -> Duration {
        let (first, longest) = RETRY_PAUSES;
        let doublings = self.attempts.saturating_sub(1).min(16);
        (first * 2_u32.pow(doublings)).min(longest)
    }
}
