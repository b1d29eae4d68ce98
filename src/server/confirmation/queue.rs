//! The people who wait for a message, and the order. It may be lost at any time: a sweep fills it again from the store.

use std::{cmp::Reverse, collections::HashMap, time::Instant};

use super::kind::MessageKind;
use crate::{
    server::ClientKey,
    waitlist::{DeliveryStart, Email},
};

/// Maximum number of people who wait for a code, which then takes about 7 MB. The next sweep, within the hour, finds the
/// others.
const PEOPLE_MAX: usize = 1 << 14;

/// Maximum number of sign-ups of one client among them. So it takes eight clients to fill the queue.
const PEOPLE_OF_CLIENT_MAX: usize = PEOPLE_MAX / 8;
/// Maximum number of clients of a person.
const CLIENTS_MAX: usize = 8;
/// Number of people who wait for a kind of message, from which on only people who have just signed up are added.
pub(super) const LATER_MAX: usize = PEOPLE_MAX / 2;

/// A message that waits to be sent.
#[derive(Clone, Debug)]
pub(super) struct PendingMessage {
    pub(super) kind: MessageKind,
    pub(super) email: Email,
    /// The clients that have signed the person up: a stranger's, perhaps, and the person's own. The one that was served least
    /// counts, or the stranger could keep the person waiting. After a restart they are unknown, and all such people are like
    /// those of one client.
    pub(super) by: Vec<ClientKey>,
    /// The delivery of an earlier attempt, which is tried again.
    pub(super) retry: Option<DeliveryStart>,
}

impl PendingMessage {
    /// Creates a message to a person who was found by a sweep, or has confirmed a moment ago.
    pub(super) fn found(kind: MessageKind, email: Email, retry: Option<DeliveryStart>) -> Self {
        Self {
            kind,
            email,
            by: vec![match kind {
                MessageKind::Code => ClientKey::UNKNOWN,
                MessageKind::Welcome => ClientKey::WELCOME,
            }],
            retry,
        }
    }
}

/// The queue. Looking through all of it takes less than sending a message.
#[derive(Default)]
pub(super) struct Queue {
    /// Those who wait for a message of each kind, by the key of the address.
    people: [HashMap<String, QueuedMessage>; 2],
    /// How many were ever added.
    added: i64,
}

struct QueuedMessage {
    message: PendingMessage,
    /// Not to be sent before.
    at: Instant,
    /// The highest one of a client is next. Sign-ups: positive, the last one added first. Others: negative, the first one added
    /// first.
    order: i64,
}

impl Queue {
    /// Adds a person who has signed up a moment ago. One who waits goes on waiting.
    pub(super) fn add(&mut self, email: Email, by: ClientKey) {
        let people = self.of(MessageKind::Code);
        if people.contains_key(&email.key()) {
            return self.add_client(&email, by);
        }
        let of_client = people.values().filter(|it| it.message.by[0] == by);
        if of_client.count() >= PEOPLE_OF_CLIENT_MAX {
            return;
        }
        if people.len() >= PEOPLE_MAX {
            drop_oldest(people);
        }
        let message = PendingMessage {
            kind: MessageKind::Code,
            email,
            by: vec![by],
            retry: None,
        };
        self.added += 1;
        self.insert(message, Instant::now(), self.added);
    }

    /// Notes another client that has signed a person up, if the person waits.
    pub(super) fn add_client(&mut self, email: &Email, by: ClientKey) {
        if let Some(queued) = self.of(MessageKind::Code).get_mut(&email.key())
            && queued.message.by.len() < CLIENTS_MAX
            && !queued.message.by.contains(&by)
        {
            queued.message.by.push(by);
        }
    }

    /// Adds a person who comes after those who have signed up since, and not before `at`.
    pub(super) fn add_later(&mut self, message: PendingMessage, at: Instant) {
        if self.of(message.kind).len() < LATER_MAX {
            self.added += 1;
            self.insert(message, at, -self.added);
        }
    }

    fn insert(&mut self, message: PendingMessage, at: Instant, order: i64) {
        let place = self.of(message.kind).entry(message.email.key());
        place.or_insert(QueuedMessage { message, at, order });
    }

    fn of(&mut self, kind: MessageKind) -> &mut HashMap<String, QueuedMessage> {
        &mut self.people[kind as usize]
    }

    /// Takes the person who is next: codes go first, and of these the newest sign-up of the client for which `rank` is lowest.
    /// Clients for which it is `None` must wait. Returns the client too.
    pub(super) fn take(
        &mut self,
        now: Instant,
        rank: impl Fn(ClientKey) -> Option<u32>,
    ) -> Option<(PendingMessage, ClientKey)> {
        let people = self.people.iter().flat_map(HashMap::values);
        let due = people.filter(|it| it.at <= now);
        let rank = &rank;
        let ranked = due.flat_map(|QueuedMessage { message, order, .. }| {
            message.by.iter().filter_map(move |by| {
                let place = (message.kind, rank(*by)?, Reverse(*order));
                Some((place, message, *by))
            })
        });
        let (_, message, by) = ranked.min_by_key(|(place, ..)| *place)?;
        let (kind, key) = (message.kind, message.email.key());
        let queued = self.of(kind).remove(&key)?;
        Some((queued.message, by))
    }

    /// Returns when the first message may be sent, unless the client must wait.
    pub(super) fn next_at(&self) -> Option<Instant> {
        let people = self.people.iter().flat_map(HashMap::values);
        people.map(|it| it.at).min()
    }

    /// Returns the number of people.
    pub(super) fn len(&self) -> usize {
        self.people.iter().map(HashMap::len).sum()
    }
}

/// Makes room for the newest sign-ups, whose people are waiting for the message.
fn drop_oldest(people: &mut HashMap<String, QueuedMessage>) {
    let mut orders: Vec<_> = people.values().map(|it| it.order).collect();
    let (_, middle, _) = orders.select_nth_unstable(PEOPLE_MAX / 2);
    people.retain(|_, it| it.order >= *middle);
}
