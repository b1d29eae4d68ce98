//! Selecting and reading the entries of a list.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{
    email::{Email, EmailDomain},
    entry::WaitlistEntry,
    error::StoreError,
    source::Source,
};

/// Selects entries of a list by time and address, and their order. Entries of the same time keep the order in which
/// they arrived.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Selection {
    /// Only entries of this time or later.
    pub since: Option<SystemTime>,
    /// Only entries before this time.
    pub until: Option<SystemTime>,
    /// Only entries with these addresses.
    pub addresses: AddressFilter,
    /// Only entries with this source.
    pub source: Option<Source>,
    /// Only people who have confirmed their address, or only those who have not.
    pub confirmed: Option<bool>,
    /// Whether the newest entry comes first, instead of the oldest.
    pub newest_first: bool,
}

impl Selection {
    /// Returns whether this selects an entry.
    pub fn selects(&self, entry: &WaitlistEntry) -> bool {
        self.since.is_none_or(|since| entry.joined_at >= since)
            && self.until.is_none_or(|until| entry.joined_at < until)
            && self.addresses.matches(&entry.email)
            && (self.source.is_none() || self.source == entry.source)
            && self
                .confirmed
                .is_none_or(|confirmed| confirmed == entry.confirmed_at.is_some())
    }

    /// Returns whether this selects every entry.
    pub fn is_everything(&self) -> bool {
        let Self {
            since,
            until,
            addresses,
            source,
            confirmed,
            newest_first: _,
        } = self;
        since.is_none()
            && until.is_none()
            && *addresses == AddressFilter::Any
            && source.is_none()
            && confirmed.is_none()
    }
}

/// Selects entries by address.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum AddressFilter {
    /// Every address.
    #[default]
    Any,
    /// All spellings of an address.
    Address(Email),
    /// The addresses at a domain, but not at its sub-domains.
    Domain(EmailDomain),
}

impl AddressFilter {
    /// Returns whether the filter selects an address.
    pub fn matches(&self, email: &Email) -> bool {
        match self {
            Self::Any => true,
            Self::Address(address) => email.key() == address.key(),
            Self::Domain(domain) => email
                .key()
                .rsplit_once('@')
                .is_some_and(|(_, found)| found == domain.as_str()),
        }
    }
}

/// The selected entries of a list, as an iterator.
pub struct EntryStream {
    count: u64,
    entries: Box<dyn Iterator<Item = Result<WaitlistEntry, StoreError>> + Send>,
}

impl EntryStream {
    /// Wraps `count` selected entries.
    pub fn new(
        count: u64,
        entries: impl Iterator<Item = Result<WaitlistEntry, StoreError>> + Send + 'static,
    ) -> Self {
        Self {
            count,
            entries: Box::new(entries),
        }
    }

    /// Returns the number of selected entries.
    ///
    /// If all entries are selected, this is the count that the page shows. A database may have another number of
    /// entries, after changes by other programs.
    pub fn selected_count(&self) -> u64 {
        self.count
    }
}

impl Iterator for EntryStream {
    type Item = Result<WaitlistEntry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next()
    }
}

/// Turns blocks of entries into single entries. A failed block becomes one error.
pub fn flatten_blocks<B: IntoIterator, E>(
    blocks: impl Iterator<Item = Result<B, E>>,
) -> impl Iterator<Item = Result<B::Item, E>> {
    blocks.flat_map(|block| {
        let (entries, error) = match block {
            Ok(entries) => (Some(entries), None),
            Err(error) => (None, Some(Err(error))),
        };
        entries.into_iter().flatten().map(Ok).chain(error)
    })
}
