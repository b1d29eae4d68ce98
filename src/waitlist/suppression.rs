//! Suppressed addresses: those of people who have left. No import adds them again.
//!
//! Of such a person, a list keeps only a keyed hash of the address. Without the key, nobody can test whether an address
//! is among them. A list has one key, from its creation on. How many people of each source have left is kept apart, see
//! [`Departure`].

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{email::Email, entry::Source};

/// Size of a key, in bytes.
const KEY_BYTES: usize = 32;
/// Size of a hash, in bytes. By chance, two of five million addresses share a hash in one of 10^25 lists.
const HASH_BYTES: usize = 16;

/// A secret key of a list, for the hashes of addresses. `Debug` hides it.
#[derive(Clone, Copy, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct ListKey([u8; KEY_BYTES]);

/// The keyed hash of an address: the first 16 bytes of its HMAC-SHA-256. `Debug` hides it.
#[derive(Clone, Copy, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct AddressHash([u8; HASH_BYTES]);

/// That somebody has left the list, and from which source the sign-up came. The id is random, so a backup does not link it
/// to the person.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Departure {
    /// A UUID of version 4 (RFC 9562).
    pub id: Uuid,
    /// The source of the sign-up.
    pub source: Option<Source>,
}

/// The suppressed addresses of a list, and the key of their hashes. Its departures are here too, because the same actions
/// add both; they suppress nobody.
#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
pub struct Suppressions {
    list_key: ListKey,
    hashes: HashSet<AddressHash>,
    departures: HashMap<Uuid, Option<Source>>,
}

impl ListKey {
    /// Generates a random key.
    pub fn generate() -> Self {
        let mut key = [0; KEY_BYTES];
        let filled = SystemRandom::new().fill(&mut key);
        filled.expect("the system has random numbers");
        Self(key)
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
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let tag = hmac::sign(&key, address_key.as_ref());
        let mut hash = [0; HASH_BYTES];
        hash.copy_from_slice(&tag.as_ref()[..HASH_BYTES]);
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

impl Departure {
    /// Records that somebody of this source has left.
    pub fn new(source: Option<Source>) -> Self {
        Self {
            id: Uuid::new_v4(),
            source,
        }
    }
}

impl Suppressions {
    /// Creates an empty set for a list with this key.
    pub fn new(list_key: ListKey) -> Self {
        Self {
            list_key,
            hashes: HashSet::new(),
            departures: HashMap::new(),
        }
    }

    /// Returns whether no address is suppressed.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the number of suppressed addresses.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Returns the key of the list.
    pub fn list_key(&self) -> ListKey {
        self.list_key
    }

    /// Sets the key of the list, for hashes that are added later.
    pub(super) fn set_list_key(&mut self, list_key: ListKey) {
        self.list_key = list_key;
    }

    /// Returns whether an address is suppressed, in any spelling. Without suppressions, it computes no hash.
    pub fn contains(&self, email: &Email) -> bool {
        !self.is_empty() && self.contains_hash(self.list_key.hash(email.key()))
    }

    /// Returns whether a hash is in the set.
    pub fn contains_hash(&self, hash: AddressHash) -> bool {
        self.hashes.contains(&hash)
    }

    /// Returns whether a departure is in the set.
    pub(super) fn contains_departure(&self, id: Uuid) -> bool {
        self.departures.contains_key(&id)
    }

    /// Returns the hashes, in their order, which tells nothing about the people.
    pub fn hashes(&self) -> impl Iterator<Item = AddressHash> {
        let mut hashes: Vec<_> = self.hashes.iter().copied().collect();
        hashes.sort_unstable();
        hashes.into_iter()
    }

    /// Returns the departures, in the order of their ids, which is random.
    pub fn departures(&self) -> impl Iterator<Item = Departure> {
        let mut departures: Vec<_> = self.departures.iter().collect();
        departures.sort_unstable_by_key(|(id, _)| **id);
        let departures = departures.into_iter();
        departures.map(|(id, source)| Departure {
            id: *id,
            source: source.clone(),
        })
    }

    /// Adds an address.
    pub fn suppress(&mut self, hash: AddressHash) {
        self.hashes.insert(hash);
    }

    /// Removes an address.
    pub fn lift(&mut self, hash: AddressHash) {
        self.hashes.remove(&hash);
    }

    /// Adds a departure.
    pub fn add_departure(&mut self, departure: Departure) {
        self.departures.insert(departure.id, departure.source);
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
