//! The last step of a compaction, in the committer: the copy is completed, and takes the place of the store.

use std::{fs::File, sync::PoisonError};

use super::{
    committer::SledCommitter,
    compaction::{CompactedCopy, exchange_directories},
    error::OpenFailure,
    file_guard::FileGuard,
    files::{FileState, sync_tree},
    high_water_mark::HighWaterMark,
    overwrite_monitor::OverwriteMonitor,
    scratch_copy::LOG_FILE,
};

impl SledCommitter {
    /// Puts a compacted copy in the place of the store, if one is waiting.
    pub(super) fn swap_in_compacted_copy(&mut self) {
        let copy = self.compacted_copy.lock();
        let copy = copy.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(copy) = copy {
            self.files.exit_if_missing();
            let result = copy.result.clone();
            // Sending fails if the caller has gone.
            let _ = result.send(self.exchange(copy));
        }
    }

    /// Completes the copy and exchanges it with the store. If that fails, the store is unchanged. Returns whether the
    /// new files are free of old addresses: an address that was erased since it was copied is not.
    fn exchange(&mut self, copy: CompactedCopy) -> Result<bool, OpenFailure> {
        let CompactedCopy {
            directory,
            database,
            records,
            ..
        } = copy;
        let mut is_clean = true;
        for found in &self.records {
            let (key, bytes) = found?;
            let copied = records.get(&key)?.unwrap_or_default();
            if copied != bytes {
                // Sign-ups only extend the last record.
                is_clean &= bytes.starts_with(&copied);
                records.insert(key, bytes)?;
            }
        }
        let high_water_mark = HighWaterMark::open(&directory)?;
        high_water_mark.write(self.progress())?;
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
        let snapshot = self.published.snapshot.lock();
        let mut snapshot = snapshot.unwrap_or_else(PoisonError::into_inner);
        snapshot.records = self.records.clone();
        Ok(is_clean)
    }
}
