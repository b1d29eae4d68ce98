//! A copy of the list, opened before the list itself. sled writes to every store that it opens, even to one that it
//! rejects.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;

use super::{
    file_guard,
    files::{create_private_dir, free_bytes, remove_dir_if_exists, remove_file_if_exists},
};

/// Name of sled's log, which holds nearly all data of a store.
pub(super) const LOG_FILE: &str = "db";

/// Largest log that is copied to memory, in bytes: 200,000 entries.
///
/// sled syncs what it opens, and in memory that costs nothing. A larger log is copied to the disk, so that a start
/// does not need more memory than the server uses afterwards. If the disk has no room, it is copied to memory too.
const MEMORY_MAX_BYTES: u64 = 16 << 20;
/// Space on the disk that the copy leaves free, in bytes, so that other servers on the disk do not fail.
const DISK_RESERVE_BYTES: u64 = 256 << 20;

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
        Self::with_log(store, directory, copy_log)
    }

    /// Like [`new`](Self::new), with a log of any size in memory.
    pub(super) fn in_memory(store: &Path, directory: PathBuf) -> io::Result<Self> {
        Self::with_log(store, directory, |from, to| {
            copy_to_memory(from, to).map(Some)
        })
    }

    fn with_log(
        store: &Path,
        directory: PathBuf,
        copy_log: impl Fn(&Path, &Path) -> io::Result<Option<File>>,
    ) -> io::Result<Self> {
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

/// Copies the log. Returns the copy if it is in memory.
fn copy_log(from: &Path, to: &Path) -> io::Result<Option<File>> {
    let length = fs::metadata(from)?.len();
    if length <= MEMORY_MAX_BYTES || free_bytes(from)? < length + DISK_RESERVE_BYTES {
        match copy_to_memory(from, to) {
            Ok(memory) => return Ok(Some(memory)),
            // For example, the system has no files in memory or no /proc. Try the disk.
            Err(_) => remove_file_if_exists(to)?,
        }
    }
    // The copy shares the blocks of the original if the file system can do that.
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

#[cfg(not(target_os = "linux"))]
fn copy_to_memory(_: &Path, _: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
