//! The error of an open list, with advice for the owner.

use anyhow::anyhow;

use crate::waitlist::StoreError;

/// Describes an error of an open list, with the location of that list.
pub(super) fn describe(error: &StoreError, location: &str) -> anyhow::Error {
    anyhow!("the waitlist in {location}: {error}; {}", advice(error))
}

/// Returns what the owner can do about a store error.
fn advice(error: &StoreError) -> &'static str {
    match error {
        StoreError::Busy => "run the command again in a moment",
        StoreError::TimedOut => {
            "the change may have been made: check the store, and run the command again"
        }
        StoreError::Stopped => "run the command again",
        StoreError::Unreachable => {
            "the change may have been made: check that the database runs, and run the command again"
        }
        StoreError::Database(_) => "fix that in the database, and run the command again",
        StoreError::Superseded => {
            "see who has it with `landing messages`, and run the command again"
        }
        StoreError::CallTooLarge => "report this",
        StoreError::TooManyMessages => "restore a backup of it into a database",
        StoreError::NotCompacted(_) => "no entry is lost",
        StoreError::ServerNotResponding(_) => "if it was stopped, run the command again",
        StoreError::OtherVersion => "restart the server",
        StoreError::CallerTimedOut => "run the command again, and write the output to a file",
        StoreError::Unreadable => {
            "check the disk, and back up the data directory; for a database, check its log"
        }
    }
}
