//! The people to ask, and the order. It may be lost at any time: a sweep fills it again from the store.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::Instant,
};

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

/// The queue.
#[derive(Default)]
pub(super) struct Queue {
    /// Those who may be asked now. The newest sign-up of each client is the last one.
    waiting: HashMap<ClientKey, VecDeque<(u64, Ask)>>,
    /// Those who may be asked later.
    later: BTreeMap<(Instant, u64), Ask>,
    /// The addresses of all of them.
    addresses: HashSet<String>,
    /// How many were ever added.
    added: u64,
    /// Whether somebody was left out, because the queue was full.
    is_incomplete: bool,
}

impl Queue {
    /// Adds a person who has signed up a moment ago. One who waits for another attempt goes on waiting.
    pub(super) fn add(&mut self, email: Email, by: ClientKey) {
        if !self.addresses.insert(email.key()) {
            return;
        }
        self.added += 1;
        let ask = Ask {
            email,
            by,
            retry: None,
        };
        let asks = self.waiting.entry(by).or_default();
        asks.push_back((self.added, ask));
        if self.addresses.len() > PEOPLE_MAX {
            // The oldest sign-up of the client that has most.
            let largest = self.waiting.iter().max_by_key(|(_, asks)| asks.len());
            let largest = largest.map(|(by, _)| *by);
            largest.and_then(|by| self.take_from(by, VecDeque::pop_front));
            self.is_incomplete = true;
        }
    }

    /// Adds a person who is asked after those who have signed up since, and not before `at`.
    pub(super) fn add_later(&mut self, ask: Ask, at: Instant) {
        if self.later.len() >= PEOPLE_MAX / 2 {
            self.is_incomplete = true;
        } else if self.addresses.insert(ask.email.key()) {
            self.added += 1;
            self.later.insert((at, self.added), ask);
        }
    }

    /// Takes the person who is next: the newest sign-up of the client for which `rank` is lowest. Clients for which it is
    /// `None` must wait.
    pub(super) fn take(
        &mut self,
        now: Instant,
        rank: impl Fn(ClientKey) -> Option<u32>,
    ) -> Option<Ask> {
        while let Some(first) = self.later.first_entry()
            && first.key().0 <= now
        {
            let ((_, number), ask) = first.remove_entry();
            let asks = self.waiting.entry(ask.by).or_default();
            asks.push_front((number, ask));
        }
        let ranked = self.waiting.iter().filter_map(|(by, asks)| {
            let (newest, _) = asks.back()?;
            Some((rank(*by)?, Reverse(*newest), *by))
        });
        let (_, _, by) = ranked.min_by_key(|(rank, newest, _)| (*rank, *newest))?;
        self.take_from(by, VecDeque::pop_back)
    }

    /// Returns when the next person must be looked at who is not to be asked yet.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }

    /// Returns whether there are people who may be asked now, unless their client must wait.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Returns the number of people.
    pub(super) fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Returns whether the store has people who found no room, and there is room now.
    pub(super) fn needs_sweep(&self) -> bool {
        self.is_incomplete && self.addresses.len() < PEOPLE_MAX / 4
    }

    /// Notes that a sweep begins, which finds everybody.
    pub(super) fn begin_sweep(&mut self) {
        self.is_incomplete = false;
    }

    fn take_from(
        &mut self,
        by: ClientKey,
        pop: impl Fn(&mut VecDeque<(u64, Ask)>) -> Option<(u64, Ask)>,
    ) -> Option<Ask> {
        let asks = self.waiting.get_mut(&by)?;
        let (_, ask) = pop(asks)?;
        if asks.is_empty() {
            self.waiting.remove(&by);
        }
        self.addresses.remove(&ask.email.key());
        Some(ask)
    }
}
