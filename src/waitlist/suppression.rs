//! Suppressed addresses: those of people who have left. No import adds them again.
//!
//! Of such a person, a list keeps only a keyed hash of the address. Without the key, nobody can test whether an address
//! is among them. How many people of each source have left is kept apart, see [`Departure`].

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

use super::{email::Email, error::StoreError, source::Source};

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

/// That somebody has left the list, and from which source the sign-up came. The id is random, so exports do not link it
/// to the person. By the id, a departure is counted once, however often an export that has it is imported.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Departure {
    /// A UUID of version 4 (RFC 9562).
    pub id: Uuid,
    /// The source of the sign-up.
    pub source: Option<Source>,
}

/// The keys and the suppressed addresses of a list. Its departures are here too, because the same actions add both; they
/// suppress nobody.
///
/// A list that was imported into another one brings its key. So an address is suppressed if its hash under any of the
/// keys is in the set. New suppressions use the first key.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct Suppressions {
    keys: Vec<ListKey>,
    hashes: HashSet<AddressHash>,
    departures: HashMap<Uuid, Option<Source>>,
}

/// A part of the [`Suppressions`] of another list.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum SuppressionItem {
    /// A key of that list.
    Key(ListKey),
    /// An address that is suppressed there.
    Address(AddressHash),
    /// Somebody has left that list.
    Departure(Departure),
}

impl ListKey {
    /// Generates a random key.
    ///
    /// # Errors
    /// [`StoreError::NoRandomness`].
    pub fn generate() -> Result<Self, StoreError> {
        let mut key = [0; KEY_BYTES];
        let filled = SystemRandom::new().fill(&mut key);
        filled.map_err(|_| StoreError::NoRandomness)?;
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

    /// Reads a departure from its id and its source. Returns `None` if one of them is malformed.
    pub fn parse(id: &str, source: Option<&str>) -> Option<Self> {
        Some(Self {
            id: id.parse().ok()?,
            source: source.map(Source::parse).transpose().ok()?,
        })
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

    /// Adds a key, an address or a departure. Returns whether it is new.
    pub fn add(&mut self, item: SuppressionItem) -> bool {
        match item {
            SuppressionItem::Key(key) if self.keys.contains(&key) => false,
            SuppressionItem::Key(key) => {
                self.keys.push(key);
                true
            }
            SuppressionItem::Address(hash) => self.hashes.insert(hash),
            SuppressionItem::Departure(Departure { id, source }) => {
                let is_new = !self.departures.contains_key(&id);
                self.departures.entry(id).or_insert(source);
                is_new
            }
        }
    }

    /// Returns whether it has a key, an address or a departure.
    pub fn has(&self, item: &SuppressionItem) -> bool {
        match item {
            SuppressionItem::Key(key) => self.keys.contains(key),
            SuppressionItem::Address(hash) => self.hashes.contains(hash),
            SuppressionItem::Departure(departure) => self.departures.contains_key(&departure.id),
        }
    }

    /// Removes an address.
    pub fn lift(&mut self, hash: AddressHash) {
        self.hashes.remove(&hash);
    }

    /// Returns the keys, then the addresses in the order of their hashes, which tells nothing about the people, and then
    /// the departures.
    pub fn items(&self) -> impl Iterator<Item = SuppressionItem> {
        let mut hashes: Vec<_> = self.hashes.iter().copied().collect();
        hashes.sort_unstable();
        let keys = self.keys.iter().copied().map(SuppressionItem::Key);
        let departures = self.departures().map(SuppressionItem::Departure);
        keys.chain(hashes.into_iter().map(SuppressionItem::Address))
            .chain(departures)
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
