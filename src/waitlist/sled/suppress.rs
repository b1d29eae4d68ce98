//! The suppressions of the committer, which it appends to the list like entries.

use super::{
    super::suppression::{AddressHash, ListKey, SuppressionItem},
    committer::SledCommitter,
    record::{RecordItem, StoredDeparture},
};

/// Maximum number of suppressions in an erasure that share a sync. Together they are as long as the entries of a batch.
const SUPPRESSIONS_PER_SYNC_MAX: usize = 2048;

impl SledCommitter {
    /// Suppresses addresses, and syncs that. The list gets `new_key` if it has no key.
    pub(super) fn suppress(&mut self, keys: &[String], new_key: ListKey) {
        let key = self.suppressions.keys().first().copied();
        let key = key.unwrap_or_else(|| {
            self.add_suppression(SuppressionItem::Key(new_key));
            new_key
        });
        for some in keys.chunks(SUPPRESSIONS_PER_SYNC_MAX) {
            for address in some {
                if self.find_suppressions(address).is_empty() {
                    self.add_suppression(SuppressionItem::Address(key.hash(address)));
                }
            }
            self.write_tail();
            self.sync();
        }
    }

    /// Adds a key, a suppression or a departure, unless the list has it.
    pub(super) fn add_suppression(&mut self, item: SuppressionItem) {
        if self.suppressions.add(item.clone()) {
            self.push_suppression(match &item {
                SuppressionItem::Key(key) => RecordItem::ListKey(*key),
                SuppressionItem::Address(hash) => RecordItem::Suppressed(*hash),
                SuppressionItem::Departure(it) => RecordItem::Departure(StoredDeparture::from(it)),
            });
        }
    }

    /// Lifts suppressions.
    pub(super) fn lift(&mut self, suppressions: Vec<AddressHash>) {
        for hash in suppressions {
            self.suppressions.lift(hash);
            self.push_suppression(RecordItem::Lifted(hash));
        }
    }

    fn push_suppression(&mut self, item: RecordItem<'_>) {
        self.make_room(item.len());
        self.tail.push(item);
    }

    /// Lifts the suppressions of an address if it is on the list. Returns whether it is.
    pub(super) fn lift_listed(&mut self, key: &str) -> bool {
        let is_listed = self.keys.contains(key);
        if is_listed {
            let suppressions = self.find_suppressions(key);
            self.lift(suppressions);
        }
        is_listed
    }
}
