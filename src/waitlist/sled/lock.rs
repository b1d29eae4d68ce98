//! One process uses a list at a time.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use super::{SledOpenError, files::is_same_file};

/// Holds the id of the process that uses the data directory.
const LOCK_FILE: &str = "lock";
/// How long to wait for a lock: that of a handle that was just dropped lingers for milliseconds.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of attempts if the file is replaced each time.
const MAX_ATTEMPTS: usize = 100;
/// Pause between two attempts to lock a file.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The locks of a data directory and its store. They are released when this is dropped.
///
/// The file `lock` alone is not enough: it can be removed while a process holds it, and two data
/// directories can share a store through a link or a mount. So the data directory and the store's own
/// directory are locked too.
#[derive(Debug)]
pub(super) struct Locks(Vec<File>);

impl Locks {
    /// Locks the data directory.
    pub(super) fn lock_data_dir(data: &Path) -> Result<Self, SledOpenError> {
        let io = |error| SledOpenError::Io(data.to_owned(), error);
        let directory = lock_directory(data, data)?;
        let mut file = lock_file(data)?;
        // After a power cut, any part of an id may be there, or zeros.
        let mut previous_id = Vec::new();
        file.read_to_end(&mut previous_id).map_err(io)?;
        if !previous_id
            .iter()
            .all(|byte| b"0123456789\n\0".contains(byte))
        {
            return Err(io(io::Error::other(
                "its file `lock` belongs to another program",
            )));
        }
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        writeln!(file, "{}", process::id()).map_err(io)?;
        Ok(Self(vec![directory, file]))
    }

    /// Locks the store as well.
    pub(super) fn lock_store(&mut self, store: &Path) -> Result<(), SledOpenError> {
        let real = store.canonicalize();
        let real = real.map_err(|error| SledOpenError::Io(store.to_owned(), error))?;
        // The data directory in which the holder has written its id.
        let data = real.parent().unwrap_or(&real);
        let lock = lock_directory(&real, data).map_err(|error| match error {
            // Through a mount, this file `lock` is the one that we have just written.
            SledOpenError::InUse(data, holder) => {
                SledOpenError::InUse(data, holder.filter(|id| *id != process::id()))
            }
            error => error,
        })?;
        self.0.push(lock);
        Ok(())
    }
}

/// Locks sled's log, as sled does: against a process that skipped our locks.
pub(super) fn lock_log(log: &File, data: &Path) -> Result<(), SledOpenError> {
    let io = |error| SledOpenError::Io(data.to_owned(), error);
    match lock_with_timeout(log) {
        Ok(true) => Ok(()),
        Ok(false) => Err(in_use(data)),
        Err(error) if is_unsupported(&error) => Ok(()),
        Err(error) => Err(io(error)),
    }
}

fn lock_directory(directory: &Path, data: &Path) -> Result<File, SledOpenError> {
    let io = |error| SledOpenError::Io(directory.to_owned(), error);
    for _ in 0..MAX_ATTEMPTS {
        let open = File::open(directory).map_err(io)?;
        match lock_with_timeout(&open) {
            Ok(true) => {}
            Ok(false) => return Err(in_use(data)),
            // The lock of the file remains, and sled's own.
            Err(error) if is_unsupported(&error) => {}
            Err(error) => return Err(io(error)),
        }
        if is_same_file(&open, directory).map_err(io)? {
            return Ok(open);
        }
    }
    Err(io(io::Error::other("it was replaced again and again")))
}

fn lock_file(data: &Path) -> Result<File, SledOpenError> {
    let io = |error| SledOpenError::Io(data.to_owned(), error);
    let path = data.join(LOCK_FILE);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    for _ in 0..MAX_ATTEMPTS {
        let file = options.open(&path).map_err(io)?;
        if !lock_with_timeout(&file).map_err(io)? {
            return Err(in_use(data));
        }
        // Somebody may have removed it between the two calls.
        if is_same_file(&file, &path).map_err(io)? {
            return Ok(file);
        }
    }
    Err(io(io::Error::other(
        "its file `lock` was replaced again and again",
    )))
}

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

/// NFS locks only what is open for writing, so it can't lock a directory: EBADF.
fn is_unsupported(error: &io::Error) -> bool {
    let bad_descriptor = rustix::io::Errno::BADF.raw_os_error();
    error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(bad_descriptor)
}

/// The error that names the holder of a data directory, as far as it has left its id.
fn in_use(data: &Path) -> SledOpenError {
    let holder = fs::read_to_string(data.join(LOCK_FILE)).unwrap_or_default();
    SledOpenError::InUse(data.to_owned(), holder.trim().parse().ok())
}
