//! The suppressions of the committer, which it appends to the list like entries.

use super::{
    super::suppression::{AddressHash, ListKey, SuppressionItem},
    committer::SledCommitter,
    error::or_exit,
    record::{RecordItem, StoredDeparture},
};

impl SledCommitter {
    /// Suppresses an address. The list gets `new_key` if it has no key.
    pub(super) fn suppress(&mut self, address: &str, new_key: ListKey) {
        if self.find_suppressions(address).is_empty() {
            let key = self.contents.suppressions.keys().first().copied();
            let key = key.unwrap_or_else(|| {
                self.add_suppression(SuppressionItem::Key(new_key));
                new_key
            });
            self.add_suppression(SuppressionItem::Address(key.hash(address)));
        }
    }

    /// Adds a key, a suppression or a departure, unless the list has it.
    pub(super) fn add_suppression(&mut self, item: SuppressionItem) {
        if !self.contents.suppressions.has(&item) {
            self.append(match &item {
                SuppressionItem::Key(key) => RecordItem::ListKey(*key),
                SuppressionItem::Address(hash) => RecordItem::Suppressed(*hash),
                SuppressionItem::Departure(it) => RecordItem::Departure(StoredDeparture::from(it)),
            });
        }
    }

    /// Lifts suppressions.
    pub(super) fn lift(&mut self, suppressions: Vec<AddressHash>) {
        for hash in suppressions {
            self.append(RecordItem::Lifted(hash));
        }
    }

    /// Lifts the suppressions of an address if it is on the list, unless the entry awaits a confirmation. Returns whether it
    /// is on the list.
    pub(super) fn lift_listed(&mut self, key: &str) -> bool {
        let suppressions = self.find_suppressions(key);
        let Some(number) = self.contents.people.get(key) else {
            return false;
        };
        if !suppressions.is_empty() && !or_exit(self.person(number)).awaits_confirmation() {
            self.lift(suppressions);
        }
        true
    }
}
