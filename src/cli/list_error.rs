//! The error of an open list, with advice for the owner.

use thiserror::Error;

use crate::waitlist::StoreError;

/// An error of an open list, with the location of that list.
#[derive(Debug, Error)]
#[error("the waitlist in {location}: {error}; {advice}", advice = advice(error))]
pub(super) struct LocatedListError {
    pub(super) location: String,
    pub(super) error: StoreError,
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
