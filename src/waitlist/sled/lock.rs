//! Locks a list, so that only one process uses it at a time.
//!
//! The file `lock` in the data directory is locked first. It can be removed while a process holds it, and two data
//! directories can share a store through a link or a mount. So sled's log is locked too, by sled itself while the list is
//! open.

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
    file_guard::MARK_FILE,
    files::{create_private_dirs, is_same_file, remove_file_if_exists},
    scratch_copy::LOG_FILE,
};

/// File with the id of the process that uses the data directory.
const LOCK_FILE: &str = "lock";
/// Maximum time to wait for a lock. The lock of a handle that was just dropped lingers for milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of attempts while the file is replaced each time.
const ATTEMPTS_MAX: usize = 100;
/// Pause between two attempts to lock a file.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Locks the data directory until the file is dropped, and creates it if it is missing (mode 0700). It must not be the store of
/// a list: a compaction would remove what begins there.
pub(super) fn lock_data_dir(data: &Path) -> Result<File, SledOpenError> {
    let to_open_error = io_error(data);
    if [LOG_FILE, MARK_FILE]
        .iter()
        .all(|name| data.join(name).exists())
    {
        return Err(SledOpenError::Part(data.to_owned()));
    }
    create_private_dirs(data).map_err(to_open_error)?;
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
    Ok(file)
}

/// Removes the lock file, which this process has locked.
pub(super) fn remove_lock_file(data: &Path) {
    // If this fails, the file remains, and the next process uses it.
    let _ = remove_file_if_exists(&data.join(LOCK_FILE));
}

/// Locks the log of a store, as sled does, until the file is dropped or unlocked.
pub(super) fn lock_log(log: &File, store: &Path) -> Result<(), SledOpenError> {
    match lock_with_timeout(log) {
        Ok(true) => Ok(()),
        // NFS locks only files that are open for writing, so sled's own lock has to do.
        Err(error) if is_unsupported(&error) => Ok(()),
        Err(error) => Err(io_error(store)(error)),
        Ok(false) => {
            let real = store.canonicalize().map_err(io_error(store))?;
            // The other process has written its id into its data directory. If that is this one's, and the lock file was
            // removed, this process has written its own id there.
            let data = real.parent().unwrap_or(&real);
            let holder = read_holder(data).filter(|id| *id != process::id());
            Err(in_use(data, holder))
        }
    }
}

fn lock_file(data: &Path) -> Result<File, SledOpenError> {
    let to_open_error = io_error(data);
    let path = data.join(LOCK_FILE);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    for _ in 0..ATTEMPTS_MAX {
        let file = options.open(&path).map_err(to_open_error)?;
        if !lock_with_timeout(&file).map_err(to_open_error)? {
            return Err(in_use(data, read_holder(data)));
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

/// Returns whether the file system cannot lock a file that is open for reading. NFS fails with EBADF.
fn is_unsupported(error: &io::Error) -> bool {
    let bad_descriptor = rustix::io::Errno::BADF.raw_os_error();
    error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(bad_descriptor)
}

/// Returns the id of the process that uses a data directory, if the lock file has it.
fn read_holder(data: &Path) -> Option<u32> {
    let holder = fs::read_to_string(data.join(LOCK_FILE)).ok()?;
    holder.trim().parse().ok()
}

fn in_use(data: &Path, holder: Option<u32>) -> SledOpenError {
    SledOpenError::InUse {
        data: data.to_owned(),
        holder,
    }
}
