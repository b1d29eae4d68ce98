//! Why the list can't be opened.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Why the list can't be opened.
#[derive(Debug)]
pub enum SledOpenError {
    /// Another process uses the data directory. Its id, where it is known.
    InUse(PathBuf, Option<u32>),
    /// The data directory can't be read or written.
    Io(PathBuf, io::Error),
    /// The store in it can't be used.
    Unusable(PathBuf, String),
    /// The program is to stop.
    Interrupted,
}

impl fmt::Display for SledOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(data, holder) => {
                write!(f, "the data directory {} is in use by ", data.display())?;
                match holder {
                    Some(holder) => write!(f, "process {holder}")?,
                    None => f.write_str("another process")?,
                }
                f.write_str("; stop that one first, or name another with --store")
            }
            Self::Io(data, error) => write!(
                f,
                "the data directory {} can't be used: {error}; check its disk, owner and permissions, \
                 or name another with --store",
                data.display()
            ),
            Self::Unusable(store, what) => write!(
                f,
                "the waitlist in {} can't be opened: {what}. Restore the data directory {} \
                 from a backup, or import an export into a new one, named with --store",
                store.display(),
                store.parent().unwrap_or(Path::new(".")).display()
            ),
            Self::Interrupted => f.write_str("told to stop while the waitlist was opened"),
        }
    }
}

impl std::error::Error for SledOpenError {}
