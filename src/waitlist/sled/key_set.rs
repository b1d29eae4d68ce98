//! The addresses on the list, in memory. Every sign-up looks one up.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

/// A set of addresses. It stores a 128-bit hash of each, in 40 bytes including the overhead of the set.
///
/// Each process keys the hash at random, so an attacker cannot search for two addresses with the same hash. By
/// chance, two of five million addresses share a hash in one of 10^25 lists.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    hashes: HashSet<u128>,
    high: RandomState,
    low: RandomState,
}

impl KeySet {
    /// Adds an address by its key ([`Email::key`]), which all its spellings share. Returns whether it is new.
    ///
    /// [`Email::key`]: crate::waitlist::Email::key
    pub(super) fn insert(&mut self, key: &str) -> bool {
        self.hashes.insert(self.hash(key))
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.hashes.contains(&self.hash(key))
    }

    /// Removes an address by its key. Returns whether it was in the set.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        self.hashes.remove(&self.hash(key))
    }

    fn hash(&self, key: &str) -> u128 {
        let [high, low] = [&self.high, &self.low].map(|half| u128::from(half.hash_one(key)));
        high << 64 | low
    }
}
