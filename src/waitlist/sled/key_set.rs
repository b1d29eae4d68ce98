//! Who is on the list, in memory: asked for each sign-up.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

/// The addresses on the list, each by a hash of 128 bits, 40 bytes in all.
///
/// The hash is keyed at random in each process, so that nobody can look for two addresses that share
/// it. By chance, two of five million do once in 10^25 lists.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    hashes: HashSet<u128>,
    high: RandomState,
    low: RandomState,
}

impl KeySet {
    /// Adds an address in the spelling that all its spellings share ([`Email::key`]), and says
    /// whether it is new.
    ///
    /// [`Email::key`]: crate::waitlist::Email::key
    pub(super) fn insert(&mut self, key: &str) -> bool {
        self.hashes.insert(self.hash(key))
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.hashes.contains(&self.hash(key))
    }

    /// Says whether it was there.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        self.hashes.remove(&self.hash(key))
    }

    fn hash(&self, key: &str) -> u128 {
        let [high, low] = [&self.high, &self.low].map(|half| u128::from(half.hash_one(key)));
        high << 64 | low
    }
}
