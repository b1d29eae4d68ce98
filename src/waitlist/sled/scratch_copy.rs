//! A copy of the list, opened before the list itself. sled writes to every store that it opens, even to one that it
//! rejects.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

#[cfg(target_os = "linux")]
use std::os::{fd::AsRawFd, unix::fs::symlink};

#[cfg(target_os = "linux")]
use super::files::remove_file_if_exists;
use super::{
    file_guard,
    files::{create_private_dir, remove_dir_if_exists},
};

/// Name of sled's log, which holds nearly all data of a store.
pub(super) const LOG_FILE: &str = "db";

/// A copy of a store. Dropping it removes the copy.
#[derive(Debug)]
pub(super) struct ScratchCopy {
    directory: PathBuf,
    /// The log, if it is in memory. The symlink in `directory` points to this open file.
    _memory: Option<File>,
}

impl ScratchCopy {
    /// Copies a store to `directory`. A copy that an interrupted start left there is removed first.
    pub(super) fn new(store: &Path, directory: PathBuf) -> io::Result<Self> {
        let created =
            remove_dir_if_exists(&directory).and_then(|()| create_private_dir(&directory));
        created.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", directory.display()))
        })?;
        let mut copy = Self {
            directory,
            _memory: None,
        };
        for entry in fs::read_dir(store)? {
            let (from, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            let to = copy.directory.join(&name);
            if !from.is_file() {
                continue;
            }
            // sled reads only these files, because a list has no blobs.
            if name == "conf"
                || name == file_guard::MARK_FILE
                || name.as_encoded_bytes().starts_with(b"snap.")
            {
                fs::copy(from, to)?;
            } else if name == LOG_FILE {
                copy._memory = copy_log(&from, &to)?;
            }
        }
        Ok(copy)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for ScratchCopy {
    fn drop(&mut self) {
        // If this fails, the next start removes the directory.
        let _ = remove_dir_if_exists(&self.directory);
    }
}

/// Copies the log to memory, because sled syncs what it opens, and a disk may be full. Returns the copy. If the system has
/// no files in memory or no /proc, copies the log to the disk.
fn copy_log(from: &Path, to: &Path) -> io::Result<Option<File>> {
    #[cfg(target_os = "linux")]
    match copy_to_memory(from, to) {
        Ok(memory) => return Ok(Some(memory)),
        Err(_) => remove_file_if_exists(to)?,
    }
    fs::copy(from, to).map(|_| None)
}

#[cfg(target_os = "linux")]
fn copy_to_memory(from: &Path, to: &Path) -> io::Result<File> {
    let memory = rustix::fs::memfd_create("waitlist", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut memory = File::from(memory);
    io::copy(&mut File::open(from)?, &mut memory)?;
    symlink(format!("/proc/self/fd/{}", memory.as_raw_fd()), to)?;
    // Without /proc, the symlink is broken and this fails.
    File::options().read(true).write(true).open(to)?;
    Ok(memory)
}
