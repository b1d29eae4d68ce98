//! Errors of an open list, with advice for the owner.

use std::io;

use thiserror::Error;

use crate::waitlist::StoreError;

/// An error of an open list: of its store, or of the connection to the server that holds it.
#[derive(Debug, Error)]
pub(super) enum ListError {
    #[error("{0}; {advice}", advice = advice(.0))]
    Store(StoreError),
    #[error("the server does not respond: {0}; if it was stopped, run the command again")]
    ServerNotResponding(io::Error),
    /// The server's own message, which contains the advice.
    #[error("{0}")]
    RejectedByServer(String),
}

/// An error of an open list, with the location of that list.
#[derive(Debug, Error)]
#[error("the waitlist in {location}: {error}")]
pub(super) struct LocatedListError {
    pub(super) location: String,
    pub(super) error: ListError,
}

impl From<StoreError> for ListError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
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
        StoreError::NoRandomness => "check /dev/urandom, and run the command again",
        StoreError::NotCompacted(_) => "no entry is lost",
        StoreError::CallerTimedOut => "run the command again, and write the output to a file",
        StoreError::Unreadable => {
            "check the disk, and back up the data directory; for a database, check its log"
        }
    }
}
