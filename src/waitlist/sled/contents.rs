//! Reads a list from end to end when it is opened.

use super::{
    super::suppression::{SuppressionItem, Suppressions},
    error::{UnusableReason, describe},
    high_water_mark::Progress,
    key_set::KeySet,
    ledger_states::LedgerStates,
    record::{self, Record, RecordItem},
};

/// The contents of a list.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) keys: KeySet,
    pub(super) suppressions: Suppressions,
    pub(super) ledger: LedgerStates,
    /// The last record.
    pub(super) tail: Record,
    pub(super) counts: Counts,
}

/// How many items of each kind the records have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) entries: u64,
    pub(super) erased_entries: u64,
    pub(super) erased_facts: u64,
}

impl Counts {
    /// Returns the number of erased items.
    pub(super) fn erased(&self) -> u64 {
        self.erased_entries + self.erased_facts
    }
}

impl Contents {
    /// Reads every entry, and compares the result with the high-water mark, `minimum`.
    ///
    /// # Errors
    /// [`UnusableReason`] says what is damaged or missing.
    pub(super) fn read(records: &::sled::Tree, minimum: Progress) -> Result<Self, UnusableReason> {
        let mut contents = Self {
            keys: KeySet::default(),
            suppressions: Suppressions::default(),
            ledger: LedgerStates::default(),
            tail: Record::starting_at(0),
            counts: Counts::default(),
        };
        for found in records {
            let (key, bytes) = found.map_err(|error| UnusableReason::Sled(describe(error)))?;
            let next = contents.tail.end();
            let parsed = record::parse(&key, &bytes);
            let (first, items) = parsed.ok_or(UnusableReason::DamagedItems(next))?;
            if first != next {
                return Err(UnusableReason::MissingItems(next..first));
            }
            for (number, item) in (next..).zip(&items) {
                let added = contents.add(item);
                added.ok_or(UnusableReason::DamagedItems(number))?;
            }
            contents.tail = Record::from_items(first, &items);
        }
        contents.ledger.mark_interrupted();
        let Progress { end, erased } = contents.progress();
        if end < minimum.end {
            return Err(UnusableReason::MissingItems(end..minimum.end));
        }
        if erased < minimum.erased {
            return Err(UnusableReason::MissingErasures(minimum.erased - erased));
        }
        Ok(contents)
    }

    /// Returns the progress to write to the high-water mark.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            end: self.tail.end(),
            erased: self.counts.erased(),
        }
    }

    /// Takes an item into account. Returns `None` if it contradicts the items before it.
    fn add(&mut self, item: &RecordItem<'_>) -> Option<()> {
        match item {
            RecordItem::Entry(entry) => {
                self.keys.insert(&entry.address_key());
                self.counts.entries += 1;
            }
            RecordItem::Fact(_) => {}
            RecordItem::ListKey(_)
            | RecordItem::Suppressed(_)
            | RecordItem::Lifted(_)
            | RecordItem::Departure(_) => apply_to_suppressions(&mut self.suppressions, *item),
            RecordItem::ErasedEntry => self.counts.erased_entries += 1,
            RecordItem::ErasedFact => self.counts.erased_facts += 1,
            RecordItem::Message(_) | RecordItem::Recipient(_) | RecordItem::Status(_) => {
                return self.ledger.add(item);
            }
        }
        Some(())
    }
}

/// Applies an item to the suppressions. Other kinds of items change nothing.
pub(super) fn apply_to_suppressions(suppressions: &mut Suppressions, item: RecordItem<'_>) {
    let added = match item {
        RecordItem::ListKey(key) => SuppressionItem::Key(key),
        RecordItem::Suppressed(hash) => SuppressionItem::Address(hash),
        RecordItem::Departure(departure) => SuppressionItem::Departure(departure.into()),
        RecordItem::Lifted(hash) => return suppressions.lift(hash),
        _ => return,
    };
    suppressions.add(added);
}
