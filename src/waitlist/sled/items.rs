//! The items of a record: entries, what became known about them, and the suppressions. Those of the ledger are in
//! `ledger_items`.

use uuid::Uuid;

use super::{
    super::{
        email::Email,
        entry::{Fact, WaitlistEntry, from_unix_millis, unix_millis},
        source::Source,
        suppression::{AddressHash, Departure, ListKey},
    },
    ledger_items::{StoredMessage, StoredRecipient, StoredStatus},
};

/// Size of an entry without its address and its source, in bytes.
const ENTRY_OVERHEAD_BYTES: usize = 2 + size_of::<u64>();
/// Size of a fact, in bytes.
pub(super) const FACT_BYTES: usize = 2 + 2 * size_of::<u64>();
/// Size of a suppression, and of a lifted one, in bytes.
pub(super) const SUPPRESSION_BYTES: usize = 2 + size_of::<AddressHash>();
/// Size of a key of suppressions, in bytes.
const KEY_BYTES: usize = 2 + size_of::<ListKey>();

/// An item of a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordItem<'a> {
    Entry(StoredEntry<'a>),
    Fact(StoredFact),
    /// The entry with this number is erased.
    Erased(u64),
    Readdressed(StoredAddress<'a>),
    /// A compaction has removed an entry that was erased.
    RemovedEntry,
    /// A compaction has removed another item that was void.
    Removed,
    ListKey(ListKey),
    Suppressed(AddressHash),
    /// A suppression before this item is void.
    Lifted(AddressHash),
    Departure(StoredDeparture<'a>),
    Message(StoredMessage<'a>),
    Recipient(StoredRecipient),
    Status(StoredStatus<'a>),
}

/// An entry as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredEntry<'a> {
    /// Milliseconds since 1970.
    pub(super) joined_at_millis: u64,
    /// As typed.
    pub(super) address: &'a str,
    /// Empty if there is none.
    pub(super) source: &'a str,
}

/// The new address of an entry as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredAddress<'a> {
    /// The number of the entry.
    pub(super) entry: u64,
    /// As typed.
    pub(super) address: &'a str,
}

/// A fact as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredFact {
    /// The number of the entry.
    pub(super) entry: u64,
    pub(super) fact: Fact,
}

/// A departure as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredDeparture<'a> {
    pub(super) id: Uuid,
    /// Empty if there is none.
    pub(super) source: &'a str,
}

impl<'a> From<&'a Departure> for StoredDeparture<'a> {
    fn from(departure: &'a Departure) -> Self {
        Self {
            id: departure.id,
            source: departure.source.as_ref().map_or("", Source::as_str),
        }
    }
}

impl From<StoredDeparture<'_>> for Departure {
    fn from(stored: StoredDeparture<'_>) -> Self {
        Self {
            id: stored.id,
            source: parse_source(stored.source),
        }
    }
}

impl<'a> From<&'a WaitlistEntry> for StoredEntry<'a> {
    fn from(entry: &'a WaitlistEntry) -> Self {
        Self {
            joined_at_millis: unix_millis(entry.joined_at),
            address: entry.email.as_typed(),
            source: entry.source.as_ref().map_or("", Source::as_str),
        }
    }
}

impl From<StoredEntry<'_>> for WaitlistEntry {
    fn from(stored: StoredEntry<'_>) -> Self {
        Self {
            source: parse_source(stored.source),
            ..Self::new(
                Email::from_stored(stored.address),
                from_unix_millis(stored.joined_at_millis),
            )
        }
    }
}

/// Returns a source as it is stored.
fn parse_source(stored: &str) -> Option<Source> {
    (!stored.is_empty()).then(|| Source::from_stored(stored))
}

impl StoredEntry<'_> {
    /// Returns the form that all spellings of the address share.
    pub(super) fn address_key(&self) -> String {
        Email::from_stored(self.address).key()
    }
}

impl<'a> RecordItem<'a> {
    /// Returns the entry, if the item is one.
    pub(super) fn entry(self) -> Option<StoredEntry<'a>> {
        match self {
            Self::Entry(entry) => Some(entry),
            _ => None,
        }
    }

    /// Returns the size of the item, in bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Entry(entry) => ENTRY_OVERHEAD_BYTES + entry.address.len() + entry.source.len(),
            Self::Fact(_) => FACT_BYTES,
            Self::Erased(_) => 2 + size_of::<u64>(),
            Self::Readdressed(new) => 2 + size_of::<u64>() + 1 + new.address.len(),
            Self::RemovedEntry => 1,
            Self::Removed => 2,
            Self::ListKey(_) => KEY_BYTES,
            Self::Suppressed(_) | Self::Lifted(_) => SUPPRESSION_BYTES,
            Self::Departure(departure) => 2 + size_of::<Uuid>() + 1 + departure.source.len(),
            Self::Message(message) => 2 + message.len(),
            Self::Recipient(_) => 2 + StoredRecipient::BYTES,
            Self::Status(status) => 2 + status.len(),
        }
    }
}
