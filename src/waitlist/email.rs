//! An e-mail address: it exists only if it is valid, and it is never printed by accident.

use std::fmt;

/// Octets before the @ (RFC 5321, 4.5.3.1.1).
const LOCAL_MAX: usize = 64;
/// Octets in all (RFC 5321, 4.5.3.1.3, without the angle brackets).
const ADDRESS_MAX: usize = 254;
/// Octets of one part of the domain (RFC 1035, 2.3.4).
const LABEL_MAX: usize = 63;

/// A valid address, as typed but for the white space around it.
///
/// `Debug` hides it, and there is no `Display`: an address never appears in a log.
#[derive(Clone, Eq, PartialEq)]
pub struct Email(String);

impl Email {
    /// Parses by the rule that browsers apply to `<input type=email>` (WHATWG HTML, 4.10.5.1.5,
    /// "valid email address"), and RFC 5321's lengths.
    ///
    /// # Errors
    /// [`InvalidEmail`] says which part of the rule is broken.
    pub fn parse(typed: &str) -> Result<Self, InvalidEmail> {
        let address = typed.trim();
        if address.is_empty() {
            return Err(InvalidEmail::Empty);
        }
        let (local, domain) = address.split_once('@').ok_or(InvalidEmail::NoAt)?;
        if local.is_empty() || !local.bytes().all(is_local) {
            return Err(InvalidEmail::Local);
        }
        if !domain.split('.').all(is_label) {
            return Err(InvalidEmail::Domain);
        }
        if local.len() > LOCAL_MAX {
            return Err(InvalidEmail::LocalTooLong);
        }
        if address.len() > ADDRESS_MAX {
            return Err(InvalidEmail::TooLong);
        }
        Ok(Self(address.to_owned()))
    }

    /// An address that was parsed before it was kept.
    pub(super) fn kept(address: &str) -> Self {
        Self(address.to_owned())
    }

    /// The address as typed.
    pub fn as_typed(&self) -> &str {
        &self.0
    }

    /// What all spellings of one address share. Letter case is ignored before the @ too: no
    /// provider of note tells `Ann@` from `ann@`, and people type either.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Email(…)")
    }
}

/// Why a text is no e-mail address. Its `Display` is for the person who typed it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum InvalidEmail {
    /// Nothing but white space.
    Empty,
    /// No @.
    NoAt,
    /// Nothing, or a character that may not stand there, before the @.
    Local,
    /// A domain that is not letters, digits and hyphens between dots.
    Domain,
    /// More than 64 characters before the @.
    LocalTooLong,
    /// More than 254 characters.
    TooLong,
}

impl fmt::Display for InvalidEmail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the address is empty",
            Self::NoAt => "an address needs an @",
            Self::Local => "the part before the @ is missing or has a character it can't have",
            Self::Domain => "the part after the @ is not a domain such as company.com",
            Self::LocalTooLong => "the part before the @ is longer than 64 characters",
            Self::TooLong => "the address is longer than 254 characters",
        })
    }
}

impl std::error::Error for InvalidEmail {}

/// WHATWG's `atext / "."`.
fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte)
}

/// WHATWG's `label`: let-dig, then up to 61 of let-dig-hyp, then let-dig.
fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= LABEL_MAX
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}
