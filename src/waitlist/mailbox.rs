//! The mailbox that an address leads to. Several addresses may lead to one.

use super::{
    email::Email,
    suppression::{AddressHash, ListKey},
};

/// Providers with several domains, and the characters before the @ that each ignores.
const PROVIDERS: [(&[&str], &[char]); 3] = [
    (&["gmail.com", "googlemail.com"], &['.']),
    (
        &["proton.me", "protonmail.com", "protonmail.ch", "pm.me"],
        &['.', '-', '_'],
    ),
    (&["icloud.com", "me.com", "mac.com"], &[]),
];

/// Returns the hash of the mailbox that an address leads to. No address has a line break, so it never equals the hash of an
/// address.
pub fn hash_mailbox(key: &ListKey, email: &Email) -> AddressHash {
    key.hash(format!("mailbox\n{}", mailbox_key(email)))
}

/// Returns what all addresses of a mailbox share, by its key.
///
/// A tag after a plus sign is removed from every address: nearly all providers deliver `ann+x@` to `ann@` (RFC 5233), and a
/// provider that does not loses little, because only the number of messages in a day and the number of invitations depend on
/// it. Dots and the like are removed only where the provider ignores them. A whole domain may lead to one mailbox, which
/// nobody outside can know: there only the share of each client limits the messages.
fn mailbox_key(email: &Email) -> String {
    let key = email.key();
    let (local, domain) = key.split_once('@').unwrap_or((&key, ""));
    // A plus sign at the beginning belongs to the name.
    let tag = local.get(1..).and_then(|rest| rest.find('+'));
    let local = tag.map_or(local, |at| &local[..=at]);
    match PROVIDERS.iter().find(|(it, _)| it.contains(&domain)) {
        Some((domains, ignored)) => format!("{}@{}", local.replace(*ignored, ""), domains[0]),
        None => format!("{local}@{domain}"),
    }
}
