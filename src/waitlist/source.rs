//! Where a sign-up came from: a short label from a link of the owner, such as `hn` or `newsletter-3`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Maximum length of a source, in bytes. A longer text is cut.
const SOURCE_MAX_BYTES: usize = 64;

/// The source of a sign-up: 1 to 64 characters of `a-z`, `0-9`, `.`, `_` and `-`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String")]
pub struct Source(Box<str>);

/// A text that cannot be a source.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("a source has only letters (a-z), digits, dots, hyphens and underscores")]
pub struct InvalidSource;

impl Source {
    /// Trims a text, converts it to lower case, joins its words with `-`, and truncates the result to 64 bytes.
    ///
    /// # Errors
    /// [`InvalidSource`] if the text is empty or has other characters.
    pub fn parse(text: &str) -> Result<Self, InvalidSource> {
        let mut source = String::new();
        for word in text.split_whitespace() {
            if !source.is_empty() {
                source.push('-');
            }
            source.push_str(word);
        }
        source.make_ascii_lowercase();
        let is_valid = !source.is_empty() && source.bytes().all(is_source_byte);
        if !is_valid {
            return Err(InvalidSource);
        }
        // All characters are ASCII.
        source.truncate(SOURCE_MAX_BYTES);
        Ok(Self(source.into()))
    }

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

    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Source {
    type Error = InvalidSource;

    fn try_from(text: String) -> Result<Self, InvalidSource> {
        Self::parse(&text)
    }
}
