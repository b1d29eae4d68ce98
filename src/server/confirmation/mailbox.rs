//! The mailbox that an address leads to. Several addresses may lead to one.

use crate::waitlist::{AddressHash, Email, ListKey};

/// Providers with several domains, and the characters before the @ that each ignores.
const PROVIDERS: [(&[&str], &[char]); 3] = [
    (&["gmail.com", "googlemail.com"], &['.']),
    (
        &["proton.me", "protonmail.com", "protonmail.ch", "pm.me"],
        &['.', '-', '_'],
    ),
    (&["icloud.com", "me.com", "mac.com"], &[]),
];
/// Providers whose addresses have tags after a hyphen, and no hyphen otherwise, besides all domains `yahoo.…`.
const HYPHEN_TAGS: [&str; 3] = ["ymail.com", "rocketmail.com", "myyahoo.com"];

/// Returns the hash of the mailbox that an address leads to. No address has a line break, so it never equals the hash of an
/// address.
pub(super) fn hash_mailbox(key: &ListKey, email: &Email) -> AddressHash {
    key.hash(format!("mailbox\n{}", mailbox_key(email)))
}

/// Returns what all addresses of a mailbox share, by its key.
///
/// A tag after a plus sign is removed from every address: nearly all providers deliver `ann+x@` to `ann@` (RFC 5233), and a
/// provider that does not loses little, because only the number of messages in a day depends on it. Tags after a hyphen, dots and
/// the like are removed only where the provider ignores them. A whole domain may lead to one mailbox, which nobody outside can
/// know: there only the share of each client counts.
fn mailbox_key(email: &Email) -> String {
    let key = email.key();
    let (local, domain) = key.split_once('@').unwrap_or((&key, ""));
    let local = without_tag(local, '+');
    if let Some((domains, ignored)) = PROVIDERS.iter().find(|(it, _)| it.contains(&domain)) {
        return format!("{}@{}", local.replace(*ignored, ""), domains[0]);
    }
    let has_hyphen_tags = domain.starts_with("yahoo.") || HYPHEN_TAGS.contains(&domain);
    match has_hyphen_tags {
        true => format!("{}@{domain}", without_tag(local, '-')),
        false => format!("{local}@{domain}"),
    }
}

/// Returns the part before a tag. A separator at the beginning belongs to the name.
fn without_tag(local: &str, separator: char) -> &str {
    let tag = local.get(1..).and_then(|rest| rest.find(separator));
    tag.map_or(local, |at| &local[..=at])
}
