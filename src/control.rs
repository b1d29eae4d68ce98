//! How the owner's commands reach the list that a running server holds: a socket in the data directory.
//!
//! It is a Unix socket for its owner alone (mode 0600), never the network. Who connects asks for one
//! thing, in a line of JSON, and is answered in lines of JSON.

mod client;
mod server;

use std::{
    fs::{self, File, Permissions},
    io,
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use crate::waitlist::{Email, Entry, InvalidEmail, Selection, StoreError};

pub use client::Remote;
pub use server::{Control, listen};

/// Its name in the data directory.
const SOCKET: &str = "control";

/// The version of what is said on it: a program may have been replaced while it runs.
const PROTOCOL: u32 = 1;

/// Entries in a line, as whoever sends many should send them.
pub const TOGETHER: usize = 512;

/// What is asked.
#[derive(Debug, Deserialize, Serialize)]
struct Request {
    protocol: u32,
    ask: Ask,
}

/// Each is answered by a [`Reply`] of what stands behind it.
#[derive(Debug, Deserialize, Serialize)]
enum Ask {
    /// `u64`.
    Count,
    /// `Vec<bool>`: whether each is new.
    Join(Vec<Person>),
    /// `Vec<bool>`: whether each was on the list.
    Erase(Vec<String>),
    /// `u64`: how many were ever erased.
    Erasures,
    /// `u64`, the count; then a `Vec<Person>` a line, until one is empty.
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
struct Person(u64, String);

impl From<&Entry> for Person {
    fn from(entry: &Entry) -> Self {
        Self(millis(entry.joined_at), entry.email.as_typed().to_owned())
    }
}

impl Person {
    /// What comes from a command is held to the rule.
    fn parse(self) -> Result<Entry, InvalidEmail> {
        Ok(Entry {
            email: Email::parse(&self.1)?,
            joined_at: time(self.0),
        })
    }

    /// What comes from the list was, perhaps to an earlier one.
    fn kept(self) -> Entry {
        Entry {
            email: Email::kept(&self.1),
            joined_at: time(self.0),
        }
    }
}

impl Ask {
    fn entries(selection: Selection) -> Self {
        let Selection {
            since,
            until,
            newest_first,
        } = selection;
        Self::Entries {
            since: since.map(millis),
            until: until.map(millis),
            newest_first,
        }
    }
}

/// What the owner is told when the list has no answer.
pub fn advice(error: StoreError) -> String {
    let advice = match error {
        StoreError::Busy => "run this again in a moment",
        StoreError::TimedOut => "it may be done all the same: see to the store, and run this again",
        StoreError::Stopped => "run this again",
        StoreError::Unreachable => {
            "it may be done all the same: see that the database runs, and run this again"
        }
        StoreError::Unreadable => {
            "see to the disk, and take a copy of the data directory; of a database, see to its log"
        }
    };
    format!("{error}: {advice}")
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn time(millis: u64) -> SystemTime {
    let since = Duration::from_millis(millis);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

/// Uses the socket's path. The system takes about a hundred bytes of one, and Linux has a short name
/// for every open directory.
fn with_path<T>(data: &Path, use_it: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = data.join(SOCKET);
    if path.as_os_str().len() < 100 || !cfg!(target_os = "linux") {
        return use_it(&path);
    }
    let directory = File::open(data)?;
    let short = format!("/proc/self/fd/{}", directory.as_raw_fd());
    use_it(&PathBuf::from(short).join(SOCKET))
}

/// Removes what a server that was killed has left.
fn remove(data: &Path) -> io::Result<()> {
    match fs::remove_file(data.join(SOCKET)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// For the owner alone, also where the directory is open to others.
fn make_private(data: &Path) -> io::Result<()> {
    fs::set_permissions(data.join(SOCKET), Permissions::from_mode(0o600))
}
