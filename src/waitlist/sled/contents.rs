//! What the committer knows of the list. It is read from end to end when the list is opened, and each new item is added
//! to it.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{BuildHasher, RandomState},
};

use super::{
    super::{
        entry::WaitlistEntry,
        suppression::{ListKey, Suppressions},
    },
    changes::Changes,
    error::{OpenFailure, UnusableReason, describe},
    items::RecordItem,
    ledger_states::LedgerStates,
    record::{self, Record},
};

/// The contents of a list.
#[derive(Debug)]
pub(super) struct Contents {
    /// The people on the list.
    pub(super) people: PersonIndex,
    pub(super) changes: Changes,
    pub(super) suppressions: Suppressions,
    has_list_key: bool,
    pub(super) ledger: LedgerStates,
    pub(super) outbox: Outbox,
    /// The last record, which grows until it is full.
    pub(super) tail: Record,
}

impl Contents {
    /// Reads every item, and compares the result with the high-water mark, `minimum`. A list that an
    /// earlier version has created may have no `list_key`: its first one is in the records, or it gets `new_list_key`.
    ///
    /// # Errors
    /// [`UnusableReason`] says what is damaged or missing.
    pub(super) fn read(
        records: &::sled::Tree,
        list_key: Option<ListKey>,
        new_list_key: ListKey,
        minimum: u64,
    ) -> Result<Self, OpenFailure> {
        let mut contents = Self {
            has_list_key: list_key.is_some(),
            people: PersonIndex::default(),
            changes: Changes::default(),
            suppressions: Suppressions::new(list_key.unwrap_or(new_list_key)),
            ledger: LedgerStates::default(),
            outbox: Outbox::default(),
            tail: Record::starting_at(0),
        };
        for found in records {
            let (record_key, bytes) =
                found.map_err(|error| UnusableReason::Sled(describe(error)))?;
            let next = contents.tail.end();
            let parsed = record::parse(&record_key, &bytes);
            let (first, items) = parsed.ok_or(UnusableReason::DamagedItems(next))?;
            if first != next {
                return Err(UnusableReason::MissingItems(next..first).into());
            }
            contents.tail = Record::starting_at(first);
            for (number, item) in (next..).zip(items) {
                let added = contents.add(records, &item)?;
                added.ok_or(UnusableReason::DamagedItems(number))?;
            }
        }
        contents.ledger.forget_begun();
        let end = contents.tail.end();
        if end < minimum {
            return Err(UnusableReason::MissingItems(end..minimum).into());
        }
        Ok(contents)
    }

    /// Appends an item to the last record, which must have room for it, and takes it into account. Returns `None` if it
    /// contradicts the items before it.
    pub(super) fn add(
        &mut self,
        records: &::sled::Tree,
        item: &RecordItem,
    ) -> Result<Option<()>, ::sled::Error> {
        let number = self.tail.end();
        match item {
            RecordItem::Entry(entry) => {
                // The committer adds nobody twice. One of two entries could not be erased.
                if !self.people.insert(&entry.email.key(), number) {
                    return Ok(None);
                }
            }
            RecordItem::Erased(entry) => {
                let Some(person) = self.person(records, *entry)? else {
                    return Ok(None);
                };
                self.people.remove(&person.email.key());
            }
            RecordItem::Readdressed(entry, address) => {
                let Some(person) = self.person(records, *entry)? else {
                    return Ok(None);
                };
                self.people.remove(&person.email.key());
                self.people.insert(&address.key(), *entry);
            }
            RecordItem::Suppressed(hash) => self.suppressions.suppress(*hash),
            RecordItem::Lifted(hash) => self.suppressions.lift(*hash),
            RecordItem::Departure(departure) => self.suppressions.add_departure(departure.clone()),
            RecordItem::ListKey(list_key) if !self.has_list_key => {
                self.has_list_key = true;
                self.suppressions.set_list_key(*list_key);
            }
            RecordItem::Event(_) | RecordItem::FinishedEvent(_) | RecordItem::Recording(_) => {
                self.outbox.add(number, item);
            }
            other => {
                if self.ledger.add(number, other).is_none() {
                    return Ok(None);
                }
            }
        }
        self.changes.add(item);
        self.tail.push(item);
        Ok(Some(()))
    }

    /// Returns whether nobody is on the list, has left it, or was sent a message.
    pub(super) fn is_empty(&self) -> bool {
        self.people.len() == 0
            && self.suppressions.is_empty()
            && self.suppressions.departures().next().is_none()
            && self.ledger.message_count() == 0
    }

    /// Returns the entry with this number as it is now. Returns `None` if the item is not an entry, or erased.
    pub(super) fn person(
        &self,
        records: &::sled::Tree,
        number: u64,
    ) -> Result<Option<WaitlistEntry>, ::sled::Error> {
        let item = self.item(records, number)?;
        Ok(item.and_then(|item| self.changes.entry(number, item)))
    }

    /// Returns the item with this number as it was stored.
    pub(super) fn item(
        &self,
        records: &::sled::Tree,
        number: u64,
    ) -> Result<Option<RecordItem>, ::sled::Error> {
        let found = match number >= self.tail.first() {
            true => None,
            false => records.get_lt(record::key(number + 1))?,
        };
        let (record_key, bytes) = match &found {
            Some((record_key, bytes)) => (&record_key[..], &bytes[..]),
            None => (&self.tail.key()[..], self.tail.bytes()),
        };
        Ok(
            record::parse(record_key, bytes).and_then(|(first, mut items)| {
                let at = number.checked_sub(first)? as usize;
                (at < items.len()).then(|| items.swap_remove(at))
            }),
        )
    }
}

/// The events for the webhook.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) is_recording: bool,
    /// The numbers of the events that are not finished.
    pub(super) pending: BTreeSet<u64>,
}

impl Outbox {
    /// Takes an item with its number into account.
    pub(super) fn add(&mut self, number: u64, item: &RecordItem) {
        match item {
            RecordItem::Event(_) => drop(self.pending.insert(number)),
            RecordItem::FinishedEvent(event) => drop(self.pending.remove(event)),
            RecordItem::Recording(is_on) => {
                self.is_recording = *is_on;
                self.pending.clear();
            }
            _ => {}
        }
    }

    /// Returns what takes the place of an item in a list without its finished events. If it records none, an earlier program
    /// can read it again.
    pub(super) fn current(&self, number: u64, item: RecordItem) -> RecordItem {
        match item {
            RecordItem::Event(_) if !self.pending.contains(&number) => RecordItem::Removed,
            RecordItem::Recording(_) if !self.is_recording => RecordItem::Removed,
            RecordItem::FinishedEvent(_) => RecordItem::Removed,
            item => item,
        }
    }
}

/// A map from addresses to the numbers of their entries. It stores a 96-bit hash of each address. With the number and the
/// overhead of the map, that is 44 bytes for each of a million addresses.
///
/// Each process keys the hash at random, so an attacker cannot search for two addresses with the same hash. By
/// chance, two of five million addresses share a hash in one of 10^15 lists.
#[derive(Debug, Default)]
pub(super) struct PersonIndex {
    /// The hashes and the numbers are arrays, because the map would pad integers.
    numbers: HashMap<[u32; 3], [u32; 2]>,
    high: RandomState,
    low: RandomState,
}

impl PersonIndex {
    /// Adds an address by its key ([`Email::key`]), which all its spellings share. Replaces its number if it has one, and
    /// then returns false.
    ///
    /// [`Email::key`]: crate::waitlist::Email::key
    pub(super) fn insert(&mut self, key: &str, entry: u64) -> bool {
        let number = [(entry >> 32) as u32, entry as u32];
        self.numbers.insert(self.hash(key), number).is_none()
    }

    /// Returns the number of the entry of an address.
    pub(super) fn get(&self, key: &str) -> Option<u64> {
        let [high, low] = self.numbers.get(&self.hash(key))?;
        Some(u64::from(*high) << 32 | u64::from(*low))
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.numbers.contains_key(&self.hash(key))
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.numbers.remove(&self.hash(key));
    }

    /// Returns the number of addresses.
    pub(super) fn len(&self) -> u64 {
        self.numbers.len() as u64
    }

    fn hash(&self, key: &str) -> [u32; 3] {
        let [high, low] = [&self.high, &self.low].map(|half| half.hash_one(key));
        [(high >> 32) as u32, high as u32, low as u32]
    }
}
