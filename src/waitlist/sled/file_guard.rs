//! Ends the process when another program has changed the files of the list.

use std::{fs::File, path::PathBuf};

use super::{
    files::{FileState, is_not_found},
    high_water_mark::{self, HighWaterMark},
    overwrite_monitor::OverwriteMonitor,
};
use crate::exit::{EXIT_FILES_MISSING, print_and_exit};

/// Length of a segment of sled's log, in bytes: its default.
const SEGMENT_BYTES: u64 = 512 << 10;

/// The files of an open list, and their state after the last batch.
pub(super) struct FileGuard {
    /// sled's log, opened a second time in order to sync it.
    pub(super) log: File,
    pub(super) log_path: PathBuf,
    pub(super) log_state: FileState,
    pub(super) overwrite_monitor: OverwriteMonitor,
    pub(super) high_water_mark: HighWaterMark,
}

impl FileGuard {
    /// Ends the process if another program has written to the files, such as `cp` from a backup. Nothing may be
    /// written from then on, because the next start must find what that program left.
    pub(super) fn exit_if_overwritten(&self) {
        if self.overwrite_monitor.take_overwrite() || !self.high_water_mark.is_unchanged() {
            self.exit();
        }
        // sled shortens its log too, but only by whole segments. If the length is unknown, the log exists.
        let before = self.log_state.len;
        let len = FileState::from_file(&self.log).map_or(before, |log| log.len);
        if len < before && (len == 0 || !len.is_multiple_of(SEGMENT_BYTES)) {
            self.exit();
        }
    }

    /// Ends the process if the files were removed or replaced. Otherwise sign-ups would be lost with this process,
    /// or with the next start.
    pub(super) fn exit_if_missing(&mut self) {
        self.exit_if_overwritten();
        match FileState::from_path(&self.log_path) {
            Ok(found) if found.id == self.log_state.id => self.log_state = found,
            Err(error) if !is_not_found(&error) => {}
            _ => self.exit(),
        }
        if !self
            .high_water_mark
            .is_same_file(&self.log_path.with_file_name(high_water_mark::FILE_NAME))
        {
            self.exit();
        }
    }

    fn exit(&self) -> ! {
        let store = self.log_path.parent().unwrap_or(&self.log_path);
        print_and_exit(
            &format!(
                "the files of the waitlist in {} were removed, replaced or overwritten while they were in use; the \
                 program stops; restore the data directory before the next start, which would create an empty list \
                 without these files",
                store.display()
            ),
            EXIT_FILES_MISSING,
        )
    }
}
