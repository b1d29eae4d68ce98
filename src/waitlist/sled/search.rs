//! Searches the whole list for the addresses to erase. Erasures are rare, and an index would always cost
//! memory.

use std::collections::HashSet;

use super::{
    super::{Entry, StoreError, queue::Erasure},
    record,
};

/// Finds the records with numbers below `end` that have these addresses.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn search(
    records: &::sled::Tree,
    end: u64,
    erasure: Erasure,
) -> Result<Erasure, StoreError> {
    let sought: HashSet<_> = erasure.keys.iter().collect();
    let mut found = Vec::new();
    for record in records.range(..record::key(end)) {
        let (key, bytes) = record.map_err(|_| StoreError::Unreadable)?;
        let (first, places) = record::parse(&key, &bytes).ok_or(StoreError::Unreadable)?;
        let mut entries = places.into_iter().flatten().map(Entry::from);
        if entries.any(|entry| sought.contains(&entry.email.key())) {
            found.push(first);
        }
    }
    Ok(Erasure {
        records: found,
        searched: end,
        ..erasure
    })
}
