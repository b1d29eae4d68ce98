//! The durable state of the list, which the committer publishes after each batch.

use std::sync::{Arc, Mutex, atomic::AtomicU64};

use tokio::sync::watch;

use super::{super::error::StoreError, items::RecordItem, record};

/// The durable state, published to readers.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) snapshot: Arc<Mutex<Snapshot>>,
    pub(super) count: watch::Sender<u64>,
    pub(super) syncs: Arc<AtomicU64>,
}

/// The state of the list between two batches.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) records: ::sled::Tree,
    /// The number after the last durable item.
    pub(super) end: u64,
    /// The number of entries.
    pub(super) count: u64,
}

impl Snapshot {
    /// Calls a function for each item, with its number.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] if an item is missing, although the list was complete when it was opened.
    pub(super) fn for_each_item<E: From<StoreError>>(
        &self,
        mut handle: impl FnMut(u64, RecordItem<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = 0;
        for found in self.records.range(..record::key(self.end)) {
            let (key, bytes) = found.map_err(|_| StoreError::Unreadable)?;
            let (first, items) = record::parse(&key, &bytes).ok_or(StoreError::Unreadable)?;
            if first != next {
                return Err(StoreError::Unreadable.into());
            }
            for (number, item) in (first..self.end).zip(items) {
                handle(number, item)?;
                next = number + 1;
            }
        }
        match next == self.end {
            true => Ok(()),
            false => Err(StoreError::Unreadable.into()),
        }
    }
}
