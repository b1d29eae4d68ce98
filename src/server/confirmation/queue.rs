//! The people to ask, and the order. It may be lost at any time: a sweep fills it again from the store.

use std::{cmp::Reverse, collections::HashMap, time::Instant};

use crate::{
    server::ClientKey,
    waitlist::{DeliveryStart, Email},
};

/// Maximum number of people in the queue, which then takes about 6 MB. The next sweep finds the others.
pub(super) const PEOPLE_MAX: usize = 1 << 14;

/// A person to ask.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) email: Email,
    /// The client that has signed the person up. After a restart it is unknown, and all such people are like those of one.
    pub(super) by: ClientKey,
    /// The delivery of an earlier attempt, which is tried again.
    pub(super) retry: Option<DeliveryStart>,
}

/// The queue. Looking through all of it takes less than sending a message.
#[derive(Default)]
pub(super) struct Queue {
    /// By the key of the address.
    people: HashMap<String, QueuedAsk>,
    /// How many were ever added.
    added: i64,
    /// Whether somebody was left out, because the queue was full.
    is_incomplete: bool,
}

struct QueuedAsk {
    ask: Ask,
    /// Not to be asked before.
    at: Instant,
    /// The person of a client with the highest one is next.
    order: i64,
}

impl Queue {
    /// Adds a person who has signed up a moment ago. One who waits for another attempt goes on waiting.
    pub(super) fn add(&mut self, email: Email, by: ClientKey) {
        if self.people.len() >= PEOPLE_MAX {
            self.drop_oldest();
        }
        let ask = Ask {
            email,
            by,
            retry: None,
        };
        self.added += 1;
        self.insert(ask, Instant::now(), self.added);
    }

    /// Adds a person who is asked after those who have signed up since, and not before `at`.
    pub(super) fn add_later(&mut self, ask: Ask, at: Instant) {
        if self.people.len() >= PEOPLE_MAX / 2 {
            self.is_incomplete = true;
            return;
        }
        self.added += 1;
        self.insert(ask, at, -self.added);
    }

    fn insert(&mut self, ask: Ask, at: Instant, order: i64) {
        let queued = self.people.entry(ask.email.key());
        queued.or_insert(QueuedAsk { ask, at, order });
    }

    /// Makes room for the newest sign-ups, whose people are waiting for the message.
    fn drop_oldest(&mut self) {
        let mut orders: Vec<_> = self.people.values().map(|it| it.order).collect();
        let (_, middle, _) = orders.select_nth_unstable(PEOPLE_MAX / 2);
        self.people.retain(|_, it| it.order >= *middle);
        self.is_incomplete = true;
    }

    /// Takes the person who is next: the newest sign-up of the client for which `rank` is lowest. Clients for which it is
    /// `None` must wait.
    pub(super) fn take(
        &mut self,
        now: Instant,
        rank: impl Fn(ClientKey) -> Option<u32>,
    ) -> Option<Ask> {
        let due = self.people.iter().filter(|(_, it)| it.at <= now);
        let ranked = due.filter_map(|(key, it)| Some((rank(it.ask.by)?, Reverse(it.order), key)));
        let (_, _, key) = ranked.min_by_key(|(rank, order, _)| (*rank, *order))?;
        let key = key.clone();
        self.people.remove(&key).map(|it| it.ask)
    }

    /// Returns when the first person may be asked, unless the client must wait.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.people.values().map(|it| it.at).min()
    }

    /// Returns the number of people.
    pub(super) fn len(&self) -> usize {
        self.people.len()
    }

    /// Returns whether the store has people who found no room, and there is room now.
    pub(super) fn needs_sweep(&self) -> bool {
        self.is_incomplete && self.people.len() < PEOPLE_MAX / 4
    }

    /// Notes that a sweep begins, which finds everybody.
    pub(super) fn begin_sweep(&mut self) {
        self.is_incomplete = false;
    }
}
