//! Changes to existing entries: facts about them, which are appended, and erasures and corrections, which rewrite
//! records.

use std::{
    collections::{HashMap, HashSet},
    time::SystemTime,
};

use ::sled::IVec;

use super::{
    super::{
        email::Email,
        entry::{Fact, from_unix_millis},
        source::Source,
        store::CorrectOutcome,
        suppression::{Departure, ListKey, SuppressionItem},
    },
    committer::SledCommitter,
    error::or_exit,
    record::{self, Record, RecordItem, StoredEntry, StoredFact},
    search::{AddressSearch, NewFact},
};

/// Maximum number of records rewritten by an erasure that share a sync. For each of them, sled may rewrite a leaf,
/// which has up to 16 records of 1 KiB. Together that is half a segment.
const REWRITES_PER_SYNC_MAX: u32 = 16;

/// What an erasure leaves behind, see [`Erasure`](super::super::store::Erasure).
#[derive(Clone, Copy)]
pub(super) enum EraseKind {
    Complete,
    /// Suppressions, with this key if the list has none.
    Suppress(ListKey),
    /// Those who have confirmed, or were added or asked at this time or later.
    Unconfirmed(SystemTime),
}

/// A change to the entries of some addresses, all of which are on the list.
struct Rewrite<'a> {
    sought: HashSet<&'a String>,
    /// The new address of the entries. Without one, they are erased, with all facts about them.
    replacement: Option<&'a str>,
    /// The numbers of the entries that were erased, so that their facts are found.
    erased: HashSet<u64>,
    /// The sources of the entries that were changed.
    sources: Vec<Option<Source>>,
    /// The number of entries and facts that were changed.
    item_count: u64,
}

impl<'a> Rewrite<'a> {
    fn new(sought: HashSet<&'a String>, replacement: Option<&'a str>) -> Self {
        Self {
            sought,
            replacement,
            erased: HashSet::new(),
            sources: Vec::new(),
            item_count: 0,
        }
    }

    /// Returns the item that takes the place of this one, if it changes.
    fn change<'b>(&mut self, number: u64, item: RecordItem<'b>) -> Option<RecordItem<'b>>
    where
        'a: 'b,
    {
        let changed = match item {
            RecordItem::Entry(entry) if self.sought.contains(&entry.address_key()) => {
                self.sources.push(entry.source());
                match self.replacement {
                    Some(address) => RecordItem::Entry(StoredEntry { address, ..entry }),
                    None => {
                        self.erased.insert(number);
                        RecordItem::ErasedEntry
                    }
                }
            }
            // A fact follows its entry.
            RecordItem::Fact(fact) if self.erased.contains(&fact.entry) => RecordItem::ErasedFact,
            _ => return None,
        };
        self.item_count += 1;
        Some(changed)
    }

    /// Returns what takes the place of each record that changes, in the same order. A record may become several.
    fn change_records(&mut self, records: impl Iterator<Item = (IVec, IVec)>) -> Vec<Vec<Record>> {
        let mut changed = Vec::new();
        for (key, bytes) in records {
            // Damaged records were rejected when the list was opened.
            let (first, items) = record::parse(&key, &bytes).unwrap_or_default();
            let count_before = self.item_count;
            let items: Vec<_> = (first..)
                .zip(items)
                .map(|(number, item)| self.change(number, item).unwrap_or(item))
                .collect();
            if self.item_count > count_before {
                changed.push(Record::split(first, items.into_iter()));
            }
        }
        changed
    }
}

impl SledCommitter {
    /// Removes the entries of addresses, and all facts about them. Suppressions are durable before: so a crash leaves
    /// nobody who is neither listed nor suppressed. Returns, for each address, whether it was listed and is not any more.
    pub(super) fn erase(&mut self, addresses: &AddressSearch, kind: EraseKind) -> Vec<bool> {
        if let EraseKind::Suppress(new_key) = kind {
            self.suppress(&addresses.keys, new_key);
        }
        let is_listed = |key: &&String| self.keys.contains(key);
        let mut sought: HashSet<_> = addresses.keys.iter().filter(is_listed).collect();
        let kept = match kind {
            EraseKind::Unconfirmed(before) => {
                self.write_tail();
                self.confirmed_or_since(&sought, before)
            }
            _ => HashSet::new(),
        };
        sought.retain(|key| !kept.contains(*key));
        if !sought.is_empty() {
            let sources = self.rewrite(addresses, Rewrite::new(sought, None));
            // A crash before the next sync may lose these, and then a statistic is too low.
            let is_departure = matches!(kind, EraseKind::Suppress(_));
            let departures = sources.into_iter().filter(|_| is_departure);
            for departure in departures.map(Departure::new) {
                self.add_suppression(SuppressionItem::Departure(departure));
            }
        }
        let keys = addresses.keys.iter();
        let was_erased = keys.map(|key| !kept.contains(key) && self.keys.remove(key));
        was_erased.collect()
    }

    /// Returns those of the addresses that were confirmed, or that were added or asked at this time or later. It reads
    /// the whole list, because facts may follow their entry at any distance.
    fn confirmed_or_since(&self, sought: &HashSet<&String>, time: SystemTime) -> HashSet<String> {
        let (mut numbers, mut kept) = (HashMap::new(), HashSet::new());
        for (key, bytes) in self.records.iter().map(or_exit) {
            // Damaged records were rejected when the list was opened.
            let (first, items) = record::parse(&key, &bytes).unwrap_or_default();
            for (number, item) in (first..).zip(items) {
                match item {
                    RecordItem::Entry(entry) => {
                        let key = entry.address_key();
                        if sought.contains(&key) {
                            if from_unix_millis(entry.joined_at_millis) >= time {
                                kept.insert(key.clone());
                            }
                            numbers.insert(number, key);
                        }
                    }
                    RecordItem::Fact(StoredFact { entry, fact }) => {
                        let keeps = match fact {
                            Fact::AskedAt(asked_at) => asked_at >= time,
                            Fact::ConfirmedAt(_) => true,
                        };
                        kept.extend(numbers.get(&entry).filter(|_| keeps).cloned());
                    }
                    _ => {}
                }
            }
        }
        kept
    }

    /// Replaces an address in the record that has it.
    pub(super) fn correct(&mut self, old: &AddressSearch, new: &Email) -> CorrectOutcome {
        let Some(old_key) = old.keys.first().filter(|key| self.keys.contains(key)) else {
            return CorrectOutcome::NotListed;
        };
        let new_key = new.key();
        if new_key != *old_key && self.keys.contains(&new_key) {
            return CorrectOutcome::NewAddressListed;
        }
        let rewrite = Rewrite::new(HashSet::from([old_key]), Some(new.as_typed()));
        self.rewrite(old, rewrite);
        self.keys.remove(old_key);
        self.keys.insert(&new_key);
        self.corrections += 1;
        CorrectOutcome::Corrected
    }

    /// Appends a fact. Returns whether its address is on the list.
    pub(super) fn add_fact_about(&mut self, NewFact { key, fact, entry }: &NewFact) -> bool {
        if !self.keys.contains(key) {
            return false;
        }
        self.write_tail();
        let entry = entry.filter(|number| self.is_entry_of(*number, key));
        // The entry was changed, or added, since the search.
        let entry = entry.or_else(|| self.find_number(key));
        entry.map(|entry| self.add_fact(entry, *fact)).is_some()
    }

    /// Returns whether the item with this number is the entry of an address.
    fn is_entry_of(&self, number: u64, key: &str) -> bool {
        let record = or_exit(self.records.get_lt(record::key(number + 1)));
        let items = record
            .as_ref()
            .and_then(|(key, bytes)| record::parse(key, bytes));
        let item = items.and_then(|(first, items)| items.get((number - first) as usize).copied());
        let entry = item.and_then(RecordItem::entry);
        entry.is_some_and(|entry| entry.address_key() == key)
    }

    /// Returns the number of the entry of an address.
    fn find_number(&self, key: &str) -> Option<u64> {
        self.records.iter().map(or_exit).find_map(|(first, bytes)| {
            let (first, items) = record::parse(&first, &bytes)?;
            let is_sought = |entry: StoredEntry<'_>| entry.address_key() == key;
            let at = items
                .into_iter()
                .position(|item| item.entry().is_some_and(is_sought))?;
            Some(first + at as u64)
        })
    }

    /// Changes the entries of addresses, and returns their sources. Entries that were added after the search are
    /// searched here.
    fn rewrite(&mut self, search: &AddressSearch, mut rewrite: Rewrite<'_>) -> Vec<Option<Source>> {
        self.write_tail();
        let first_unsearched = or_exit(self.records.get_lt(record::key(search.searched_up_to + 1)));
        let first_unsearched = first_unsearched.map_or(IVec::from(&record::key(0)), |(key, _)| key);
        let earlier = search.records.iter().map(|first| record::key(*first));
        let earlier = earlier.filter(|key| key.as_slice() < &*first_unsearched);
        let earlier: Vec<_> = earlier
            .filter_map(|key| or_exit(self.records.get(key)).map(|bytes| (IVec::from(&key), bytes)))
            .collect();
        let later = self.records.range(first_unsearched..).map(or_exit);
        let mut changed = rewrite.change_records(earlier.into_iter().chain(later));
        let is_erasure = rewrite.replacement.is_none();
        if rewrite.sources.len() < rewrite.sought.len()
            || is_erasure && rewrite.item_count < search.item_count
        {
            // A correction has divided a record since it was searched.
            rewrite = Rewrite::new(rewrite.sought, rewrite.replacement);
            changed = rewrite.change_records(self.records.iter().map(or_exit));
        }
        self.write_records(changed);
        if is_erasure {
            let entries = rewrite.sources.len() as u64;
            self.counts.entries -= entries;
            self.counts.erased_entries += entries;
            self.counts.erased_facts += rewrite.item_count - entries;
        }
        rewrite.sources
    }

    /// Replaces records, the last one first: facts before their entry. So a crash in between leaves no fact without its
    /// entry.
    fn write_records(&mut self, changed: Vec<Vec<Record>>) {
        let mut rewritten = 0;
        for replacements in changed.into_iter().rev() {
            match &replacements[..] {
                [record] => drop(or_exit(self.records.insert(record.key(), record.bytes()))),
                // A longer address needs a second record. Both are written in one step.
                records => {
                    let mut batch = ::sled::Batch::default();
                    for record in records {
                        batch.insert(&record.key(), record.bytes());
                    }
                    or_exit(self.records.apply_batch(batch));
                }
            }
            if replacements[0].first() == self.tail.first()
                && let Some(tail) = replacements.into_iter().next_back()
            {
                self.tail = tail;
            }
            rewritten += 1;
            if rewritten % REWRITES_PER_SYNC_MAX == 0 {
                self.sync();
            }
        }
    }
}
