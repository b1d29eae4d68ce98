//! The stored format: records of consecutive items. The key of a record is the number of its first item.
//!
//! An item is an entry, a change to an earlier entry, a part of the suppressions, an item of the ledger, or an event. Items
//! are numbered in the order of arrival, from 0. A number is never used again, so the numbers reveal when items between two
//! records are missing. No item ever changes. An erasure, a correction and a fact are appended like a sign-up, and so they
//! are as fast, and as safe after a power cut. A compaction removes what they have made void, and leaves empty items. The
//! count is not stored, because a stored count could contradict the records.
//!
//! Each batch of sign-ups extends the last record, by one insertion, until the record is full. The alternative is a
//! tree with a key for each address and one for the count, written with sled's own batches. These roll the log twice,
//! so each batch is two writes. Compared with that tree, records allow 2.5 times as many sign-ups with 64 clients, and
//! 4 times as many with 512. A list of sign-ups that arrived one at a time is as compact as any other.

use super::items::RecordItem;

/// Version of the stored format.
pub(super) const FORMAT_VERSION: u64 = 6;
/// Version of a list that has recorded no events since its last compaction, which an earlier program can read.
pub(super) const FORMAT_WITHOUT_EVENTS: u64 = 5;
/// The oldest version that this program reads. It had no erasures and corrections, and rewrote records instead.
pub(super) const OLDEST_FORMAT: u64 = 4;

/// Maximum size of a record, in bytes. A leaf of sled's tree has up to 16 records, and with this limit it fits into a
/// message of the log (a quarter of a segment). sled writes larger leaves to separate files and never syncs them.
const RECORD_MAX_BYTES: usize = 1 << 10;

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

    /// Inserts the record, unless it is empty: an empty list has no record, and `open_in_place` relies on that.
    pub(super) fn insert_into(&self, records: &::sled::Tree) -> Result<(), ::sled::Error> {
        if self.item_count > 0 {
            records.insert(self.key(), self.bytes())?;
        }
        Ok(())
    }

    /// Inserts the record and begins the next one, if this number of bytes does not fit.
    pub(super) fn make_room(
        &mut self,
        bytes: usize,
        records: &::sled::Tree,
    ) -> Result<(), ::sled::Error> {
        if self.bytes.len() + bytes > RECORD_MAX_BYTES {
            self.insert_into(records)?;
            *self = Self::starting_at(self.end());
        }
        Ok(())
    }

    /// Adds an item.
    pub(super) fn push(&mut self, item: &RecordItem) {
        self.item_count += 1;
        item.write(&mut self.bytes);
    }

    /// Returns the number of the first item.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number after the last item.
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

/// Returns the number of a record's first item, and its items. Returns `None` if the record is damaged.
pub(super) fn parse(key: &[u8], mut bytes: &[u8]) -> Option<(u64, Vec<RecordItem>)> {
    let first = u64::from_be_bytes(key.try_into().ok()?);
    let mut items = Vec::new();
    while !bytes.is_empty() {
        items.push(RecordItem::parse(&mut bytes)?);
    }
    Some((first, items))
}

/// Returns the key of the record whose first item has this number.
pub(super) fn key(first: u64) -> [u8; 8] {
    first.to_be_bytes()
}
