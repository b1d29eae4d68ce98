//! The stored format: records of consecutive entries. The key of a record is the number of its first entry.
//!
//! Entries are numbered in the order of arrival, from 0. A number is never used again: an erased entry leaves an
//! empty item. So the numbers reveal when entries between two records are missing. The count is not stored, because a
//! stored count could contradict the records.
//!
//! Each batch of sign-ups extends the last record, by one insertion, until the record is full. The alternative is a
//! tree with a key for each address and one for the count, written with sled's own batches. These roll the log twice,
//! so each batch is two writes. Compared with that tree, records allow 2.5 times as many sign-ups with 64 clients, and
//! 4 times as many with 512. A list of sign-ups that arrived one at a time is as compact as any other.

use super::super::{
    email::Email,
    entry::{WaitlistEntry, from_unix_millis, unix_millis},
};

/// Version of the stored format.
pub(super) const FORMAT_VERSION: u64 = 2;

/// Maximum size of a record, in bytes. A leaf of sled's tree has up to 16 records, and with this limit it fits into a
/// message of the log (a quarter of a segment). sled writes larger leaves to separate files and never syncs them.
const RECORD_MAX_BYTES: usize = 1 << 10;
/// Size of an entry without its address, in bytes.
const ENTRY_OVERHEAD_BYTES: usize = 1 + size_of::<u64>();

/// An item of a record: a stored entry, or `None` if it was erased.
pub(super) type RecordItem<'a> = Option<StoredEntry<'a>>;

/// An entry as it is stored.
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
        Self {
            email: Email::from_stored(stored.address),
            joined_at: from_unix_millis(stored.joined_at_millis),
        }
    }
}

/// Builds a record.
#[derive(Debug)]
pub(super) struct Record {
    first: u64,
    bytes: Vec<u8>,
    item_count: u64,
}

impl Record {
    /// Starts an empty record.
    pub(super) fn starting_at(first: u64) -> Self {
        Self {
            first,
            bytes: Vec::new(),
            item_count: 0,
        }
    }

    /// Continues a record that was stored.
    pub(super) fn from_items(first: u64, items: &[RecordItem<'_>]) -> Self {
        let mut record = Self::starting_at(first);
        items.iter().for_each(|item| record.push(*item));
        record
    }

    /// Divides items into as many records as they need.
    pub(super) fn split<'a>(first: u64, items: impl Iterator<Item = RecordItem<'a>>) -> Vec<Self> {
        let mut records = Vec::new();
        let mut record = Self::starting_at(first);
        for item in items {
            if item.is_some_and(|entry| !record.has_room(entry)) {
                let next = Self::starting_at(record.end());
                records.push(std::mem::replace(&mut record, next));
            }
            record.push(item);
        }
        records.push(record);
        records
    }

    /// Returns whether an entry fits into the record.
    pub(super) fn has_room(&self, entry: StoredEntry<'_>) -> bool {
        self.bytes.len() + ENTRY_OVERHEAD_BYTES + entry.address.len() <= RECORD_MAX_BYTES
    }

    /// Adds an item: the length of the address (one byte), the time (big-endian) and the address. An erased entry is
    /// only the byte 0.
    pub(super) fn push(&mut self, item: RecordItem<'_>) {
        self.item_count += 1;
        let Some(StoredEntry {
            joined_at_millis,
            address,
        }) = item
        else {
            return self.bytes.push(0);
        };
        // An `Email` has at most 254 bytes.
        self.bytes.push(address.len() as u8);
        self.bytes
            .extend_from_slice(&joined_at_millis.to_be_bytes());
        self.bytes.extend_from_slice(address.as_bytes());
    }

    /// Returns the number of the first entry.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number after the last entry.
    pub(super) fn end(&self) -> u64 {
        self.first + self.item_count
    }

    /// Returns the key of the record.
    pub(super) fn key(&self) -> [u8; 8] {
        key(self.first)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns the number of a record's first entry, and its items. Returns `None` if the record is damaged.
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

/// Returns the key of the record whose first entry has this number.
pub(super) fn key(first: u64) -> [u8; 8] {
    first.to_be_bytes()
}
