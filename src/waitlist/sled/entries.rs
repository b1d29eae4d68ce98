//! Reads the list, also while it is written to.

use super::{
    super::{
        email::Email,
        entry::{Fact, WaitlistEntry, unix_millis},
        entry_stream::{AddressFilter, Selection, flatten_blocks},
        error::StoreError,
        source::Source,
    },
    changes::Changes,
    items::{RecordItem, StoredEntry, StoredFact},
    record,
    snapshot::Snapshot,
};

/// Number of entries in the first block. It is small, so that the first entries arrive at once.
///
/// Entries are sorted by time, then read block by block, each block in the order in which it is stored. An import
/// may have stored them in any order, and reading a record for each entry would take twenty times as long.
const FIRST_BLOCK_ENTRIES: usize = 1 << 8;
/// Maximum number of entries in a block. Each block is twice as long as the one before it.
const BLOCK_MAX_ENTRIES: usize = 1 << 17;

/// Returns the selected entries of a snapshot, in order, and how many there are.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn entries(
    snapshot: Snapshot,
    selection: Selection,
) -> Result<(u64, impl Iterator<Item = Result<WaitlistEntry, StoreError>>), StoreError> {
    let Index { mut order, known } = Index::read(&snapshot, &selection)?;
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
        (!block.is_empty()).then(|| read(&snapshot.records, &block, &known))
    });
    Ok((count, flatten_blocks(blocks)))
}

/// The order of the selected entries, and what became known about all entries.
struct Index {
    /// The times and numbers of the selected entries.
    order: Vec<(u64, u64)>,
    known: Known,
}

/// What became known about entries.
struct Known {
    /// The facts, sorted by the numbers of their entries.
    facts: Vec<StoredFact>,
    changes: Changes,
}

impl Index {
    fn read(snapshot: &Snapshot, selection: &Selection) -> Result<Self, StoreError> {
        let filter = EntryFilter::from(selection);
        let changes = Changes::read(snapshot)?;
        let (mut order, mut facts) = (Vec::new(), Vec::new());
        snapshot.for_each_item(|number, item| {
            match changes.apply(number, item) {
                RecordItem::Entry(entry) if filter.selects(&entry) => {
                    order.push((entry.joined_at_millis, number));
                }
                RecordItem::Fact(fact) => facts.push(fact),
                _ => {}
            }
            Ok::<_, StoreError>(())
        })?;
        // Facts about the same entry keep their order.
        facts.sort_by_key(|fact| fact.entry);
        let known = Known { facts, changes };
        if let Some(confirmed) = selection.confirmed {
            order.retain(|(_, number)| known.is_confirmed(*number) == confirmed);
        }
        Ok(Self { order, known })
    }
}

impl Known {
    /// Returns whether the person of an entry has confirmed the address.
    fn is_confirmed(&self, entry: u64) -> bool {
        self.facts_about(entry)
            .any(|fact| matches!(fact, Fact::ConfirmedAt(_)))
    }

    fn facts_about(&self, entry: u64) -> impl Iterator<Item = Fact> {
        let start = self.facts.partition_point(|fact| fact.entry < entry);
        let facts = self.facts[start..].iter();
        facts
            .take_while(move |fact| fact.entry == entry)
            .map(|fact| fact.fact)
    }

    /// Returns an entry with everything that became known about it, or `None` if the item is not an entry.
    fn entry(&self, number: u64, item: RecordItem<'_>) -> Option<WaitlistEntry> {
        let stored = self.changes.apply(number, item).entry()?;
        let mut entry = WaitlistEntry::from(stored);
        self.facts_about(number).for_each(|fact| entry.apply(fact));
        Some(entry)
    }
}

/// A selection, as stored entries are compared with it.
struct EntryFilter<'a> {
    since: u64,
    until: Option<u64>,
    addresses: &'a AddressFilter,
    source: Option<&'a str>,
}

impl<'a> From<&'a Selection> for EntryFilter<'a> {
    fn from(selection: &'a Selection) -> Self {
        Self {
            since: selection.since.map_or(0, unix_millis),
            until: selection.until.map(unix_millis),
            addresses: &selection.addresses,
            source: selection.source.as_ref().map(Source::as_str),
        }
    }
}

impl EntryFilter<'_> {
    fn selects(&self, entry: &StoredEntry<'_>) -> bool {
        let time = entry.joined_at_millis;
        self.since <= time
            && self.until.is_none_or(|until| time < until)
            && self.source.is_none_or(|source| source == entry.source)
            // Without a filter, no address is copied.
            && (*self.addresses == AddressFilter::Any
                || self.addresses.matches(&Email::from_stored(entry.address)))
    }
}

/// Reads the entries with these numbers, in this order, with what became known about them.
fn read(
    tree: &::sled::Tree,
    numbers: &[u64],
    known: &Known,
) -> Result<Vec<WaitlistEntry>, StoreError> {
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
            entries[at] = known.entry(number, items[(number - first) as usize]);
        }
    }
    let entries: Option<Vec<_>> = entries.into_iter().collect();
    entries.ok_or(StoreError::Unreadable)
}

fn parse<'a>(key: &[u8], bytes: &'a [u8]) -> Result<(u64, Vec<RecordItem<'a>>), StoreError> {
    record::parse(key, bytes).ok_or(StoreError::Unreadable)
}
