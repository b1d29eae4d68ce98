//! What the notices of a database reveal.
//!
//! The text of a notice depends on the language of the server, but the name of the function that sends it does not.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio_postgres::error::DbError;

/// What the notices on a connection have revealed so far.
#[derive(Debug, Default)]
pub(super) struct Notices {
    skipped_standby: AtomicBool,
    unremovable_rows: AtomicU64,
}

impl Notices {
    /// Takes what a notice reveals.
    pub(super) fn record(&self, notice: &DbError) {
        let has_skipped = notice.routine() == Some("SyncRepWaitForLSN")
            || notice
                .message()
                .contains("wait for synchronous replication");
        if has_skipped {
            self.skipped_standby.store(true, Ordering::SeqCst);
        }
        // `VACUUM (FULL, VERBOSE)`: copy_table_data, before PostgreSQL 12 copy_heap_data. Its detail begins with the
        // number of rows.
        let is_vacuum = notice
            .routine()
            .is_some_and(|routine| ["copy_table_data", "copy_heap_data"].contains(&routine));
        if is_vacuum && let Some(detail) = notice.detail() {
            let digits = detail.trim_start_matches(|c: char| !c.is_ascii_digit());
            let end = digits.find(|c: char| !c.is_ascii_digit());
            let rows = digits[..end.unwrap_or(digits.len())].parse();
            self.unremovable_rows
                .store(rows.unwrap_or(0), Ordering::SeqCst);
        }
    }

    /// Returns whether a commit became visible before the standby had it, because the wait was cancelled or terminated.
    pub(super) fn commit_skipped_standby(&self) -> bool {
        self.skipped_standby.load(Ordering::SeqCst)
    }

    /// Returns how many erased rows the last `VACUUM (FULL, VERBOSE)` kept, because an older transaction may read them.
    pub(super) fn unremovable_rows(&self) -> u64 {
        self.unremovable_rows.load(Ordering::SeqCst)
    }
}
