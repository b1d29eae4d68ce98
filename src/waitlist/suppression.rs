//! Suppressed addresses: those of people who have left. No import adds them again.
//!
//! Of such a person, a list keeps only a keyed hash of the address. Without the key, nobody can test whether an address
//! is among them.

use std::{collections::HashSet, fmt};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{email::Email, error::StoreError};

/// Size of a key, in bytes.
const KEY_BYTES: usize = 32;
/// Size of a hash, in bytes. By chance, two of five million addresses share a hash in one of 10^25 lists.
const HASH_BYTES: usize = 16;
/// Size of a block of SHA-256, in bytes.
const BLOCK_BYTES: usize = 64;

/// A secret key of a list, for the hashes of addresses. `Debug` hides it.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
pub struct ListKey([u8; KEY_BYTES]);

/// The keyed hash of an address: the first 16 bytes of its HMAC-SHA-256. `Debug` hides it.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AddressHash([u8; HASH_BYTES]);

/// The keys and the suppressed addresses of a list.
///
/// A list that was imported into another one brings its key. So an address is suppressed if its hash under any of the
/// keys is in the set. New suppressions use the first key.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct Suppressions {
    keys: Vec<ListKey>,
    hashes: HashSet<AddressHash>,
}

/// A part of the [`Suppressions`] of another list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SuppressionItem {
    /// A key of that list.
    Key(ListKey),
    /// An address that is suppressed there.
    Address(AddressHash),
}

impl ListKey {
    /// Generates a random key.
    ///
    /// # Errors
    /// [`StoreError::NoRandomness`].
    pub fn generate() -> Result<Self, StoreError> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|_| StoreError::NoRandomness)?;
        Ok(Self(key))
    }

    /// Reads a key, which has 32 bytes.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes of the key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the hash of an address by its key ([`Email::key`]), which all its spellings share.
    pub fn hash(&self, address_key: impl AsRef<[u8]>) -> AddressHash {
        // As HMAC does with a short key (RFC 2104).
        let mut block = [0; BLOCK_BYTES];
        block[..KEY_BYTES].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(address_key.as_ref());
        let mut hash = [0; HASH_BYTES];
        hash.copy_from_slice(&mac.finalize().into_bytes()[..HASH_BYTES]);
        AddressHash(hash)
    }
}

impl AddressHash {
    /// Reads a hash, which has 16 bytes.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes of the hash.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Suppressions {
    /// Returns whether no address is suppressed.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the number of suppressed addresses.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Returns the keys. The first one is for new suppressions.
    pub fn keys(&self) -> &[ListKey] {
        &self.keys
    }

    /// Returns whether an address is suppressed, in any spelling.
    pub fn contains(&self, email: &Email) -> bool {
        !self.is_empty() && self.find(&email.key()).next().is_some()
    }

    /// Returns whether a hash is in the set.
    pub fn contains_hash(&self, hash: AddressHash) -> bool {
        self.hashes.contains(&hash)
    }

    /// Returns the hashes of an address under all keys, by its key ([`Email::key`]).
    pub fn hashes_of(&self, address_key: &str) -> impl Iterator<Item = AddressHash> {
        self.keys.iter().map(move |key| key.hash(address_key))
    }

    /// Returns those hashes of an address that are in the set. An address that was suppressed in several lists has
    /// several.
    pub fn find(&self, address_key: &str) -> impl Iterator<Item = AddressHash> {
        let hashes = self.hashes_of(address_key);
        hashes.filter(|hash| self.hashes.contains(hash))
    }

    /// Adds a key or an address. Returns whether it is new.
    pub fn add(&mut self, item: SuppressionItem) -> bool {
        match item {
            SuppressionItem::Key(key) if self.keys.contains(&key) => false,
            SuppressionItem::Key(key) => {
                self.keys.push(key);
                true
            }
            SuppressionItem::Address(hash) => self.hashes.insert(hash),
        }
    }

    /// Removes an address.
    pub fn lift(&mut self, hash: AddressHash) {
        self.hashes.remove(&hash);
    }

    /// Returns the keys, and then the addresses in the order of their hashes, which tells nothing about the people.
    pub fn items(&self) -> impl Iterator<Item = SuppressionItem> {
        let mut hashes: Vec<_> = self.hashes.iter().copied().collect();
        hashes.sort_unstable();
        let keys = self.keys.iter().copied().map(SuppressionItem::Key);
        keys.chain(hashes.into_iter().map(SuppressionItem::Address))
    }
}

impl FromIterator<SuppressionItem> for Suppressions {
    fn from_iter<I: IntoIterator<Item = SuppressionItem>>(items: I) -> Self {
        let mut suppressions = Self::default();
        for item in items {
            suppressions.add(item);
        }
        suppressions
    }
}

impl fmt::Debug for ListKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ListKey(…)")
    }
}

impl fmt::Debug for AddressHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressHash(…)")
    }
}

impl fmt::Debug for Suppressions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Suppressions({})", self.len())
    }
}
