//! What is stored: records of consecutive entries, each under the number of its first one.
//!
//! Entries are numbered as they come, from 0, and a number is never given twice: where an entry was
//! erased its place stays. So what got lost between two records is seen by their numbers, and the
//! count needs no key of its own that could disagree.
//!
//! The last record grows, by one insertion for each batch of sign-ups, until it is full. Beside a tree
//! with a key for each address and one for the count, written with sled's own batches (which roll its
//! log twice, so that each was two writes), that is 2.5 times the sign-ups with 64 clients and 4 times
//! with 512; and a list is as compact when people came one at a time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::{Email, Entry};

/// Octets of a record, so that a leaf of sled's tree, up to 16 records, fits into a message of its
/// log (a quarter of a segment). Larger ones it writes to files of their own and never syncs them.
const RECORD_MAX: usize = 1 << 10;
/// Octets of an entry beside its address.
const ENTRY_EXTRA: usize = 1 + size_of::<u64>();

/// A place in a record: what is kept of an entry, or `None` of an erased one.
pub(super) type Place<'a> = Option<Stored<'a>>;

/// What is kept of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a> {
    /// Milliseconds since 1970.
    pub(super) joined_at: u64,
    /// As typed.
    pub(super) address: &'a str,
}

impl<'a> From<&'a Entry> for Stored<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            joined_at: millis(entry.joined_at),
            address: entry.email.as_typed(),
        }
    }
}

impl From<Stored<'_>> for Entry {
    fn from(stored: Stored<'_>) -> Self {
        let since = Duration::from_millis(stored.joined_at);
        Self {
            email: Email::kept(stored.address),
            joined_at: UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH),
        }
    }
}

/// Milliseconds since 1970.
pub(super) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A record in the making.
#[derive(Debug)]
pub(super) struct Record {
    first: u64,
    bytes: Vec<u8>,
    places: u64,
}

impl Record {
    /// An empty one.
    pub(super) fn starting_at(first: u64) -> Self {
        Self {
            first,
            bytes: Vec::new(),
            places: 0,
        }
    }

    /// One that was stored, to go on with.
    pub(super) fn of(first: u64, places: &[Place<'_>]) -> Self {
        let mut record = Self::starting_at(first);
        places.iter().for_each(|place| record.push(*place));
        record
    }

    /// Whether an entry can be added without making the record too large.
    pub(super) fn has_room(&self, entry: Stored<'_>) -> bool {
        self.bytes.len() + ENTRY_EXTRA + entry.address.len() <= RECORD_MAX
    }

    /// Adds a place: the octets of the address (0 is an erased entry, and all of it), the time
    /// (big-endian), the address.
    pub(super) fn push(&mut self, place: Place<'_>) {
        self.places += 1;
        let Some(Stored { joined_at, address }) = place else {
            return self.bytes.push(0);
        };
        // `Email` has it at most 254.
        self.bytes.push(address.len() as u8);
        self.bytes.extend_from_slice(&joined_at.to_be_bytes());
        self.bytes.extend_from_slice(address.as_bytes());
    }

    /// The number of its first entry.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The number after its last entry.
    pub(super) fn end(&self) -> u64 {
        self.first + self.places
    }

    /// Where it is stored.
    pub(super) fn key(&self) -> [u8; 8] {
        key(self.first)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The number of a record's first entry, and its places; nothing when it is damaged.
pub(super) fn parse<'a>(key: &[u8], bytes: &'a [u8]) -> Option<(u64, Vec<Place<'a>>)> {
    let first = u64::from_be_bytes(key.try_into().ok()?);
    let mut places = Vec::new();
    let mut left = bytes;
    while let Some((&len, rest)) = left.split_first() {
        left = rest;
        if len == 0 {
            places.push(None);
            continue;
        }
        let (joined_at, rest) = left.split_first_chunk()?;
        let (address, rest) = rest.split_at_checked(len.into())?;
        places.push(Some(Stored {
            joined_at: u64::from_be_bytes(*joined_at),
            address: str::from_utf8(address).ok()?,
        }));
        left = rest;
    }
    Some((first, places))
}

/// The key of the record whose first entry has this number.
pub(super) fn key(first: u64) -> [u8; 8] {
    first.to_be_bytes()
}
