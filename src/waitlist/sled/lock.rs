//! One process uses a data directory at a time.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use super::OpenError;

/// Locked while a process uses the data directory; holds its id.
const LOCK: &str = "lock";
/// The lock of a handle that was just dropped lingers for milliseconds.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// Takes the data directory for this process, until the file is closed.
pub(super) fn lock(data: &Path) -> Result<File, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    let path = data.join(LOCK);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(io)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_PATIENCE => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).map_err(io)?;
                return Err(OpenError::Held(data.to_owned(), holder.trim().to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
    }
    // Of an id that was being written when the power went, any part may be there, or zeros.
    let mut before = Vec::new();
    file.read_to_end(&mut before).map_err(io)?;
    if !before.iter().all(|byte| b"0123456789\n\0".contains(byte)) {
        return Err(io(io::Error::other(
            "its file `lock` is of another program",
        )));
    }
    file.set_len(0).map_err(io)?;
    file.rewind().map_err(io)?;
    writeln!(file, "{}", process::id()).map_err(io)?;
    Ok(file)
}
