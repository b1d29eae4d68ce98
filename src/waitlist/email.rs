//! An e-mail address: it exists only if it is valid, and it is never printed by accident.

use std::{borrow::Cow, fmt};

use idna::{
    AsciiDenyList,
    uts46::{DnsLength, Hyphens, Uts46},
};

/// Octets before the @ (RFC 5321, 4.5.3.1.1).
const LOCAL_PART_MAX_BYTES: usize = 64;
/// Octets in all (RFC 5321, 4.5.3.1.3, without the angle brackets).
const ADDRESS_MAX_BYTES: usize = 254;
/// Octets of one part of the domain (RFC 1035, 2.3.4).
const LABEL_MAX_BYTES: usize = 63;

/// A valid address, as typed but for the white space around it.
///
/// `Debug` hides it, and there is no `Display`: an address never appears in a log.
#[derive(Clone, Eq, PartialEq)]
pub struct Email(String);

impl Email {
    /// Parses by the rule that browsers apply to `<input type=email>` (WHATWG HTML, 4.10.5.1.5,
    /// "valid email address"), and RFC 5321's lengths. Like in a browser, a domain may be written in
    /// any script: the rule is applied to what UTS 46 makes of it. What does not show, control
    /// characters and those of no width, stands in no address.
    ///
    /// # Errors
    /// [`InvalidEmail`] says which part of the rule is broken.
    pub fn parse(typed: &str) -> Result<Self, InvalidEmail> {
        let address = typed.trim();
        if address.is_empty() {
            return Err(InvalidEmail::Empty);
        }
        let (local, domain) = address.split_once('@').ok_or(InvalidEmail::MissingAt)?;
        if local.is_empty() || !local.bytes().all(is_local_part_byte) {
            return Err(InvalidEmail::LocalPart);
        }
        if local.len() > LOCAL_PART_MAX_BYTES {
            return Err(InvalidEmail::LocalPartTooLong);
        }
        // As typed (RFC 6531, 3.4, counts octets of UTF-8) and as it goes to servers of old.
        let is_too_long = |domain: &str| local.len() + 1 + domain.len() > ADDRESS_MAX_BYTES;
        if is_too_long(domain) {
            return Err(InvalidEmail::TooLong);
        }
        let ascii = to_ascii(domain).ok_or(InvalidEmail::Domain)?;
        if !ascii.split('.').all(is_label) {
            return Err(InvalidEmail::Domain);
        }
        if is_too_long(&ascii) {
            return Err(InvalidEmail::TooLong);
        }
        Ok(Self(address.to_owned()))
    }

    /// An address that was parsed before it was kept.
    pub(crate) fn from_stored(address: &str) -> Self {
        Self(address.to_owned())
    }

    /// The address as typed.
    pub fn as_typed(&self) -> &str {
        &self.0
    }

    /// What all spellings of one address share: the domain in ASCII, and no capital letters. Letter
    /// case is ignored before the @ too: no provider of note tells `Ann@` from `ann@`, and people
    /// type either.
    pub fn key(&self) -> String {
        let mut key = match self.0.split_once('@') {
            Some((local, domain)) if !domain.is_ascii() => {
                let domain = to_ascii(domain).unwrap_or(Cow::Borrowed(domain));
                format!("{local}@{domain}")
            }
            _ => self.0.clone(),
        };
        key.make_ascii_lowercase();
        key
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
    MissingAt,
    /// Nothing, or a character that may not stand there, before the @.
    LocalPart,
    /// A domain that is not letters, digits and hyphens between dots, also when UTS 46 has made
    /// ASCII of it.
    Domain,
    /// More than 64 characters before the @.
    LocalPartTooLong,
    /// More than 254 characters.
    TooLong,
}

impl fmt::Display for InvalidEmail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the address is empty",
            Self::MissingAt => "an address needs an @",
            Self::LocalPart => "the part before the @ is missing or has a character it can't have",
            Self::Domain => "the part after the @ is not a domain such as company.com",
            Self::LocalPartTooLong => "the part before the @ is longer than 64 characters",
            Self::TooLong => "the address is longer than 254 characters",
        })
    }
}

impl std::error::Error for InvalidEmail {}

/// WHATWG's `atext / "."`.
fn is_local_part_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte)
}

/// Characters that are drawn empty although UTS 46 accepts them. It drops or rejects the other invisible ones:
/// spaces, controls, Hangul fillers, variation selectors, tags.
const BLANK_CHARS: [char; 5] = [
    // Braille pattern without dots.
    '\u{2800}',
    // Egyptian hieroglyph blanks.
    '\u{13441}',
    '\u{13442}',
    // Khitan small script filler.
    '\u{16fe4}',
    // Musical symbol null notehead.
    '\u{1d159}',
];

/// A domain as the DNS has it (UTS 46, ToASCII), or nothing when it is no domain. What is ASCII
/// stays as it is, like in WHATWG's rule: `xn--` is not looked into.
fn to_ascii(domain: &str) -> Option<Cow<'_, str>> {
    if domain.is_ascii() {
        return Some(Cow::Borrowed(domain));
    }
    let uts46 = |domain: &str| {
        // Letters and lengths are then held to WHATWG's rule.
        let (letters, hyphens, length) = (
            AsciiDenyList::EMPTY,
            Hyphens::CheckFirstLast,
            DnsLength::Ignore,
        );
        let ascii = Uts46::new().to_ascii(domain.as_bytes(), letters, hyphens, length);
        ascii.ok().map(Cow::into_owned)
    };
    // What UTS 46 leaves out, such as a space of no width or a soft hyphen, would be kept and mailed.
    let is_dropped = |c: char| uts46(&format!("a{c}b")).as_deref() == Some("ab");
    if domain
        .chars()
        .any(|c| BLANK_CHARS.contains(&c) || is_dropped(c))
    {
        return None;
    }
    uts46(domain).map(Cow::Owned)
}

/// WHATWG's `label`: let-dig, then up to 61 of let-dig-hyp, then let-dig.
fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let is_letter_or_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= LABEL_MAX_BYTES
        && is_letter_or_digit(bytes.first())
        && is_letter_or_digit(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}
