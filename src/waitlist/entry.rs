//! An entry of the list, where it came from, and selecting and reading entries.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    email::{Email, EmailDomain},
    error::StoreError,
};

/// One person on the list.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct WaitlistEntry {
    /// The address.
    pub email: Email,
    /// When the sign-up reached the server. Stores keep it to the millisecond.
    pub joined_at: SystemTime,
    /// Where the person came from, if the link said so.
    pub source: Option<Source>,
    /// When the site promised to ask the person to confirm the address, if it has.
    pub asked_at: Option<SystemTime>,
    /// When the person confirmed the address, if they have.
    pub confirmed_at: Option<SystemTime>,
}

impl WaitlistEntry {
    /// Creates the entry of a sign-up of which nothing else is known.
    pub fn new(email: Email, joined_at: SystemTime) -> Self {
        Self {
            email,
            joined_at,
            source: None,
            asked_at: None,
            confirmed_at: None,
        }
    }
}

/// Something that became known about an entry, such as a confirmation. An import may bring it together with the entry.
/// Of several facts of a kind, the last one counts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Fact {
    /// The site promised at this time to ask the person to confirm the address.
    AskedAt(SystemTime),
    /// The person confirmed the address at this time.
    ConfirmedAt(SystemTime),
}

impl WaitlistEntry {
    /// Returns whether the site promised to ask the person to confirm the address, and the person has not. Until then,
    /// nobody knows who has signed the person up, so a suppression of the address stays.
    pub fn awaits_confirmation(&self) -> bool {
        self.asked_at.is_some() && self.confirmed_at.is_none()
    }

    /// Returns whether this is the sign-up of this time, and not a later one of somebody who has left.
    pub fn is_of_sign_up(&self, joined_at: SystemTime) -> bool {
        unix_millis(self.joined_at) == unix_millis(joined_at)
    }

    /// Returns the facts about the entry.
    pub fn facts(&self) -> impl Iterator<Item = Fact> {
        let asked = self.asked_at.map(Fact::AskedAt);
        let confirmed = self.confirmed_at.map(Fact::ConfirmedAt);
        asked.into_iter().chain(confirmed)
    }

    /// Takes a fact into account.
    pub fn apply(&mut self, fact: Fact) {
        match fact {
            Fact::AskedAt(time) => self.asked_at = Some(time),
            Fact::ConfirmedAt(time) => self.confirmed_at = Some(time),
        }
    }
}

/// Converts a time to milliseconds since 1970. An earlier time becomes 0.
pub fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Converts a time to seconds since 1970.
pub fn unix_seconds(time: SystemTime) -> u64 {
    unix_millis(time) / 1000
}

/// Converts milliseconds since 1970 to a time. Milliseconds beyond the range of [`SystemTime`] become 1970.
pub fn from_unix_millis(millis: u64) -> SystemTime {
    let since = Duration::from_millis(millis);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

/// Maximum length of a source, in bytes. A longer text is cut.
const SOURCE_MAX_BYTES: usize = 64;

/// Where a sign-up came from: a short label from a link of the owner, such as `hn` or `newsletter-3`. It has 1 to
/// 64 characters of `a-z`, `0-9`, `.`, `_` and `-`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String")]
pub struct Source(Box<str>);

/// A text that cannot be a source.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("a source has only letters (a-z), digits, dots, hyphens and underscores")]
pub struct InvalidSource;

impl Source {
    /// Wraps a source that was parsed before it was stored.
    pub(crate) fn from_stored(source: &str) -> Self {
        Self(source.into())
    }

    /// Returns the source as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_source_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Source {
    type Err = InvalidSource;

    /// Trims a text, converts it to lower case, joins its words with `-`, and truncates the result to 64 bytes.
    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        let words: Vec<_> = text.split_whitespace().collect();
        let mut source = words.join("-").to_ascii_lowercase();
        let is_valid = !source.is_empty() && source.bytes().all(is_source_byte);
        if !is_valid {
            return Err(InvalidSource);
        }
        // All characters are ASCII.
        source.truncate(SOURCE_MAX_BYTES);
        Ok(Self(source.into()))
    }
}

impl TryFrom<String> for Source {
    type Error = InvalidSource;

    fn try_from(text: String) -> Result<Self, InvalidSource> {
        text.parse()
    }
}

/// Selects entries of a list by time and address, and their order. Entries of the same time keep the order in which
/// they arrived.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Selection {
    /// Only entries of this time or later.
    pub since: Option<SystemTime>,
    /// Only entries before this time.
    pub until: Option<SystemTime>,
    /// Only entries with an address at this domain.
    pub domain: Option<EmailDomain>,
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
            && self.domain.as_ref().is_none_or(|it| it.has(&entry.email))
            && (self.source.is_none() || self.source == entry.source)
            && self
                .confirmed
                .is_none_or(|confirmed| confirmed == entry.confirmed_at.is_some())
    }

    /// Returns whether this selects every entry.
    pub fn is_everything(&self) -> bool {
        let everything = Self {
            newest_first: self.newest_first,
            ..Self::default()
        };
        *self == everything
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
    blocks.flat_map(|block| match block {
        Ok(entries) => entries.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    })
}
