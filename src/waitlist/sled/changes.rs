//! Erasures and corrections of a list. They are later in the log than the entries that they concern.

use std::collections::{HashMap, HashSet};

use super::{
    super::error::StoreError,
    items::{RecordItem, StoredEntry},
    snapshot::Snapshot,
};

/// The changes, by the numbers of the entries.
#[derive(Default)]
pub(super) struct Changes {
    erased: HashSet<u64>,
    /// The last address of each entry that was corrected.
    addresses: HashMap<u64, Box<str>>,
}

impl Changes {
    pub(super) fn read(snapshot: &Snapshot) -> Result<Self, StoreError> {
        let mut changes = Self::default();
        snapshot.for_each_item(|_, item| {
            match item {
                RecordItem::Erased(entry) => drop(changes.erased.insert(entry)),
                RecordItem::Readdressed(new) => {
                    changes.addresses.insert(new.entry, new.address.into());
                }
                _ => {}
            }
            Ok::<_, StoreError>(())
        })?;
        Ok(changes)
    }

    /// Returns what takes the place of an item.
    pub(super) fn apply<'a>(&'a self, number: u64, item: RecordItem<'a>) -> RecordItem<'a> {
        match item {
            RecordItem::Entry(_) if self.erased.contains(&number) => RecordItem::RemovedEntry,
            RecordItem::Entry(entry) => {
                let address = self.addresses.get(&number);
                let address = address.map_or(entry.address, |address| address);
                RecordItem::Entry(StoredEntry { address, ..entry })
            }
            RecordItem::Fact(fact) if self.erased.contains(&fact.entry) => RecordItem::Removed,
            RecordItem::Erased(_) | RecordItem::Readdressed(_) => RecordItem::Removed,
            item => item,
        }
    }
}
