//! Erasures and corrections, which rewrite records.

use std::collections::HashSet;

use ::sled::IVec;

use super::{
    super::{
        entry::WaitlistEntry,
        queue::{Correction, Erasure},
        store::CorrectOutcome,
    },
    committer::{Committer, or_exit},
    record::{self, Record, StoredEntry},
};

/// Maximum number of records rewritten by an erasure that share a sync. For each of them, sled may rewrite a leaf,
/// which has up to 16 records of 1 KiB. Together that is half a segment.
const REWRITES_PER_SYNC_MAX: u32 = 16;

impl Committer {
    /// Removes addresses from the records that have them, and returns the number of removed entries.
    pub(super) fn erase(&mut self, erasure: &Erasure) -> u64 {
        let is_listed = |key: &&String| self.keys.contains(key);
        let sought: HashSet<_> = erasure.keys.iter().filter(is_listed).collect();
        if sought.is_empty() {
            return 0;
        }
        self.rewrite(erasure, &sought, None)
    }

    /// Replaces an address in the record that has it.
    pub(super) fn correct(&mut self, Correction { old, new }: &Correction) -> CorrectOutcome {
        let Some(old_key) = old.keys.first().filter(|key| self.keys.contains(key)) else {
            return CorrectOutcome::NotListed;
        };
        let new_key = new.key();
        if new_key != *old_key && self.keys.contains(&new_key) {
            return CorrectOutcome::NewAddressListed;
        }
        self.rewrite(old, &HashSet::from([old_key]), Some(new.as_typed()));
        self.keys.remove(old_key);
        self.keys.insert(&new_key);
        CorrectOutcome::Corrected
    }

    /// Gives the entries with these addresses another address, or removes them. All addresses must be on the list.
    /// Returns the number of changed entries. Entries that were added after the search are searched here.
    fn rewrite(
        &mut self,
        search: &Erasure,
        sought: &HashSet<&String>,
        replacement: Option<&str>,
    ) -> u64 {
        self.write_tail();
        let first_unsearched = or_exit(self.records.get_lt(record::key(search.searched_up_to + 1)));
        let first_unsearched = first_unsearched.map_or(IVec::from(&record::key(0)), |(key, _)| key);
        let earlier = search.records.iter().map(|first| record::key(*first));
        let earlier = earlier.filter(|key| key.as_slice() < &*first_unsearched);
        let earlier: Vec<_> = earlier
            .filter_map(|key| or_exit(self.records.get(key)).map(|bytes| (IVec::from(&key), bytes)))
            .collect();
        let later = self.records.range(first_unsearched..).map(or_exit);
        let mut changed =
            self.rewrite_records(earlier.into_iter().chain(later), sought, replacement);
        if changed < sought.len() as u64 {
            // A correction has changed a record since it was searched.
            let all = self.records.iter().map(or_exit);
            changed += self.rewrite_records(all, sought, replacement);
        }
        changed
    }

    /// Rewrites those of the records that have one of these addresses. Returns the number of changed entries.
    fn rewrite_records(
        &mut self,
        records: impl Iterator<Item = (IVec, IVec)>,
        sought: &HashSet<&String>,
        replacement: Option<&str>,
    ) -> u64 {
        let is_sought =
            |entry: &StoredEntry| sought.contains(&WaitlistEntry::from(*entry).email.key());
        let (mut changed, mut rewritten) = (0, 0);
        for (key, bytes) in records {
            // Damaged records were rejected when the list was opened.
            let (first, items) = record::parse(&key, &bytes).unwrap_or_default();
            if !items.iter().flatten().any(is_sought) {
                continue;
            }
            let items = items.into_iter().map(|item| match item {
                Some(entry) if is_sought(&entry) => {
                    changed += 1;
                    replacement.map(|address| StoredEntry { address, ..entry })
                }
                item => item,
            });
            let rewrite = Record::split(first, items);
            match &rewrite[..] {
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
            if first == self.tail.first()
                && let Some(tail) = rewrite.into_iter().next_back()
            {
                self.tail = tail;
            }
            rewritten += 1;
            if rewritten % REWRITES_PER_SYNC_MAX == 0 {
                self.sync();
            }
        }
        changed
    }
}
