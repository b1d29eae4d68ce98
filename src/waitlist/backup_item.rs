//! The parts of a list, as a backup has them.

use std::{error::Error, io};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    entry::WaitlistEntry,
    error::StoreError,
    ledger::{Delivery, Message},
    message_id::MessageId,
    suppression::{AddressHash, Departure},
};

/// A part of a list, and a line of a backup. A backup has them in this order, except that the deliveries of each message
/// follow it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackupItem {
    /// An address that is suppressed.
    Suppressed(AddressHash),
    /// Somebody has left.
    Departure(Departure),
    /// A message to the people on the list.
    Message(Message),
    /// A delivery of the message with this id.
    Delivery(MessageId, Delivery),
    /// A person on the list.
    Person(WaitlistEntry),
}

/// Why a list was not restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The list has people, suppressed addresses, departures or messages.
    #[error("nothing was restored: the list is not empty; choose a new place with --store")]
    NotEmpty,
    /// The backup cannot be read.
    #[error("nothing was restored: {0}")]
    Backup(io::Error),
    /// The backup contradicts itself, although it can be read.
    #[error("nothing was restored: line {line} of the backup: {reason}; report this")]
    Contradiction {
        /// The line.
        line: u64,
        /// The contradiction.
        reason: &'static str,
    },
    /// The list cannot be opened or replaced.
    #[error("nothing was restored: {0}")]
    Open(Box<dyn Error + Send + Sync>),
    /// The store has failed.
    #[error("nothing was restored: {0}")]
    Store(#[from] StoreError),
    /// The connection to the database was lost during the commit.
    #[error("{0}; everything or nothing was restored: see `landing count`")]
    Uncertain(StoreError),
}
