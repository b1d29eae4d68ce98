//! The socket file. Only its owner can use it.

use std::{
    fs::{self, File, Permissions},
    io,
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
};

use tokio::net::UnixListener;

use crate::waitlist::StoreError;

/// The result of a call, or a part of it.
pub(super) type Reply<T> = Result<T, StoreError>;

/// File name in the data directory.
const SOCKET_NAME: &str = "control";

/// The socket file that this process listens on. Removed on drop.
pub(crate) struct SocketFile(PathBuf);

/// Creates the socket in a data directory that this process has locked, and listens on it. A file there is one that a killed
/// server left behind. Needs a runtime.
///
/// # Errors
/// When it cannot be created there.
pub(crate) fn bind(data: &Path) -> io::Result<(UnixListener, SocketFile)> {
    let path = data.join(SOCKET_NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = with_short_path(data, |path| UnixListener::bind(path))?;
    // Only for the owner, even if the directory is accessible to others.
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok((listener, SocketFile(path)))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Calls `f` with a path of the socket that is short enough. The system accepts about a hundred bytes, and Linux has a
/// short name for every open directory.
pub(crate) fn with_short_path<T>(
    data: &Path,
    f: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let path = data.join(SOCKET_NAME);
    if path.as_os_str().len() < 100 || !cfg!(target_os = "linux") {
        return f(&path);
    }
    let directory = File::open(data)?;
    let short = format!("/proc/self/fd/{}", directory.as_raw_fd());
    f(&PathBuf::from(short).join(SOCKET_NAME))
}
