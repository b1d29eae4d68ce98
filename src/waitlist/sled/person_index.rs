//! The addresses on the list, in memory, each with the number of its entry. Every sign-up looks one up.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

/// A map from addresses to the numbers of their entries. It stores a 96-bit hash of each address. With the number and the
/// overhead of the map, that is 44 bytes for each of a million addresses.
///
/// Each process keys the hash at random, so an attacker cannot search for two addresses with the same hash. By
/// chance, two of five million addresses share a hash in one of 10^15 lists.
#[derive(Debug, Default)]
pub(super) struct PersonIndex {
    /// The hashes and the numbers are arrays, because the map would pad integers.
    numbers: HashMap<[u32; 3], [u32; 2]>,
    high: RandomState,
    low: RandomState,
}

impl PersonIndex {
    /// Adds an address by its key ([`Email::key`]), which all its spellings share. Replaces its number if it has one.
    ///
    /// [`Email::key`]: crate::waitlist::Email::key
    pub(super) fn insert(&mut self, key: &str, entry: u64) {
        let number = [(entry >> 32) as u32, entry as u32];
        self.numbers.insert(self.hash(key), number);
    }

    /// Returns the number of the entry of an address.
    pub(super) fn get(&self, key: &str) -> Option<u64> {
        let [high, low] = self.numbers.get(&self.hash(key))?;
        Some(u64::from(*high) << 32 | u64::from(*low))
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.numbers.contains_key(&self.hash(key))
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.numbers.remove(&self.hash(key));
    }

    /// Returns the number of addresses.
    pub(super) fn len(&self) -> u64 {
        self.numbers.len() as u64
    }

    fn hash(&self, key: &str) -> [u32; 3] {
        let [high, low] = [&self.high, &self.low].map(|half| half.hash_one(key));
        [(high >> 32) as u32, high as u32, low as u32]
    }
}
