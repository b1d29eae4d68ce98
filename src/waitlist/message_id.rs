//! The id of a message to the people on the list.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Maximum length of an id, in bytes.
const MAX_BYTES: usize = 64;

/// The id of the message that asks people to confirm their address, and of the days on which a server did.
const CONFIRMATION: &str = "confirmation";
const CONFIRMATION_DAYS: &str = "confirmation-days";

/// The id of a message, by which the ledger knows who has had it: 1 to 64 characters of `a-z`, `0-9` and `-`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String")]
pub struct MessageId(Box<str>);

/// A text that cannot be an id of a message.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("an id has 1 to {MAX_BYTES} lower-case letters (a-z), digits and hyphens")]
pub struct InvalidMessageId;

impl MessageId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the message that asks people to confirm their address. It has a delivery for each time that a
    /// person is asked.
    pub fn confirmation() -> Self {
        Self(CONFIRMATION.into())
    }

    /// Returns the id under which the ledger has the days on which a server has asked people: a delivery to nobody for each.
    pub fn confirmation_days() -> Self {
        Self(CONFIRMATION_DAYS.into())
    }

    /// Returns whether this is one of these ids. The owner cannot use them.
    pub fn is_confirmation(&self) -> bool {
        [CONFIRMATION, CONFIRMATION_DAYS].contains(&&*self.0)
    }

    /// Wraps an id that was parsed before it was stored.
    pub(super) fn from_stored(id: &str) -> Self {
        Self(id.into())
    }
}

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        let is_valid =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if text.is_empty() || text.len() > MAX_BYTES || !text.bytes().all(is_valid) {
            return Err(InvalidMessageId);
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for MessageId {
    type Error = InvalidMessageId;

    fn try_from(text: String) -> Result<Self, InvalidMessageId> {
        text.parse()
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
