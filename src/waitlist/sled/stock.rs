//! Reads a list from end to end when it is opened.

use super::{
    super::Entry,
    known::Known,
    mark::Progress,
    reason,
    record::{self, Record},
};

/// The contents of a list.
#[derive(Debug)]
pub(super) struct Stock {
    pub(super) known: Known,
    /// The last record.
    pub(super) tip: Record,
    pub(super) count: u64,
}

impl Stock {
    /// Reads every entry.
    ///
    /// # Errors
    /// A sentence that says what is damaged or missing, also by comparison with the mark.
    pub(super) fn take(records: &::sled::Tree, mark: Progress) -> Result<Self, String> {
        let mut stock = Self {
            known: Known::default(),
            tip: Record::starting_at(0),
            count: 0,
        };
        for found in records {
            let (key, bytes) = found.map_err(reason)?;
            let next = stock.tip.end();
            let (first, places) = record::parse(&key, &bytes)
                .ok_or_else(|| format!("the entries from number {next} on are damaged"))?;
            if first != next {
                return Err(missing(next, first));
            }
            for entry in places.iter().copied().flatten() {
                stock.known.insert(&Entry::from(entry).email.key());
                stock.count += 1;
            }
            stock.tip = Record::of(first, &places);
        }
        let Progress { end, erased } = stock.progress();
        if end < mark.end {
            return Err(missing(end, mark.end));
        }
        if erased < mark.erased {
            return Err(format!(
                "{} erasures are missing: erased people would reappear",
                mark.erased - erased
            ));
        }
        Ok(stock)
    }

    /// Returns the progress to write to the mark.
    pub(super) fn progress(&self) -> Progress {
        let end = self.tip.end();
        Progress {
            end,
            erased: end - self.count,
        }
    }
}

fn missing(from: u64, to: u64) -> String {
    format!("the entries from number {from} to {to} are missing")
}
