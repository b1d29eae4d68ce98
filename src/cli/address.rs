//! Addresses on the command line: `ann@example.com`, `<ann@example.com>` or `Ann <ann@example.com>`.

use crate::waitlist::{Email, InvalidEmail};

/// Takes the address of a person who may be on the list. It is not validated: the list of an earlier version may have
/// addresses that are invalid today, and `check` reports them so that they can be erased.
///
/// # Errors
/// [`InvalidEmail::Empty`].
pub(super) fn parse_listed_address(text: &str) -> Result<Email, InvalidEmail> {
    match without_name(text) {
        "" => Err(InvalidEmail::Empty),
        address => Ok(Email::from_stored(address)),
    }
}

/// Parses an address that shall be on the list.
///
/// # Errors
/// [`InvalidEmail`].
pub(super) fn parse_new_address(text: &str) -> Result<Email, InvalidEmail> {
    Email::parse(without_name(text))
}

/// Returns why an address is not on the list: it is not an address, or nobody has signed up with it.
pub(super) fn why_not_listed(address: &Email) -> String {
    let typed = address.as_typed();
    match Email::parse(typed) {
        Ok(_) => format!("{typed} is not on the list"),
        Err(invalid) => format!("{typed} is not an address: {invalid}"),
    }
}

/// Removes the name before an address in angle brackets (RFC 5322, 3.4), and the brackets.
fn without_name(text: &str) -> &str {
    let text = text.trim();
    let bracketed = text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'));
    bracketed.map_or(text, |(_, address)| address.trim())
}
