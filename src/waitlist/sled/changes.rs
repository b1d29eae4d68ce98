//! The changes to entries after their sign-ups. They are later in the log than the entries.

use std::collections::{HashMap, HashSet};

use super::{
    super::{
        email::Email,
        entry::{Fact, WaitlistEntry, from_unix_millis, unix_millis},
    },
    items::RecordItem,
};

/// The changes to entries, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Changes {
    facts: HashMap<u64, Facts>,
    erased: HashSet<u64>,
    /// The last address of each entry that was corrected.
    addresses: HashMap<u64, Email>,
}

/// The last facts of each kind about an entry, in milliseconds since 1970 plus one, or 0. With the number of the entry and the
/// overhead of the map, that is 52 bytes for each of a million people.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Facts {
    asked_at: u64,
    confirmed_at: u64,
}

impl Facts {
    fn with(mut self, fact: Fact) -> Self {
        let millis = |time| unix_millis(time).saturating_add(1);
        match fact {
            Fact::AskedAt(time) => self.asked_at = millis(time),
            Fact::ConfirmedAt(time) => self.confirmed_at = millis(time),
        }
        self
    }
}

impl Changes {
    /// Takes an item into account.
    pub(super) fn add(&mut self, item: &RecordItem) {
        match item {
            RecordItem::Fact(entry, fact) => {
                let facts = self.facts.entry(*entry).or_default();
                *facts = facts.with(*fact);
            }
            RecordItem::Erased(entry) => {
                self.erased.insert(*entry);
                self.facts.remove(entry);
                self.addresses.remove(entry);
            }
            RecordItem::Readdressed(entry, address) => {
                self.addresses.insert(*entry, address.clone());
            }
            _ => {}
        }
    }

    /// Returns whether this is the last fact of its kind about an entry that is not erased.
    pub(super) fn has_fact(&self, entry: u64, fact: Fact) -> bool {
        let facts = self.facts.get(&entry);
        facts.is_some_and(|facts| facts.with(fact) == *facts)
    }

    /// Returns the entry with this number as it is now. Returns `None` if the item is not an entry, or erased.
    pub(super) fn entry(&self, number: u64, item: RecordItem) -> Option<WaitlistEntry> {
        let RecordItem::Entry(mut entry) = self.current(number, item) else {
            return None;
        };
        let facts = self.facts.get(&number).copied().unwrap_or_default();
        let time = |millis: u64| millis.checked_sub(1).map(from_unix_millis);
        entry.asked_at = time(facts.asked_at);
        entry.confirmed_at = time(facts.confirmed_at);
        Some(entry)
    }

    /// Returns what takes the place of an item in a list without its erasures, its corrections and replaced facts.
    pub(super) fn current(&self, number: u64, item: RecordItem) -> RecordItem {
        match item {
            RecordItem::Entry(_) if self.erased.contains(&number) => RecordItem::RemovedEntry,
            RecordItem::Entry(mut entry) => {
                if let Some(address) = self.addresses.get(&number) {
                    entry.email = address.clone();
                }
                RecordItem::Entry(entry)
            }
            RecordItem::Fact(entry, fact) if !self.has_fact(entry, fact) => RecordItem::Removed,
            RecordItem::Erased(_) | RecordItem::Readdressed(..) => RecordItem::Removed,
            item => item,
        }
    }
}
