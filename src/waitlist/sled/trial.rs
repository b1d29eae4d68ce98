//! A copy of the list, which is opened before the list itself: sled writes to every store that it opens,
//! also to one that it rejects.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;

use super::{
    files::{create_private, remove_tree},
    mark,
};

/// The log of sled, which holds nearly all of a store.
pub(super) const LOG: &str = "db";

/// Largest log that is copied to memory, in bytes: 800,000 entries. sled syncs what it opens, and in
/// memory that costs nothing. A larger one is copied to the disk, or to memory where the disk is full.
const MEMORY_MAX: u64 = 64 << 20;

/// A copy of a store, which goes when this is dropped.
#[derive(Debug)]
pub(super) struct Trial {
    directory: PathBuf,
    /// The log, where it is in memory.
    _memory: Option<File>,
}

impl Trial {
    /// Copies a store to `directory`. What an interrupted start has left there is removed.
    pub(super) fn new(store: &Path, directory: PathBuf) -> io::Result<Self> {
        remove_tree(&directory)?;
        create_private(&directory)?;
        let mut trial = Self {
            directory,
            _memory: None,
        };
        for entry in fs::read_dir(store)? {
            let (from, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            let to = trial.directory.join(&name);
            if !from.is_file() {
                continue;
            }
            // Nothing else is read: a list has no blobs.
            if name == "conf" || name == mark::FILE || name.as_encoded_bytes().starts_with(b"snap.")
            {
                fs::copy(from, to)?;
            } else if name == LOG {
                trial._memory = copy_log(&from, &to)?;
            }
        }
        Ok(trial)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // If this fails, the next start removes it.
        let _ = remove_tree(&self.directory);
    }
}

/// Copies the log, and returns the copy if it is in memory.
fn copy_log(from: &Path, to: &Path) -> io::Result<Option<File>> {
    let large = fs::metadata(from)?.len() > MEMORY_MAX;
    if large {
        // The file system shares the blocks if it can.
        let copied = fs::copy(from, to).map(|_| None);
        if !copied.as_ref().is_err_and(is_full) {
            return copied;
        }
        fs::remove_file(to)?;
        return copy_to_memory(from, to).map(Some).or(copied);
    }
    copy_to_memory(from, to).map(Some).or_else(|_| {
        // There is no such memory here, or none is left.
        let _ = fs::remove_file(to);
        fs::copy(from, to).map(|_| None)
    })
}

#[cfg(target_os = "linux")]
fn copy_to_memory(from: &Path, to: &Path) -> io::Result<File> {
    let memory = rustix::fs::memfd_create("waitlist", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut memory = File::from(memory);
    io::copy(&mut File::open(from)?, &mut memory)?;
    symlink(format!("/proc/self/fd/{}", memory.as_raw_fd()), to)?;
    // Without /proc it leads nowhere.
    File::options().read(true).write(true).open(to)?;
    Ok(memory)
}

#[cfg(not(target_os = "linux"))]
fn copy_to_memory(_: &Path, _: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
