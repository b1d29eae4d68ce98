//! What the committer publishes after each batch, and reading the list from it, also while it is written to.

use std::{ops::Range, sync::Mutex};

use tokio::sync::watch;

use super::{
    super::{
        entry::{EntryStream, Selection, WaitlistEntry, flatten_blocks, unix_millis},
        error::StoreError,
    },
    changes::Changes,
    items::RecordItem,
    record,
};

/// Number of entries in the first block. It is small, so that the first entries arrive at once.
///
/// Entries are sorted by time, then read block by block, each block in the order in which it is stored. An import
/// may have stored them in any order, and reading a record for each entry would take twenty times as long.
const FIRST_BLOCK_ENTRIES: usize = 1 << 8;
/// Maximum number of entries in a block. Each block is twice as long as the one before it.
const BLOCK_MAX_ENTRIES: usize = 1 << 17;

/// Returns the selected entries of a snapshot, in order.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn entries(snapshot: Snapshot, selection: Selection) -> Result<EntryStream, StoreError> {
    let mut changes = Changes::default();
    snapshot.for_each_item(|_, item| {
        changes.add(&item);
        Ok::<_, StoreError>(())
    })?;
    // The times and numbers of the selected entries.
    let mut order = Vec::new();
    snapshot.for_each_item(|number, item| {
        let selected = changes
            .entry(number, item)
            .filter(|it| selection.selects(it));
        order.extend(selected.map(|entry| (unix_millis(entry.joined_at), number)));
        Ok::<_, StoreError>(())
    })?;
    order.sort_unstable();
    if selection.newest_first {
        order.reverse();
    }
    let count = order.len() as u64;
    let mut numbers = order.into_iter().map(|(_, number)| number);
    let mut size = FIRST_BLOCK_ENTRIES;
    let blocks = std::iter::from_fn(move || {
        let block: Vec<u64> = numbers.by_ref().take(size).collect();
        size = BLOCK_MAX_ENTRIES.min(size * 2);
        (!block.is_empty()).then(|| read(&snapshot.records, &block, &changes))
    });
    Ok(EntryStream::new(count, flatten_blocks(blocks)))
}

/// Reads the entries with these numbers, in this order, with the changes to them.
fn read(
    tree: &::sled::Tree,
    numbers: &[u64],
    changes: &Changes,
) -> Result<Vec<WaitlistEntry>, StoreError> {
    let mut stored: Vec<_> = numbers.iter().copied().zip(0..).collect();
    stored.sort_unstable();
    let mut entries = vec![None; numbers.len()];
    let mut stored = stored.into_iter().peekable();
    while let Some((number, _)) = stored.peek() {
        let found = tree.get_lt(record::key(number + 1));
        let (record_key, bytes) = found.ok().flatten().ok_or(StoreError::Unreadable)?;
        let (first, items) = record::parse(&record_key, &bytes).ok_or(StoreError::Unreadable)?;
        let end = first + items.len() as u64;
        if !(first..end).contains(number) {
            return Err(StoreError::Unreadable);
        }
        while let Some((number, at)) = stored.next_if(|(number, _)| *number < end) {
            entries[at] = changes.entry(number, items[(number - first) as usize].clone());
        }
    }
    let entries: Option<Vec<_>> = entries.into_iter().collect();
    entries.ok_or(StoreError::Unreadable)
}

/// The durable state, published to readers.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) snapshot: Mutex<Snapshot>,
    pub(super) count: watch::Sender<u64>,
}

/// The state of the list between two batches.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) records: ::sled::Tree,
    /// The number after the last durable item.
    pub(super) end: u64,
}

impl Snapshot {
    /// Calls a function for each item, with its number.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] if an item is missing, although the list was complete when it was opened.
    pub(super) fn for_each_item<E: From<StoreError>>(
        &self,
        handle: impl FnMut(u64, RecordItem) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_item_in(0..self.end, handle)
    }

    /// Calls a function for each item in a range, with its number. Ignores what is not durable yet.
    ///
    /// # Errors
    /// Those of [`Self::for_each_item`].
    pub(super) fn for_each_item_in<E: From<StoreError>>(
        &self,
        range: Range<u64>,
        mut handle: impl FnMut(u64, RecordItem) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut next, end) = (range.start, range.end.min(self.end));
        // The record that has the first item.
        let first_key = self.records.get_lt(record::key(next + 1));
        let first_key = first_key.map_err(|_| StoreError::Unreadable)?;
        let first_key =
            first_key.map_or(record::key(0).to_vec(), |(first_key, _)| first_key.to_vec());
        for found in self.records.range(first_key..record::key(end).to_vec()) {
            let (record_key, bytes) = found.map_err(|_| StoreError::Unreadable)?;
            let (first, items) =
                record::parse(&record_key, &bytes).ok_or(StoreError::Unreadable)?;
            if first > next {
                return Err(StoreError::Unreadable.into());
            }
            let items = (first..end).zip(items);
            for (number, item) in items.skip_while(|(number, _)| *number < range.start) {
                handle(number, item)?;
                next = number + 1;
            }
        }
        match next >= end {
            true => Ok(()),
            false => Err(StoreError::Unreadable.into()),
        }
    }
}
