//! Searches the whole list for addresses. An index would always cost memory, and only the owner's commands search.

use std::collections::{HashMap, HashSet};

use super::{
    super::{
        error::StoreError,
        queue::{AddressSearch, NewFact},
        suppression::Suppressions,
    },
    contents::apply_to_suppressions,
    record::{self, RecordItem},
};

/// Finds the records that have the entries of these addresses, or facts about them, among the items with numbers below
/// `end`.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn find_records(
    records: &::sled::Tree,
    end: u64,
    addresses: AddressSearch,
) -> Result<AddressSearch, StoreError> {
    let sought: HashSet<_> = addresses.keys.iter().collect();
    let mut entries = HashSet::new();
    let mut found = Vec::new();
    let mut item_count = 0;
    for record in records.range(..record::key(end)) {
        let (key, bytes) = record.map_err(|_| StoreError::Unreadable)?;
        let (first, items) = record::parse(&key, &bytes).ok_or(StoreError::Unreadable)?;
        let count_before = item_count;
        for (number, item) in (first..).zip(items) {
            let is_found = match item {
                RecordItem::Entry(entry) if sought.contains(&entry.address_key()) => {
                    entries.insert(number)
                }
                // A fact follows its entry.
                RecordItem::Fact(fact) => entries.contains(&fact.entry),
                _ => false,
            };
            item_count += u64::from(is_found);
        }
        if item_count > count_before {
            found.push(first);
        }
    }
    Ok(AddressSearch {
        records: found,
        item_count,
        searched_up_to: end,
        ..addresses
    })
}

/// Finds the entries of these facts, among the items with numbers below `end`.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn find_entries(
    records: &::sled::Tree,
    end: u64,
    mut facts: Vec<NewFact>,
) -> Result<Vec<NewFact>, StoreError> {
    let keys: HashSet<_> = facts.iter().map(|fact| &*fact.key).collect();
    let mut numbers = HashMap::new();
    for record in records.range(..record::key(end)) {
        let (key, bytes) = record.map_err(|_| StoreError::Unreadable)?;
        let (first, items) = record::parse(&key, &bytes).ok_or(StoreError::Unreadable)?;
        for (number, item) in (first..).zip(items) {
            if let Some(entry) = item.entry() {
                let key = entry.address_key();
                if keys.contains(&*key) {
                    numbers.insert(key, number);
                }
            }
        }
    }
    for fact in &mut facts {
        fact.entry = numbers.get(&fact.key).copied();
    }
    Ok(facts)
}

/// Reads the suppressions, among the items with numbers below `end`.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn read_suppressions(
    records: &::sled::Tree,
    end: u64,
) -> Result<Suppressions, StoreError> {
    let mut suppressions = Suppressions::default();
    for record in records.range(..record::key(end)) {
        let (key, bytes) = record.map_err(|_| StoreError::Unreadable)?;
        let (first, items) = record::parse(&key, &bytes).ok_or(StoreError::Unreadable)?;
        // If a correction has just divided a record, its second part is read twice. That changes nothing.
        for (_, item) in (first..end).zip(items) {
            apply_to_suppressions(&mut suppressions, item);
        }
    }
    Ok(suppressions)
}
