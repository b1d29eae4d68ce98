//! The socket file. Only its owner can use it, and only the server that created it removes it.

use std::{
    fs::{self, File, Permissions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use futures_util::FutureExt;
use tokio::net::{UnixListener, UnixStream};

/// File name in the data directory.
const SOCKET_NAME: &str = "control";

/// The socket file that this process listens on. Removed on drop.
pub(crate) struct SocketFile {
    data: PathBuf,
    id: FileId,
}

/// Device and inode.
type FileId = (u64, u64);

/// Creates the socket in the data directory and listens on it. Needs a runtime.
///
/// # Errors
/// When it cannot be created there, or another process listens on it.
pub(crate) fn bind(data: &Path) -> io::Result<(UnixListener, SocketFile)> {
    if with_short_path(data, |path| Ok(is_served(path)))? {
        return Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!(
                "another process listens on {}",
                data.join(SOCKET_NAME).display()
            ),
        ));
    }
    remove_socket_file(data)?;
    let listener = with_short_path(data, |path| UnixListener::bind(path))?;
    let socket_file = SocketFile {
        data: data.to_owned(),
        id: file_id(data)?,
    };
    // Only for the owner, even if the directory is accessible to others.
    fs::set_permissions(data.join(SOCKET_NAME), Permissions::from_mode(0o600))?;
    Ok((listener, socket_file))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If the directory was moved or the file replaced, this path may be another server's socket.
        if file_id(&self.data).is_ok_and(|id| id == self.id) {
            let _ = remove_socket_file(&self.data);
        }
    }
}

/// Returns whether a process listens on this path: connecting succeeds at once, or would block because the
/// listener's queue is full.
fn is_served(path: &Path) -> bool {
    match UnixStream::connect(path).now_or_never() {
        None | Some(Ok(_)) => true,
        Some(Err(error)) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

fn file_id(data: &Path) -> io::Result<FileId> {
    let file = fs::symlink_metadata(data.join(SOCKET_NAME))?;
    Ok((file.dev(), file.ino()))
}

/// Removes the file that a killed server left behind.
fn remove_socket_file(data: &Path) -> io::Result<()> {
    match fs::remove_file(data.join(SOCKET_NAME)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
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
