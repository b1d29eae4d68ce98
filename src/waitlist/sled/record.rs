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

use super::super::{Email, WaitlistEntry};

/// Octets of a record, so that a leaf of sled's tree, up to 16 records, fits into a message of its
/// log (a quarter of a segment). Larger ones it writes to files of their own and never syncs them.
const RECORD_MAX_BYTES: usize = 1 << 10;
/// Octets of an entry beside its address.
const ENTRY_OVERHEAD_BYTES: usize = 1 + size_of::<u64>();

/// A place in a record: what is kept of an entry, or `None` of an erased one.
pub(super) type RecordItem<'a> = Option<StoredEntry<'a>>;

/// What is kept of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredEntry<'a> {
    /// Milliseconds since 1970.
    pub(super) joined_at_millis: u64,
    /// As typed.
    pub(super) address: &'a str,
}

impl<'a> From<&'a WaitlistEntry> for StoredEntry<'a> {
    fn from(entry: &'a WaitlistEntry) -> Self {
        Self {
            joined_at_millis: unix_millis(entry.joined_at),
            address: entry.email.as_typed(),
        }
    }
}

impl From<StoredEntry<'_>> for WaitlistEntry {
    fn from(stored: StoredEntry<'_>) -> Self {
        let since = Duration::from_millis(stored.joined_at_millis);
        Self {
            email: Email::from_stored(stored.address),
            joined_at: UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH),
        }
    }
}

/// Milliseconds since 1970.
pub(super) fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A record in the making.
#[derive(Debug)]
pub(super) struct Record {
    first: u64,
    bytes: Vec<u8>,
    item_count: u64,
}

impl Record {
    /// An empty one.
    pub(super) fn starting_at(first: u64) -> Self {
        Self {
            first,
            bytes: Vec::new(),
            item_count: 0,
        }
    }

    /// One that was stored, to go on with.
    pub(super) fn from_items(first: u64, items: &[RecordItem<'_>]) -> Self {
        let mut record = Self::starting_at(first);
        items.iter().for_each(|item| record.push(*item));
        record
    }

    /// Whether an entry can be added without making the record too large.
    pub(super) fn has_room(&self, entry: StoredEntry<'_>) -> bool {
        self.bytes.len() + ENTRY_OVERHEAD_BYTES + entry.address.len() <= RECORD_MAX_BYTES
    }

    /// Adds a place: the octets of the address (0 is an erased entry, and all of it), the time
    /// (big-endian), the address.
    pub(super) fn push(&mut self, item: RecordItem<'_>) {
        self.item_count += 1;
        let Some(StoredEntry {
            joined_at_millis,
            address,
        }) = item
        else {
            return self.bytes.push(0);
        };
        // `Email` has it at most 254.
        self.bytes.push(address.len() as u8);
        self.bytes
            .extend_from_slice(&joined_at_millis.to_be_bytes());
        self.bytes.extend_from_slice(address.as_bytes());
    }

    /// The number of its first entry.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The number after its last entry.
    pub(super) fn end(&self) -> u64 {
        self.first + self.item_count
    }

    /// Where it is stored.
    pub(super) fn key(&self) -> [u8; 8] {
        key(self.first)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The number of a record's first entry, and its items; nothing when it is damaged.
pub(super) fn parse<'a>(key: &[u8], bytes: &'a [u8]) -> Option<(u64, Vec<RecordItem<'a>>)> {
    let first = u64::from_be_bytes(key.try_into().ok()?);
    let mut items = Vec::new();
    let mut remaining = bytes;
    while let Some((&len, rest)) = remaining.split_first() {
        remaining = rest;
        if len == 0 {
            items.push(None);
            continue;
        }
        let (joined_at, rest) = remaining.split_first_chunk()?;
        let (address, rest) = rest.split_at_checked(len.into())?;
        items.push(Some(StoredEntry {
            joined_at_millis: u64::from_be_bytes(*joined_at),
            address: str::from_utf8(address).ok()?,
        }));
        remaining = rest;
    }
    Some((first, items))
}

/// The key of the record whose first entry has this number.
pub(super) fn key(first: u64) -> [u8; 8] {
    first.to_be_bytes()
}
