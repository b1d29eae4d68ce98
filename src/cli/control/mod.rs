//! How the owner's commands reach the list that a running server holds: a socket in the data directory.
//!
//! It is a Unix socket for its owner alone (mode 0600), never the network. Who connects asks for one
//! thing, in a line of JSON, and is answered in lines of JSON.

mod client;
mod server;
mod socket;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::waitlist::{Email, InvalidEmail, Selection, StoreError, WaitlistEntry};

pub(crate) use client::ControlClient;
pub(crate) use server::listen;

/// The version of what is said on it: a program may have been replaced while it runs.
const PROTOCOL: u32 = 1;

/// Entries in a line, as whoever sends many should send them.
pub(crate) const BATCH_SIZE: usize = 512;

/// What is asked.
#[derive(Debug, Deserialize, Serialize)]
struct Request {
    protocol: u32,
    #[serde(rename = "ask")]
    command: Command,
}

/// Each is answered by a [`Reply`] of what stands behind it.
#[derive(Debug, Deserialize, Serialize)]
enum Command {
    /// `u64`.
    Count,
    /// `Vec<bool>`: whether each is new.
    Join(Vec<WireEntry>),
    /// `Vec<bool>`: whether each was on the list.
    Erase(Vec<String>),
    /// `u64`: how many were ever erased.
    Erasures,
    /// `u64`, the count; then a `Vec<WireEntry>` a line, until one is empty.
    Entries {
        since: Option<u64>,
        until: Option<u64>,
        newest_first: bool,
    },
}

/// What was asked for, or a sentence that says why not.
type Reply<T> = Result<T, String>;

/// An entry: milliseconds since 1970, and the address.
#[derive(Debug, Deserialize, Serialize)]
struct WireEntry(u64, String);

impl From<&WaitlistEntry> for WireEntry {
    fn from(entry: &WaitlistEntry) -> Self {
        Self(
            to_millis(entry.joined_at),
            entry.email.as_typed().to_owned(),
        )
    }
}

impl WireEntry {
    /// What comes from a command is held to the rule.
    fn parse(self) -> Result<WaitlistEntry, InvalidEmail> {
        Ok(WaitlistEntry {
            email: Email::parse(&self.1)?,
            joined_at: from_millis(self.0),
        })
    }

    /// What comes from the list was, perhaps to an earlier one.
    fn into_stored_entry(self) -> WaitlistEntry {
        WaitlistEntry {
            email: Email::from_stored(&self.1),
            joined_at: from_millis(self.0),
        }
    }
}

impl Command {
    fn entries(selection: Selection) -> Self {
        let Selection {
            since,
            until,
            newest_first,
        } = selection;
        Self::Entries {
            since: since.map(to_millis),
            until: until.map(to_millis),
            newest_first,
        }
    }
}

/// What the owner is told when the list has no answer.
pub(crate) fn store_error_message(error: StoreError) -> String {
    let advice = match &error {
        StoreError::Busy => "run this again in a moment",
        StoreError::TimedOut => "it may be done all the same: see to the store, and run this again",
        StoreError::Stopped => "run this again",
        StoreError::Unreachable => {
            "it may be done all the same: see that the database runs, and run this again"
        }
        StoreError::Database(_) => "fix that in the database, and run this again",
        StoreError::ReaderTimedOut => "run this again, and write the output to a file",
        StoreError::Unreadable => {
            "see to the disk, and take a copy of the data directory; of a database, see to its log"
        }
    };
    format!("{error}: {advice}")
}

fn to_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn from_millis(millis: u64) -> SystemTime {
    let since = Duration::from_millis(millis);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
