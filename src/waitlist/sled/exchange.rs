//! The last step of a compaction, in the committer: the copy is completed, and takes the place of the store.

use std::fs::File;

use super::{
    committer::SledCommitter,
    compaction::{CompactedCopy, exchange_directories},
    error::{OpenFailure, UnusableReason},
    file_guard::FileGuard,
    files::{FileState, sync_tree},
    high_water_mark::HighWaterMark,
    items::RecordItem,
    locked,
    overwrite_monitor::OverwriteMonitor,
    record,
    scratch_copy::LOG_FILE,
};

impl SledCommitter {
    /// Completes the copy and exchanges it with the store, between two batches. If that fails, the store is unchanged.
    /// Returns whether the new files are free of old addresses: those of people who were erased or corrected since they
    /// were copied are not.
    pub(super) fn exchange(&mut self, copy: CompactedCopy) -> Result<bool, OpenFailure> {
        self.files.exit_if_missing();
        let CompactedCopy {
            directory,
            end,
            mut tail,
            database,
            records,
        } = copy;
        let mut is_clean = true;
        // The record with the first item that was not copied may have earlier ones too.
        let from = self.records.get_lt(record::key(end + 1))?;
        let from = from.map_or((&record::key(0)).into(), |(key, _)| key);
        for found in self.records.range(from..) {
            let (key, bytes) = found?;
            let parsed = record::parse(&key, &bytes);
            let (first, items) = parsed.ok_or(UnusableReason::Changed)?;
            for (number, item) in (first..).zip(items).filter(|(number, _)| *number >= end) {
                // The numbers have no gaps.
                if number != tail.end() {
                    return Err(UnusableReason::Changed.into());
                }
                is_clean &= !matches!(item, RecordItem::Erased(_) | RecordItem::Readdressed(_));
                tail.make_room(item.len(), &records)?;
                tail.push(item);
            }
        }
        tail.insert_into(&records)?;
        let high_water_mark = HighWaterMark::open(&directory)?;
        high_water_mark.write(tail.end())?;
        database.flush()?;
        sync_tree(&directory)?;
        let log = File::open(directory.join(LOG_FILE))?;
        let log_state = FileState::from_file(&log)?;
        let log_path = self.files.log_path.clone();
        let store = log_path.parent().unwrap_or(&log_path).to_owned();
        exchange_directories(&store)?;

        // sled keeps the log open, and uses a path only for files that a list never has (see `scratch_copy`).
        self.files = FileGuard {
            overwrite_monitor: OverwriteMonitor::watch(&log_path),
            log,
            log_path,
            log_state,
            high_water_mark,
        };
        (self.database, self.records) = (database, records);
        self.contents.tail = tail;
        locked(&self.published.snapshot).records = self.records.clone();
        Ok(is_clean)
    }
}
