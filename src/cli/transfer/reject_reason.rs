//! Why a record of an imported file is not imported.

use serde::{Serialize, Serializer};
use thiserror::Error;

use super::text::plain_word;
use crate::{
    cli::time::TimeError,
    waitlist::{Email, InvalidEmail},
};

/// Why a record is not imported.
#[derive(Clone, Debug, Error)]
pub(crate) enum RejectReason {
    /// The record is correct, but the person has unsubscribed from the list that the file comes from. The address, if
    /// it is valid.
    #[error("skipped: unsubscribed")]
    Unsubscribed(Option<Email>),
    #[error("missing address")]
    MissingAddress,
    #[error("invalid address{}: an address needs an @", .0.as_deref().map(|word| format!(" {word:?}")).unwrap_or_default())]
    MissingAt(Option<String>),
    #[error("invalid address: {0}")]
    InvalidEmail(InvalidEmail),
    #[error("invalid time: {0}, or remove the column")]
    InvalidTime(TimeError),
    #[error("invalid time: it does not match --date-format")]
    OtherDateFormat,
    #[error("{0}")]
    Malformed(&'static str),
}

impl RejectReason {
    /// Returns the reason for an invalid address.
    pub(super) fn invalid_email(typed: &str, error: InvalidEmail) -> Self {
        match error {
            InvalidEmail::Empty => Self::MissingAddress,
            InvalidEmail::MissingAt => Self::MissingAt(plain_word(typed)),
            error => Self::InvalidEmail(error),
        }
    }
}

impl Serialize for RejectReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
