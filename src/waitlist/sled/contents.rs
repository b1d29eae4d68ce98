//! Reads a list from end to end when it is opened.

use super::{
    super::entry::WaitlistEntry,
    error::{UnusableReason, describe},
    high_water_mark::Progress,
    key_set::KeySet,
    record::{self, Record},
};

/// The contents of a list.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) keys: KeySet,
    /// The last record.
    pub(super) tail: Record,
    pub(super) count: u64,
}

impl Contents {
    /// Reads every entry, and compares the result with the high-water mark, `minimum`.
    ///
    /// # Errors
    /// [`UnusableReason`] says what is damaged or missing.
    pub(super) fn read(records: &::sled::Tree, minimum: Progress) -> Result<Self, UnusableReason> {
        let mut contents = Self {
            keys: KeySet::default(),
            tail: Record::starting_at(0),
            count: 0,
        };
        for found in records {
            let (key, bytes) = found.map_err(|error| UnusableReason::Sled(describe(error)))?;
            let next = contents.tail.end();
            let (first, items) =
                record::parse(&key, &bytes).ok_or(UnusableReason::DamagedEntries(next))?;
            if first != next {
                return Err(UnusableReason::MissingEntries {
                    from: next,
                    to: first,
                });
            }
            for entry in items.iter().copied().flatten() {
                contents
                    .keys
                    .insert(&WaitlistEntry::from(entry).email.key());
                contents.count += 1;
            }
            contents.tail = Record::from_items(first, &items);
        }
        let Progress { end, erased } = contents.progress();
        if end < minimum.end {
            return Err(UnusableReason::MissingEntries {
                from: end,
                to: minimum.end,
            });
        }
        if erased < minimum.erased {
            return Err(UnusableReason::MissingErasures(minimum.erased - erased));
        }
        Ok(contents)
    }

    /// Returns the progress to write to the high-water mark.
    pub(super) fn progress(&self) -> Progress {
        let end = self.tail.end();
        Progress {
            end,
            erased: end - self.count,
        }
    }
}
