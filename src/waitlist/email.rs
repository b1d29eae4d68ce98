//! A type for e-mail addresses: every value is valid, and none is printed by accident.

use std::{borrow::Cow, fmt};

use idna::{
    AsciiDenyList,
    uts46::{DnsLength, Hyphens, Uts46},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Maximum size of the part before the @, in bytes (RFC 5321, 4.5.3.1.1).
const LOCAL_PART_MAX_BYTES: usize = 64;
/// Maximum size of an address, in bytes (RFC 5321, 4.5.3.1.3, without the angle brackets).
const ADDRESS_MAX_BYTES: usize = 254;
/// Maximum size of one label of the domain, in bytes (RFC 1035, 2.3.4).
const LABEL_MAX_BYTES: usize = 63;

/// A valid address, as typed, without the invisible characters around it.
///
/// `Debug` hides the address and there is no `Display`, so an address never appears in a log.
#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String")]
pub struct Email(String);

impl Email {
    /// Parses an address by the rule that browsers apply to `<input type=email>` (WHATWG HTML, 4.10.5.1.5, "valid
    /// email address"), and enforces the lengths of RFC 5321. As in a browser, the domain may be in any script: the
    /// rule applies to the ASCII form that UTS 46 gives it. Invisible characters around the address are removed,
    /// because people copy them from messages and pages. Inside it, they are rejected.
    ///
    /// # Errors
    /// [`InvalidEmail`] names the part of the rule that is broken.
    pub fn parse(typed: &str) -> Result<Self, InvalidEmail> {
        let address = typed.trim_matches(is_invisible);
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
        // Checked as typed (RFC 6531, 3.4, counts bytes of UTF-8), and below in ASCII, as older servers get it.
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

    /// Wraps an address that was parsed before it was stored.
    pub(crate) fn from_stored(address: &str) -> Self {
        Self(address.to_owned())
    }

    /// Returns the address as typed.
    pub fn as_typed(&self) -> &str {
        &self.0
    }

    /// Returns the address for a page that anybody with a link can see: its first character and its domain.
    pub fn masked(&self) -> String {
        let (local, domain) = self.0.split_once('@').unwrap_or_default();
        let first = local.get(..1).unwrap_or_default();
        format!("{first}…@{domain}")
    }

    /// Returns the form that all spellings of an address share: in lower case, with the domain in ASCII. Case is
    /// ignored before the @ too, because no major provider distinguishes `Ann@` from `ann@`, and people type both. It is
    /// the key of the entry in every store. The secret of a list is its list key, [`ListKey`](super::ListKey).
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

/// Accepts an address that an earlier version has stored, which may be invalid today.
impl TryFrom<String> for Email {
    type Error = InvalidEmail;

    fn try_from(address: String) -> Result<Self, InvalidEmail> {
        match address.len() {
            0 => Err(InvalidEmail::Empty),
            1..=ADDRESS_MAX_BYTES => Ok(Self(address)),
            _ => Err(InvalidEmail::TooLong),
        }
    }
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Email(…)")
    }
}

/// The domain of e-mail addresses, in ASCII and lower case, as in [`Email::key`].
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct EmailDomain(String);

impl EmailDomain {
    /// Parses a domain in any script, with or without the @ before it.
    ///
    /// # Errors
    /// [`InvalidEmail::Domain`].
    pub fn parse(typed: &str) -> Result<Self, InvalidEmail> {
        let typed = typed.trim();
        let typed = typed.strip_prefix('@').unwrap_or(typed);
        let ascii = to_ascii(typed).filter(|ascii| ascii.split('.').all(is_label));
        let ascii = ascii.ok_or(InvalidEmail::Domain)?;
        Ok(Self(ascii.to_ascii_lowercase()))
    }

    /// Returns the domain, without an @.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether an address is at this domain, and not at a sub-domain.
    pub fn has(&self, email: &Email) -> bool {
        let key = email.key();
        key.rsplit_once('@').is_some_and(|(_, it)| it == self.0)
    }
}

/// The reason why a text is not an e-mail address. Its `Display` is written for the person who typed it.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum InvalidEmail {
    /// The text is empty, or only white space.
    #[error("the address is empty")]
    Empty,
    /// The @ is missing.
    #[error("an address needs an @")]
    MissingAt,
    /// The part before the @ is empty or has an invalid character.
    #[error("the part before the @ is missing or has a character that is not allowed")]
    LocalPart,
    /// The ASCII form of the domain is not made of labels of letters, digits and hyphens with dots between them, or
    /// UTS 46 gives it no such form.
    #[error("the part after the @ is not a domain such as company.com")]
    Domain,
    /// The part before the @ is longer than 64 characters.
    #[error("the part before the @ is longer than 64 characters")]
    LocalPartTooLong,
    /// The address is longer than 254 characters.
    #[error("the address is longer than 254 characters")]
    TooLong,
}

/// Returns whether a character cannot be seen: white space, Unicode's Default_Ignorable_Code_Point, and the
/// Braille pattern without dots.
/// `islands/waitlist-form/typed.ts` has the same rule.
fn is_invisible(c: char) -> bool {
    let is_ignorable = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    c.is_whitespace() || is_ignorable || c == '\u{2800}'
}

/// Returns whether a byte is in WHATWG's `atext / "."`.
fn is_local_part_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte)
}

/// Characters that are drawn blank although UTS 46 accepts them. UTS 46 drops or rejects the other invisible
/// characters: spaces, controls, Hangul fillers, variation selectors and tags.
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

/// Converts a domain to its ASCII form in the DNS (UTS 46, ToASCII). Returns `None` if it is not a domain. A domain
/// in ASCII is returned unchanged, as in WHATWG's rule: `xn--` labels are not decoded.
fn to_ascii(domain: &str) -> Option<Cow<'_, str>> {
    if domain.is_ascii() {
        return Some(Cow::Borrowed(domain));
    }
    let uts46 = |domain: &str| {
        // The caller then checks characters and lengths by WHATWG's rule.
        let (letters, hyphens, length) = (
            AsciiDenyList::EMPTY,
            Hyphens::CheckFirstLast,
            DnsLength::Ignore,
        );
        let ascii = Uts46::new().to_ascii(domain.as_bytes(), letters, hyphens, length);
        ascii.ok().map(Cow::into_owned)
    };
    // UTS 46 drops some characters, such as zero-width spaces and soft hyphens. They would be stored and mailed.
    let is_dropped = |c: char| uts46(&format!("a{c}b")).as_deref() == Some("ab");
    if domain
        .chars()
        .any(|c| BLANK_CHARS.contains(&c) || is_dropped(c))
    {
        return None;
    }
    uts46(domain).map(Cow::Owned)
}

/// Returns whether a text is WHATWG's `label`: a let-dig, up to 61 let-dig-hyp, and a let-dig.
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
