//! Searches the whole list for addresses. An index would always cost memory, and only the owner's commands search.

use std::collections::{HashMap, HashSet};

use super::{
    super::{email::Email, entry::Fact, error::StoreError, suppression::Suppressions},
    contents::apply_to_suppressions,
    record::{self, RecordItem},
};

/// Addresses, and what was found when they were searched for.
pub(super) struct AddressSearch {
    /// The addresses, see [`Email::key`].
    pub(super) keys: Vec<String>,
    /// The first numbers of the records that have the entries of the addresses, or facts about them.
    pub(super) records: Vec<u64>,
    /// The number of these entries and facts.
    pub(super) item_count: u64,
    /// The end of the search: items with lower numbers were searched.
    pub(super) searched_up_to: u64,
}

/// A fact to record about the entry of an address.
pub(super) struct NewFact {
    /// The address, see [`Email::key`].
    pub(super) key: String,
    pub(super) fact: Fact,
    /// The number of the entry, if it was found.
    pub(super) entry: Option<u64>,
}

/// Finds the records that have the entries of these addresses, or facts about them, among the items with numbers below
/// `end`.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn find_records(
    records: &::sled::Tree,
    end: u64,
    emails: &[Email],
) -> Result<AddressSearch, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let sought: HashSet<_> = keys.iter().collect();
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
        keys,
        records: found,
        item_count,
        searched_up_to: end,
    })
}

/// Finds the entries of these facts, among the items with numbers below `end`.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn find_entries(
    records: &::sled::Tree,
    end: u64,
    facts: Vec<(Email, Fact)>,
) -> Result<Vec<NewFact>, StoreError> {
    let facts = facts.into_iter();
    let facts: Vec<_> = facts.map(|(email, fact)| (email.key(), fact)).collect();
    let keys: HashSet<_> = facts.iter().map(|(key, _)| &**key).collect();
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
    let facts = facts.into_iter().map(|(key, fact)| {
        let entry = numbers.get(&key).copied();
        NewFact { key, fact, entry }
    });
    Ok(facts.collect())
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
