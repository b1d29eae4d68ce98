//! The stored format: records of consecutive items. The key of a record is the number of its first item.
//!
//! An item is an entry, something that became known about an earlier entry, a part of the suppressions, or an item of
//! the ledger. Items are numbered in the order of arrival, from 0. A number is never used again, so the numbers reveal
//! when items between two records are missing. No item ever changes. An erasure, a correction and a fact are appended
//! like a sign-up, and so they are as fast, and as safe after a power cut. A compaction removes what they have made void,
//! and leaves empty items. The count is not stored, because a stored count could contradict the records.
//!
//! Each batch of sign-ups extends the last record, by one insertion, until the record is full. The alternative is a
//! tree with a key for each address and one for the count, written with sled's own batches. These roll the log twice,
//! so each batch is two writes. Compared with that tree, records allow 2.5 times as many sign-ups with 64 clients, and
//! 4 times as many with 512. A list of sign-ups that arrived one at a time is as compact as any other.

use std::time::SystemTime;

use uuid::Uuid;

use super::{
    super::{
        entry::{Fact, from_unix_millis, unix_millis},
        suppression::ListKey,
    },
    bytes::{parse_array, parse_hash, parse_text, parse_u8, parse_u64},
    items::{RecordItem, StoredAddress, StoredDeparture, StoredEntry, StoredFact},
    ledger_items::{StoredMessage, StoredRecipient, StoredStatus},
};

/// Version of the stored format.
pub(super) const FORMAT_VERSION: u64 = 5;

/// Maximum size of a record, in bytes. A leaf of sled's tree has up to 16 records, and with this limit it fits into a
/// message of the log (a quarter of a segment). sled writes larger leaves to separate files and never syncs them.
const RECORD_MAX_BYTES: usize = 1 << 10;

/// First byte of a removed entry. The first byte of any other entry is the length of its address, 1 to 254.
const REMOVED_ENTRY: u8 = 0;
/// First byte of every item that is not an entry. The second one is its kind.
const OTHER: u8 = 255;

/// Kind of a removed item that was not an entry.
const REMOVED: u8 = 0;
/// Kind of a fact: the address was confirmed.
const CONFIRMED: u8 = 1;
/// Kind of a key of suppressions.
const LIST_KEY: u8 = 2;
/// Kind of a suppression.
const SUPPRESSION: u8 = 3;
/// Kind of a lifted suppression.
const LIFTED: u8 = 4;
/// Kind of a message.
const MESSAGE: u8 = 5;
/// Kind of a message with the digest of its text.
const MESSAGE_WITH_DIGEST: u8 = 12;
/// Kind of a recipient of a message.
const RECIPIENT: u8 = 6;
/// Kind of a status of a delivery.
const STATUS: u8 = 7;
/// Kind of a fact: the person is asked to confirm the address.
const ASKED: u8 = 8;
/// Kind of a departure.
const DEPARTURE: u8 = 9;
/// Kind of an erasure of an entry.
const ERASED: u8 = 10;
/// Kind of a correction: an entry has another address.
const READDRESSED: u8 = 11;

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
    ///
    /// - An entry: the length of the address (one byte), the length of the source (one byte), the time (big-endian),
    ///   the address and the source.
    /// - A fact: the byte 255, its kind (one byte), the number of the entry (big-endian) and the time (big-endian).
    /// - An erasure: the bytes 255 and 10, and the number of the entry (big-endian).
    /// - A correction: the bytes 255 and 11, the number of the entry (big-endian), the length of the new address (one
    ///   byte), and the address.
    /// - A removed entry: the byte 0. Another removed item: the bytes 255 and 0.
    /// - A part of the suppressions: the byte 255, its kind (one byte), and the key, or the hash of the address.
    /// - A departure: the bytes 255 and 9, its id, the length of the source (one byte), and the source.
    /// - An item of the ledger: the byte 255, its kind (one byte), and its content, see `ledger_items`.
    pub(super) fn push(&mut self, item: RecordItem<'_>) {
        self.item_count += 1;
        match item {
            RecordItem::Entry(StoredEntry {
                joined_at_millis,
                address,
                source,
            }) => {
                // An `Email` has at most 254 bytes, and a `Source` has at most 64.
                self.bytes.extend([address.len() as u8, source.len() as u8]);
                self.bytes
                    .extend_from_slice(&joined_at_millis.to_be_bytes());
                self.bytes.extend_from_slice(address.as_bytes());
                self.bytes.extend_from_slice(source.as_bytes());
            }
            RecordItem::Fact(StoredFact { entry, fact }) => {
                let (kind, time) = match fact {
                    Fact::AskedAt(time) => (ASKED, time),
                    Fact::ConfirmedAt(time) => (CONFIRMED, time),
                };
                self.push_other(kind, &entry.to_be_bytes());
                self.bytes
                    .extend_from_slice(&unix_millis(time).to_be_bytes());
            }
            RecordItem::Erased(entry) => self.push_other(ERASED, &entry.to_be_bytes()),
            RecordItem::Readdressed(StoredAddress { entry, address }) => {
                self.push_other(READDRESSED, &entry.to_be_bytes());
                // An `Email` has at most 254 bytes.
                self.bytes.push(address.len() as u8);
                self.bytes.extend_from_slice(address.as_bytes());
            }
            RecordItem::RemovedEntry => self.bytes.push(REMOVED_ENTRY),
            RecordItem::Removed => self.bytes.extend([OTHER, REMOVED]),
            RecordItem::ListKey(key) => self.push_other(LIST_KEY, key.as_bytes()),
            RecordItem::Suppressed(hash) => self.push_other(SUPPRESSION, hash.as_bytes()),
            RecordItem::Lifted(hash) => self.push_other(LIFTED, hash.as_bytes()),
            RecordItem::Departure(StoredDeparture { id, source }) => {
                self.push_other(DEPARTURE, id.as_bytes());
                // A `Source` has at most 64 bytes.
                self.bytes.push(source.len() as u8);
                self.bytes.extend_from_slice(source.as_bytes());
            }
            RecordItem::Message(message) => {
                let kind = match message.text_digest {
                    Some(_) => MESSAGE_WITH_DIGEST,
                    None => MESSAGE,
                };
                self.bytes.extend([OTHER, kind]);
                message.write(&mut self.bytes);
            }
            RecordItem::Recipient(recipient) => {
                self.bytes.extend([OTHER, RECIPIENT]);
                recipient.write(&mut self.bytes);
            }
            RecordItem::Status(status) => {
                self.bytes.extend([OTHER, STATUS]);
                status.write(&mut self.bytes);
            }
        }
    }

    fn push_other(&mut self, kind: u8, content: &[u8]) {
        self.bytes.extend([OTHER, kind]);
        self.bytes.extend_from_slice(content);
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
pub(super) fn parse<'a>(key: &[u8], bytes: &'a [u8]) -> Option<(u64, Vec<RecordItem<'a>>)> {
    let first = u64::from_be_bytes(key.try_into().ok()?);
    let mut items = Vec::new();
    let mut remaining = bytes;
    while let Some((&byte, rest)) = remaining.split_first() {
        remaining = rest;
        items.push(match byte {
            REMOVED_ENTRY => RecordItem::RemovedEntry,
            OTHER => parse_other(&mut remaining)?,
            address_len => RecordItem::Entry(parse_entry(address_len, &mut remaining)?),
        });
    }
    Some((first, items))
}

fn parse_entry<'a>(address_len: u8, bytes: &mut &'a [u8]) -> Option<StoredEntry<'a>> {
    let (&source_len, rest) = bytes.split_first()?;
    *bytes = rest;
    let joined_at_millis = parse_u64(bytes)?;
    let (address, rest) = bytes.split_at_checked(address_len.into())?;
    let (source, rest) = rest.split_at_checked(source_len.into())?;
    *bytes = rest;
    Some(StoredEntry {
        joined_at_millis,
        address: str::from_utf8(address).ok()?,
        source: str::from_utf8(source).ok()?,
    })
}

/// Parses what follows the first byte of an item that is not an entry.
fn parse_other<'a>(bytes: &mut &'a [u8]) -> Option<RecordItem<'a>> {
    Some(match parse_u8(bytes)? {
        REMOVED => RecordItem::Removed,
        ERASED => RecordItem::Erased(parse_u64(bytes)?),
        READDRESSED => RecordItem::Readdressed(StoredAddress {
            entry: parse_u64(bytes)?,
            address: parse_text(bytes)?,
        }),
        ASKED => RecordItem::Fact(parse_fact(Fact::AskedAt, bytes)?),
        CONFIRMED => RecordItem::Fact(parse_fact(Fact::ConfirmedAt, bytes)?),
        LIST_KEY => {
            let key: [u8; size_of::<ListKey>()] = parse_array(bytes)?;
            RecordItem::ListKey(ListKey::from_slice(&key)?)
        }
        SUPPRESSION => RecordItem::Suppressed(parse_hash(bytes)?),
        LIFTED => RecordItem::Lifted(parse_hash(bytes)?),
        DEPARTURE => RecordItem::Departure(StoredDeparture {
            id: Uuid::from_bytes(parse_array(bytes)?),
            source: parse_text(bytes)?,
        }),
        MESSAGE => RecordItem::Message(StoredMessage::parse(bytes, false)?),
        MESSAGE_WITH_DIGEST => RecordItem::Message(StoredMessage::parse(bytes, true)?),
        RECIPIENT => RecordItem::Recipient(StoredRecipient::parse(bytes)?),
        STATUS => RecordItem::Status(StoredStatus::parse(bytes)?),
        _ => return None,
    })
}

fn parse_fact(fact: impl Fn(SystemTime) -> Fact, bytes: &mut &[u8]) -> Option<StoredFact> {
    let (entry, time) = (parse_u64(bytes)?, parse_u64(bytes)?);
    Some(StoredFact {
        entry,
        fact: fact(from_unix_millis(time)),
    })
}

/// Returns the key of the record whose first item has this number.
pub(super) fn key(first: u64) -> [u8; 8] {
    first.to_be_bytes()
}
