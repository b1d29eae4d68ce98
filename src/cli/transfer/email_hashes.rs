//! A compact set of addresses.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

/// A set of addresses that keeps 64 bits of each. Of 10^7 lists with a million addresses, one contains two addresses
/// with the same 64 bits.
#[derive(Default)]
pub(crate) struct EmailHashes {
    hasher: RandomState,
    hashes: HashSet<u64>,
}

impl EmailHashes {
    /// Adds an address by its key, and returns whether it is new.
    pub(crate) fn insert(&mut self, key: &str) -> bool {
        self.hashes.insert(self.hasher.hash_one(key))
    }

    pub(crate) fn contains(&self, key: &str) -> bool {
        self.hashes.contains(&self.hasher.hash_one(key))
    }
}
