//! What the committer knows of the list. It is read from end to end when the list is opened, and each new item is added
//! to it.

use std::collections::HashMap;

use super::{
    super::{
        email::Email,
        entry::{Fact, WaitlistEntry, from_unix_millis, unix_millis},
        suppression::{ListKey, Suppressions},
    },
    error::{OpenFailure, UnusableReason, describe},
    items::{RecordItem, StoredAddress, StoredFact},
    ledger_states::LedgerStates,
    person_index::PersonIndex,
    record::{self, Record},
};

/// The contents of a list.
#[derive(Debug)]
pub(super) struct Contents {
    /// The people on the list.
    pub(super) people: PersonIndex,
    /// What became known about entries, by their numbers.
    facts: HashMap<u64, Facts>,
    /// The addresses of entries that were corrected, as typed.
    addresses: HashMap<u64, Box<str>>,
    pub(super) suppressions: Suppressions,
    has_key: bool,
    pub(super) ledger: LedgerStates,
    /// The last record, which grows until it is full.
    pub(super) tail: Record,
}

/// The last facts of each kind about an entry, in milliseconds since 1970, or 0. With the number of the entry and the
/// overhead of the map, that is 52 bytes for each of a million people.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    asked_at: u64,
    confirmed_at: u64,
}

impl Contents {
    /// Reads every item, and compares the result with the high-water mark, `minimum`. A list that an
    /// earlier version has created may have no `key`: its first one is in the records, or it gets `new_key`.
    ///
    /// # Errors
    /// [`UnusableReason`] says what is damaged or missing.
    pub(super) fn read(
        records: &::sled::Tree,
        key: Option<ListKey>,
        new_key: ListKey,
        minimum: u64,
    ) -> Result<Self, OpenFailure> {
        let mut contents = Self {
            has_key: key.is_some(),
            people: PersonIndex::default(),
            facts: HashMap::new(),
            addresses: HashMap::new(),
            suppressions: Suppressions::new(key.unwrap_or(new_key)),
            ledger: LedgerStates::default(),
            tail: Record::starting_at(0),
        };
        for found in records {
            let (key, bytes) = found.map_err(|error| UnusableReason::Sled(describe(error)))?;
            let next = contents.tail.end();
            let parsed = record::parse(&key, &bytes);
            let (first, items) = parsed.ok_or(UnusableReason::DamagedItems(next))?;
            if first != next {
                return Err(UnusableReason::MissingItems(next..first).into());
            }
            contents.tail = Record::starting_at(first);
            for (number, item) in (next..).zip(items) {
                let added = contents.add(records, item)?;
                added.ok_or(UnusableReason::DamagedItems(number))?;
            }
        }
        contents.ledger.mark_interrupted();
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
        item: RecordItem<'_>,
    ) -> Result<Option<()>, ::sled::Error> {
        let number = self.tail.end();
        match item {
            RecordItem::Entry(entry) => {
                let key = entry.address_key();
                // The committer adds nobody twice. One of two entries could not be erased.
                if self.people.contains(&key) {
                    return Ok(None);
                }
                self.people.insert(&key, number);
            }
            RecordItem::Fact(StoredFact { entry, fact }) => {
                let facts = self.facts.entry(entry).or_default();
                // 0 is none.
                let millis = |time| unix_millis(time).max(1);
                match fact {
                    Fact::AskedAt(time) => facts.asked_at = millis(time),
                    Fact::ConfirmedAt(time) => facts.confirmed_at = millis(time),
                }
            }
            RecordItem::Erased(entry) => {
                let Some(key) = self.listed_key(records, entry)? else {
                    return Ok(None);
                };
                self.people.remove(&key);
                self.facts.remove(&entry);
                self.addresses.remove(&entry);
            }
            RecordItem::Readdressed(StoredAddress { entry, address }) => {
                let Some(key) = self.listed_key(records, entry)? else {
                    return Ok(None);
                };
                self.people.remove(&key);
                self.people
                    .insert(&Email::from_stored(address).key(), entry);
                self.addresses.insert(entry, address.into());
            }
            RecordItem::Suppressed(hash) => self.suppressions.suppress(hash),
            RecordItem::Lifted(hash) => self.suppressions.lift(hash),
            RecordItem::Departure(departure) => self.suppressions.add_departure(departure.into()),
            RecordItem::ListKey(key) if !self.has_key => {
                self.has_key = true;
                self.suppressions.set_key(key);
            }
            RecordItem::ListKey(_) | RecordItem::RemovedEntry | RecordItem::Removed => {}
            RecordItem::Message(_) | RecordItem::Recipient(_) | RecordItem::Status(_) => {
                if self.ledger.add(&item).is_none() {
                    return Ok(None);
                }
            }
        }
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

    /// Returns the key of the address of an entry, or `None` if nobody has this entry now.
    fn listed_key(
        &self,
        records: &::sled::Tree,
        entry: u64,
    ) -> Result<Option<String>, ::sled::Error> {
        let person = self.person(records, entry)?;
        let key = person.map(|person| person.email.key());
        Ok(key.filter(|key| self.people.get(key) == Some(entry)))
    }

    /// Returns the entry with this number, with what became known about it. Returns `None` if the item is not an entry.
    pub(super) fn person(
        &self,
        records: &::sled::Tree,
        number: u64,
    ) -> Result<Option<WaitlistEntry>, ::sled::Error> {
        let found = match number >= self.tail.first() {
            true => None,
            false => records.get_lt(record::key(number + 1))?,
        };
        let (key, bytes) = match &found {
            Some((key, bytes)) => (&key[..], &bytes[..]),
            None => (&self.tail.key()[..], self.tail.bytes()),
        };
        let parsed = record::parse(key, bytes).and_then(|(first, items)| {
            let item = items.get(number.checked_sub(first)? as usize)?;
            item.entry()
        });
        let mut entry = parsed.map(WaitlistEntry::from);
        if let Some(entry) = &mut entry {
            let facts = self.facts.get(&number).copied().unwrap_or_default();
            let time = |millis| (millis > 0).then(|| from_unix_millis(millis));
            entry.asked_at = time(facts.asked_at);
            entry.confirmed_at = time(facts.confirmed_at);
            if let Some(address) = self.addresses.get(&number) {
                entry.email = Email::from_stored(address);
            }
        }
        Ok(entry)
    }
}
