//! Addresses on the command line and in imported files: `ann@example.com`, `<ann@example.com>` or
//! `Ann <ann@example.com>`.

use crate::waitlist::{Email, InvalidEmail};

/// Takes the address of a person who may be on the list. It is not validated: the list of an earlier version may have
/// addresses that are invalid today, and `check` reports them so that they can be erased.
///
/// # Errors
/// [`InvalidEmail::Empty`] and [`InvalidEmail::TooLong`].
pub(super) fn parse_listed_address(text: &str) -> Result<Email, InvalidEmail> {
    without_name(text).to_owned().try_into()
}

/// Parses an address that shall be on the list.
///
/// # Errors
/// [`InvalidEmail`].
pub(super) fn parse_new_address(text: &str) -> Result<Email, InvalidEmail> {
    Email::parse(without_name(text))
}

/// Removes the name before an address in angle brackets (RFC 5322, 3.4), and the brackets. A name with another address
/// stays, and makes the text invalid: two people may be meant.
pub(super) fn without_name(text: &str) -> &str {
    let text = text.trim();
    let bracketed = text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'));
    match bracketed {
        Some((name, address)) if !name.contains('@') || is_same_address(name, address) => {
            address.trim()
        }
        _ => text,
    }
}

/// Whether a name is the address itself, as some mail programs write it.
fn is_same_address(name: &str, address: &str) -> bool {
    let name = name.trim_matches([' ', '"', '\'']);
    name.eq_ignore_ascii_case(address.trim())
}
