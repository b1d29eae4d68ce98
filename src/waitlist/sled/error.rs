//! Errors while opening a list.
//!
//! The text of each error includes its cause, so no error has a `source()`: a caller that prints the chain would
//! print the cause twice.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::{super::error::StoreError, files::free_bytes, record::FORMAT_VERSION};
use crate::exit::{EXIT_FAILURE, print_and_exit};

/// An error while opening a list. Its text is written for the owner.
#[derive(Debug, Error)]
pub enum SledOpenError {
    /// Another process uses the data directory.
    #[error(
        "the data directory {} is in use by {}; stop that process first, or choose another directory with --store",
        data.display(), holder.map_or("another process".to_owned(), |id| format!("process {id}"))
    )]
    InUse {
        /// The data directory.
        data: PathBuf,
        /// The id of the other process, if it is known.
        holder: Option<u32>,
    },
    /// The data directory cannot be read or written.
    #[error("cannot use the data directory {}: {}", data.display(), describe_io(data, error))]
    Io {
        /// The data directory, or a directory in it.
        data: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// sled cannot work with such a clock.
    #[error("the clock of this machine is before 1970; set it")]
    Clock,
    /// The list was removed, or its restore was interrupted, so no empty one is created. It has the data directory.
    #[error(
        "the list in {} was removed, or its restore was interrupted; restore a backup, or remove this directory and put a copy \
         in its place, or remove `created` and `waitlist.restore` in it to begin with an empty list",
        .0.display()
    )]
    Missing(PathBuf),
    /// The directory is the store of a list.
    #[error("{} is a part of a list; choose its parent directory", .0.display())]
    Part(PathBuf),
    /// The list is unusable.
    #[error(
        "cannot open the waitlist in {}: {reason}{}{}",
        store.display(), if *is_unchanged { "; nothing was changed" } else { "" }, restore_advice(store, reason)
    )]
    Unusable {
        /// The store in the data directory.
        store: PathBuf,
        /// The cause.
        reason: UnusableReason,
        /// Whether that was found before anything was written to the store.
        is_unchanged: bool,
    },
}

impl SledOpenError {
    /// Returns whether only the owner can help: the list is missing, damaged, or of another version.
    pub fn needs_owner(&self) -> bool {
        match self {
            Self::Missing(_) | Self::Part(_) => true,
            // The machine may only have been busy.
            Self::Unusable { reason, .. } => {
                !matches!(reason, UnusableReason::Timeout(_) | UnusableReason::Changed)
            }
            Self::InUse { .. } | Self::Io { .. } | Self::Clock => false,
        }
    }

    /// Returns whether the disk of the data directory is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Io { error, .. } if is_full(error))
    }
}

/// Describes an error, with advice.
fn describe_io(data: &Path, error: &io::Error) -> String {
    let remedy = match free_bytes(data) {
        Ok(free) if is_full(error) => format!(": its disk has {free} bytes left; free space there"),
        // Mostly because root has created files there.
        _ if error.kind() == io::ErrorKind::PermissionDenied => {
            "; run this as the user that owns the list, or give that user all files there with `chown -R`"
                .to_owned()
        }
        _ => "; check its disk, owner and permissions".to_owned(),
    };
    format!("{error}{remedy}, or choose another directory with --store")
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn restore_advice(store: &Path, reason: &UnusableReason) -> String {
    let first = match reason {
        // These say themselves what to do.
        UnusableReason::Format(_) | UnusableReason::Mark { .. } => return String::new(),
        // The machine may only have been busy.
        UnusableReason::Timeout(_) => "start again; if it still takes too long, ",
        _ => "",
    };
    format!(
        "; {first}put a copy of the data directory {} in its place, or restore a backup into a new one, named with --store",
        store.parent().unwrap_or(Path::new(".")).display()
    )
}

/// The reason why a store is unusable.
#[derive(Debug, Error)]
pub enum UnusableReason {
    /// sled's log is missing.
    #[error("its log is missing")]
    NoDatabase,
    /// It is a sled database, but not a list.
    #[error("it is not a waitlist")]
    NotAWaitlist,
    /// The list has another format. `None` if its number is unknown.
    #[error(
        "it has {}, and this program reads format {FORMAT_VERSION}; run the version that wrote it, or back up the \
         list with that version and restore the backup into a new data directory",
        .0.map_or("an unknown format".to_owned(), |number| format!("format {number}"))
    )]
    Format(Option<u64>),
    /// The high-water mark cannot be read.
    #[error(
        "its file `mark`, which reveals missing entries, cannot be read: {error}; restore it, or run \
         `head -c 16 /dev/zero > {}` as the user of the server to open the list as it is",
        path.display()
    )]
    Mark {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The items from this number on are damaged.
    #[error(
        "the items of its log from number {0} on are damaged (sign-ups, and what became known about them)"
    )]
    DamagedItems(u64),
    /// Items are missing.
    #[error("the items {} to {} of its log are missing (sign-ups, and what became known about them)", .0.start, .0.end - 1)]
    MissingItems(Range<u64>),
    /// Another process changed the list while it was opened.
    #[error("it changed while it was opened")]
    Changed,
    /// sled took longer than this number of seconds to open it.
    #[error("opening it took more than {0} s")]
    Timeout(u64),
    /// sled panicked.
    #[error("its files are damaged, or belong to another program")]
    Panic,
    /// sled reports an error.
    #[error("{0}")]
    Sled(String),
}

/// The reason why a step of opening failed.
#[derive(Debug, Error)]
pub(super) enum OpenFailure {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Unusable(#[from] UnusableReason),
}

impl OpenFailure {
    /// Adds the paths to the error, and whether the store is unchanged.
    pub(super) fn into_open_error(
        self,
        data: &Path,
        store: &Path,
        is_unchanged: bool,
    ) -> SledOpenError {
        match self {
            Self::Io(error) => SledOpenError::Io {
                data: data.to_owned(),
                error,
            },
            Self::Unusable(reason) => SledOpenError::Unusable {
                store: store.to_owned(),
                reason,
                is_unchanged,
            },
        }
    }
}

/// An open list was complete when it was opened.
impl From<StoreError> for OpenFailure {
    fn from(_: StoreError) -> Self {
        UnusableReason::Changed.into()
    }
}

impl From<::sled::Error> for OpenFailure {
    fn from(error: ::sled::Error) -> Self {
        match error {
            ::sled::Error::Io(error) => Self::Io(readable_io_error(error)),
            other => Self::Unusable(UnusableReason::Sled(describe(other))),
        }
    }
}

/// Returns a function that adds the data directory to an I/O error.
pub(super) fn io_error(data: &Path) -> impl Fn(io::Error) -> SledOpenError + Copy + use<'_> {
    move |error| SledOpenError::Io {
        data: data.to_owned(),
        error,
    }
}

/// Describes an error of sled for the owner.
pub(super) fn describe(error: ::sled::Error) -> String {
    match error {
        ::sled::Error::Io(error) => readable_io_error(error).to_string(),
        ::sled::Error::Corruption { .. } => "it is damaged".to_owned(),
        other => other.to_string(),
    }
}

/// Restores an error of the operating system that sled has copied. The text of its copies is Rust's debug output,
/// such as `Os { code: 28, … }`.
fn readable_io_error(error: io::Error) -> io::Error {
    os_error_in_debug_output(&error.to_string()).unwrap_or(error)
}

/// Returns the error of the operating system in a text that contains Rust's debug output of one.
pub(super) fn os_error_in_debug_output(text: &str) -> Option<io::Error> {
    let (_, rest) = text.split_once("Os { code: ")?;
    let (code, _) = rest.split_once(',')?;
    code.parse().ok().map(io::Error::from_raw_os_error)
}

/// Returns the result, or ends the process if it is an error.
///
/// After a failed sync the kernel may drop the pages and report the next sync as a success. So nothing that this
/// process could still do is safe, not even a reply. The next start reads what is really on the disk.
pub(super) fn or_exit<T>(result: Result<T, impl Into<::sled::Error>>) -> T {
    result.unwrap_or_else(|error| {
        let reason = describe(error.into());
        print_and_exit(
            &format!(
                "cannot read or write the waitlist: {reason}; the program stops, and every acknowledged sign-up is on \
                 the disk; check the disk, then start it again"
            ),
            EXIT_FAILURE,
        )
    })
}
