//! Reads a list from end to end when it is opened.

use super::{
    super::WaitlistEntry,
    describe,
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
    /// Reads every entry.
    ///
    /// # Errors
    /// A sentence that says what is damaged or missing, also by comparison with the mark.
    pub(super) fn read(records: &::sled::Tree, minimum: Progress) -> Result<Self, String> {
        let mut contents = Self {
            keys: KeySet::default(),
            tail: Record::starting_at(0),
            count: 0,
        };
        for found in records {
            let (key, bytes) = found.map_err(describe)?;
            let next = contents.tail.end();
            let (first, items) = record::parse(&key, &bytes)
                .ok_or_else(|| format!("the entries from number {next} on are damaged"))?;
            if first != next {
                return Err(missing(next, first));
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
            return Err(missing(end, minimum.end));
        }
        if erased < minimum.erased {
            return Err(format!(
                "{} erasures are missing: erased people would reappear",
                minimum.erased - erased
            ));
        }
        Ok(contents)
    }

    /// Returns the progress to write to the mark.
    pub(super) fn progress(&self) -> Progress {
        let end = self.tail.end();
        Progress {
            end,
            erased: end - self.count,
        }
    }
}

fn missing(from: u64, to: u64) -> String {
    format!("the entries from number {from} to {to} are missing")
}
