//! Locks a list, so that only one process uses it at a time.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use super::{
    error::{SledOpenError, io_error},
    files::{is_same_file, remove_file_if_exists},
};

/// File with the id of the process that uses the data directory.
const LOCK_FILE: &str = "lock";
/// Maximum time to wait for a lock. The lock of a handle that was just dropped lingers for milliseconds.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of attempts while the file is replaced each time.
const ATTEMPTS_MAX: usize = 100;
/// Pause between two attempts to lock a file.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The locks of a data directory and its store. Dropping it releases them.
///
/// The file `lock` alone is not enough. It can be removed while a process holds it, and two data directories can
/// share a store through a link or a mount. So the data directory and the directory of the store are locked too.
#[derive(Debug)]
pub(super) struct Locks {
    _directory: File,
    _file: File,
    store: Option<File>,
}

impl Locks {
    /// Locks the data directory.
    pub(super) fn lock_data_dir(data: &Path) -> Result<Self, SledOpenError> {
        let to_open_error = io_error(data);
        let directory = lock_directory(data, data)?;
        let mut file = lock_file(data)?;
        // After a power cut, the file may have a part of an id, or zeros.
        let mut previous_id = Vec::new();
        file.read_to_end(&mut previous_id).map_err(to_open_error)?;
        if !previous_id
            .iter()
            .all(|byte| b"0123456789\n\0".contains(byte))
        {
            return Err(to_open_error(io::Error::other(
                "its file `lock` belongs to another program",
            )));
        }
        file.set_len(0).map_err(to_open_error)?;
        file.rewind().map_err(to_open_error)?;
        match writeln!(file, "{}", process::id()).map_err(to_open_error) {
            // The id only tells other processes who holds the lock.
            Err(error) if error.is_disk_full() => {}
            written => written?,
        }
        Ok(Self {
            _directory: directory,
            _file: file,
            store: None,
        })
    }

    /// Locks the store as well.
    pub(super) fn lock_store(&mut self, store: &Path) -> Result<(), SledOpenError> {
        let lock = lock_store(store)?;
        self.replace_store(lock);
        Ok(())
    }

    /// Removes the file with the id, which is locked until the locks are dropped.
    pub(super) fn remove_file(&self, data: &Path) {
        // If this fails, the file remains, and the next process uses it.
        let _ = remove_file_if_exists(&data.join(LOCK_FILE));
    }

    /// Replaces the lock of the store by that of its compacted copy.
    pub(super) fn replace_store(&mut self, lock: File) {
        self.store = Some(lock);
    }
}

/// Locks a store.
pub(super) fn lock_store(store: &Path) -> Result<File, SledOpenError> {
    let real = store.canonicalize();
    let real = real.map_err(io_error(store))?;
    // The data directory in which the other process has written its id.
    let data = real.parent().unwrap_or(&real);
    lock_directory(&real, data).map_err(|error| match error {
        // Through a mount, that `lock` file is the one which this process has just written.
        SledOpenError::InUse { data, holder } => SledOpenError::InUse {
            data,
            holder: holder.filter(|id| *id != process::id()),
        },
        error => error,
    })
}

/// Locks sled's log, as sled does. This detects a process that skipped the other locks.
pub(super) fn lock_log(log: &File, data: &Path) -> Result<(), SledOpenError> {
    match lock_with_timeout(log) {
        Ok(true) => Ok(()),
        Ok(false) => Err(in_use(data)),
        Err(error) if is_unsupported(&error) => Ok(()),
        Err(error) => Err(io_error(data)(error)),
    }
}

fn lock_directory(directory: &Path, data: &Path) -> Result<File, SledOpenError> {
    let to_open_error = io_error(directory);
    for _ in 0..ATTEMPTS_MAX {
        let open = File::open(directory).map_err(to_open_error)?;
        match lock_with_timeout(&open) {
            Ok(true) => {}
            Ok(false) => return Err(in_use(data)),
            // The lock of the file and sled's own lock still protect the list.
            Err(error) if is_unsupported(&error) => {}
            Err(error) => return Err(to_open_error(error)),
        }
        if is_same_file(&open, directory).map_err(to_open_error)? {
            return Ok(open);
        }
    }
    Err(to_open_error(io::Error::other(
        "it was replaced each time it was locked",
    )))
}

fn lock_file(data: &Path) -> Result<File, SledOpenError> {
    let to_open_error = io_error(data);
    let path = data.join(LOCK_FILE);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    for _ in 0..ATTEMPTS_MAX {
        let file = options.open(&path).map_err(to_open_error)?;
        if !lock_with_timeout(&file).map_err(to_open_error)? {
            return Err(in_use(data));
        }
        // The file may have been removed between the two calls.
        if is_same_file(&file, &path).map_err(to_open_error)? {
            return Ok(file);
        }
    }
    Err(to_open_error(io::Error::other(
        "its file `lock` was replaced each time it was locked",
    )))
}

/// Locks a file. Returns false if another process still holds the lock after [`LOCK_TIMEOUT`].
fn lock_with_timeout(file: &File) -> io::Result<bool> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_TIMEOUT => {
                thread::sleep(RETRY_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Returns whether the file system cannot lock. NFS locks only files that are open for writing, so locking a directory
/// fails with EBADF.
fn is_unsupported(error: &io::Error) -> bool {
    let bad_descriptor = rustix::io::Errno::BADF.raw_os_error();
    error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(bad_descriptor)
}

/// Returns an error with the id of the process that uses a data directory, if the lock file has it.
fn in_use(data: &Path) -> SledOpenError {
    let holder = fs::read_to_string(data.join(LOCK_FILE)).unwrap_or_default();
    SledOpenError::InUse {
        data: data.to_owned(),
        holder: holder.trim().parse().ok(),
    }
}
