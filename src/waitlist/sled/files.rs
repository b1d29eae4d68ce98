//! Creates files and directories, makes them durable, and reads them from the disk.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// The directory of the store in the data directory.
pub(super) const STORE_DIR: &str = "waitlist";

/// Creates a directory that only its owner can use.
pub(super) fn create_private_dir(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(directory)
}

/// Creates a directory that only its owner can use, with its parents, unless it exists.
pub(super) fn create_private_dirs(directory: &Path) -> io::Result<()> {
    let mut directories = DirBuilder::new();
    directories.recursive(true).mode(0o700).create(directory)
}

/// Removes a directory, if it exists.
pub(super) fn remove_dir_if_exists(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes a file, if it exists.
pub(super) fn remove_file_if_exists(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the space that is left on the disk of a file or a directory, in bytes.
pub(super) fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Syncs a directory and everything in it.
pub(super) fn sync_tree(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::open(&path)?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()
}

/// Syncs the parents of a directory, because some of them may be new.
pub(super) fn sync_ancestors(directory: &Path) -> io::Result<()> {
    for ancestor in directory.canonicalize()?.ancestors().skip(1) {
        match File::open(ancestor).and_then(|open| open.sync_all()) {
            // This process may not read it, or it cannot be synced: it existed before.
            Err(error) if is_not_ours(&error) => break,
            synced => synced?,
        }
    }
    Ok(())
}

/// Returns whether syncing failed because of a directory that this process did not create.
fn is_not_ours(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

/// Drops a file from the page cache, so that the next read returns what is on the disk.
///
/// Pages that are not written yet are written first. After a failed sync of an earlier process, the kernel keeps the
/// unwritten pages and marks them clean. This drops them.
pub(super) fn drop_from_page_cache(file: &File) -> io::Result<()> {
    file.sync_all()?;
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

/// The identity of a file: its device and its inode. Its timestamps are not queried: since Linux 6.13, the next write to a
/// file updates timestamps that were queried, which made a sign-up a quarter slower.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct FileId(u64, u64);

impl FileId {
    /// Returns the identity of an open file.
    fn of_file(file: &File) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(found) = Self::query(file, "", rustix::fs::AtFlags::EMPTY_PATH)? {
            return Ok(found);
        }
        file.metadata().map(Self::from)
    }

    /// Returns the identity of the file at a path.
    fn of_path(path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(found) = Self::query(rustix::fs::CWD, path, rustix::fs::AtFlags::empty())? {
            return Ok(found);
        }
        fs::metadata(path).map(Self::from)
    }

    /// Returns `None` if statx is not allowed, as in some containers.
    #[cfg(target_os = "linux")]
    fn query(
        directory: impl std::os::fd::AsFd,
        path: impl rustix::path::Arg,
        flags: rustix::fs::AtFlags,
    ) -> io::Result<Option<Self>> {
        use rustix::{
            fs::{StatxFlags, makedev, statx},
            io::Errno,
        };

        match statx(directory, path, flags, StatxFlags::INO) {
            Err(Errno::NOSYS | Errno::PERM) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(found) => {
                let device = makedev(found.stx_dev_major, found.stx_dev_minor);
                Ok(Some(Self(device, found.stx_ino)))
            }
        }
    }
}

impl From<fs::Metadata> for FileId {
    fn from(metadata: fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self(metadata.dev(), metadata.ino())
    }
}

/// Returns whether an open file is still the file at its path.
pub(super) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let open = FileId::of_file(file)?;
    match FileId::of_path(path) {
        Ok(found) => Ok(found == open),
        Err(error) if is_not_found(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether an error means that nothing exists at a path.
pub(super) fn is_not_found(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
