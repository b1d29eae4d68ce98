//! Reads the list, also while it is written to.

use super::{
    super::{
        entry::{WaitlistEntry, unix_millis},
        entry_stream::{AddressFilter, Selection, flatten_blocks},
        error::StoreError,
    },
    record::{self, RecordItem, StoredEntry},
};

/// Number of entries in the first block. It is small, so that the first entries arrive at once.
///
/// Entries are sorted by time, then read block by block, each block in the order in which it is stored. An import
/// may have stored them in any order, and reading a record for each entry would take twenty times as long.
const FIRST_BLOCK_ENTRIES: usize = 1 << 8;
/// Maximum number of entries in a block. Each block is twice as long as the one before it.
const BLOCK_MAX_ENTRIES: usize = 1 << 17;

/// Returns the selected entries with numbers below `end`, in order, and how many there are.
///
/// An entry that is erased while the list is read may be missing.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn entries(
    tree: ::sled::Tree,
    end: u64,
    selection: Selection,
) -> Result<(u64, impl Iterator<Item = Result<WaitlistEntry, StoreError>>), StoreError> {
    let mut numbers = sorted_numbers(&tree, end, &selection)?;
    let count = numbers.len() as u64;
    let mut size = FIRST_BLOCK_ENTRIES;
    let blocks = std::iter::from_fn(move || {
        let block: Vec<u64> = numbers.by_ref().take(size).collect();
        size = BLOCK_MAX_ENTRIES.min(size * 2);
        (!block.is_empty()).then(|| read(&tree, &block))
    });
    Ok((count, flatten_blocks(blocks).filter_map(Result::transpose)))
}

/// Returns the numbers of the selected entries, in the order of the selection.
fn sorted_numbers(
    tree: &::sled::Tree,
    end: u64,
    selection: &Selection,
) -> Result<impl ExactSizeIterator<Item = u64> + use<>, StoreError> {
    let since = selection.since.map_or(0, unix_millis);
    let until = selection.until.map(unix_millis);
    let mut order = Vec::new();
    let mut next = 0;
    for found in tree.range(..record::key(end)) {
        let (key, bytes) = found.map_err(|_| StoreError::Unreadable)?;
        let (first, items) = parse(&key, &bytes)?;
        // The numbers have no gaps, because an erased entry keeps its place.
        if first > next {
            return Err(StoreError::Unreadable);
        }
        // If a correction has just divided a record, the second part was already read.
        let already_read = (next - first) as usize;
        next = next.max(first + items.len() as u64);
        for (number, item) in (first..end).zip(items).skip(already_read) {
            let is_selected = |entry: &StoredEntry<'_>| {
                let time = entry.joined_at_millis;
                since <= time
                    && until.is_none_or(|until| time < until)
                    // Without a filter, no address is copied.
                    && (selection.addresses == AddressFilter::Any
                        || selection.addresses.matches(&WaitlistEntry::from(*entry).email))
            };
            let selected = item.filter(is_selected);
            order.extend(selected.map(|entry| (entry.joined_at_millis, number)));
        }
    }
    if next < end {
        return Err(StoreError::Unreadable);
    }
    order.sort_unstable();
    if selection.newest_first {
        order.reverse();
    }
    Ok(order.into_iter().map(|(_, number)| number))
}

/// Reads the entries with these numbers, in this order. An erased entry is `None`.
fn read(tree: &::sled::Tree, numbers: &[u64]) -> Result<Vec<Option<WaitlistEntry>>, StoreError> {
    let mut stored: Vec<_> = numbers.iter().copied().zip(0..).collect();
    stored.sort_unstable();
    let mut entries = vec![None; numbers.len()];
    let mut stored = stored.into_iter().peekable();
    while let Some((number, _)) = stored.peek() {
        let found = tree.get_lt(record::key(number + 1));
        let (key, bytes) = found.ok().flatten().ok_or(StoreError::Unreadable)?;
        let (first, items) = parse(&key, &bytes)?;
        let end = first + items.len() as u64;
        if !(first..end).contains(number) {
            return Err(StoreError::Unreadable);
        }
        while let Some((number, at)) = stored.next_if(|(number, _)| *number < end) {
            let item: RecordItem<'_> = items[(number - first) as usize];
            entries[at] = item.map(WaitlistEntry::from);
        }
    }
    Ok(entries)
}

fn parse<'a>(key: &[u8], bytes: &'a [u8]) -> Result<(u64, Vec<RecordItem<'a>>), StoreError> {
    record::parse(key, bytes).ok_or(StoreError::Unreadable)
}
