//! Suppresses the people in a file who have unsubscribed from another list.
//!
//! People who are on the list stay on it and are not suppressed, because they have joined it by themselves. The
//! suppressions are added first, and then lifted for these people. So nobody who joins at the same time is missed.

use super::waitlist_handle::WaitlistHandle;
use crate::waitlist::{Email, ListKey, StoreError, SuppressionItem};

/// Suppresses people who have unsubscribed from another list. Returns how many of them are suppressed.
pub(super) fn suppress_unlisted(list: &WaitlistHandle, emails: &[Email]) -> anyhow::Result<usize> {
    if emails.is_empty() {
        return Ok(0);
    }
    let known = list.suppressions()?;
    let new: Vec<_> = emails
        .iter()
        .filter(|email| !known.contains(email))
        .cloned()
        .collect();
    let first_key = known.keys().first().copied();
    let key = first_key.map_or_else(ListKey::generate, Ok::<_, StoreError>)?;
    let hashes = new
        .iter()
        .map(|email| SuppressionItem::Address(key.hash(email.key())));
    let items = std::iter::once(SuppressionItem::Key(key)).chain(hashes);
    list.add_suppressions(items.collect())?;
    let are_listed = list.lift_listed(&new)?;
    let listed = are_listed.iter().filter(|is_listed| **is_listed).count();
    Ok(emails.len() - listed)
}
