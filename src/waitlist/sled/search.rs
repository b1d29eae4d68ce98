//! Searches the whole list for the addresses to erase. An index would always cost memory, and erasures are rare.

use std::collections::HashSet;

use super::{
    super::{entry::WaitlistEntry, error::StoreError, queue::Erasure},
    record,
};

/// Finds the records with these addresses, among the entries with numbers below `end`.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn find_records(
    records: &::sled::Tree,
    end: u64,
    erasure: Erasure,
) -> Result<Erasure, StoreError> {
    let sought: HashSet<_> = erasure.keys.iter().collect();
    let mut found = Vec::new();
    for record in records.range(..record::key(end)) {
        let (key, bytes) = record.map_err(|_| StoreError::Unreadable)?;
        let (first, items) = record::parse(&key, &bytes).ok_or(StoreError::Unreadable)?;
        let mut entries = items.into_iter().flatten().map(WaitlistEntry::from);
        if entries.any(|entry| sought.contains(&entry.email.key())) {
            found.push(first);
        }
    }
    Ok(Erasure {
        records: found,
        searched_up_to: end,
        ..erasure
    })
}
