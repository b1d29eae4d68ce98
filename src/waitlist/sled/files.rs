//! Files and directories: created, made durable, and read as the disk has them.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// Creates a directory for its owner alone.
pub(super) fn create_private_dir(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(directory)
}

/// Removes a directory, if it is there.
pub(super) fn remove_dir_if_exists(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
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

/// Syncs the names of directories that may just have been created.
pub(super) fn sync_ancestors(directory: &Path) -> io::Result<()> {
    for ancestor in directory.canonicalize()?.ancestors().skip(1) {
        match File::open(ancestor).and_then(|open| open.sync_all()) {
            // A directory that we may not read, or that can't be synced, was not created by us.
            Err(error) if is_not_ours(&error) => break,
            synced => synced?,
        }
    }
    Ok(())
}

fn is_not_ours(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

/// Drops a file from the page cache, so that nothing is built upon what an earlier process left there.
/// Pages that are not written yet are written. Pages that could not be written, which the kernel keeps
/// and calls clean after a failed sync, are dropped: the next read returns what the disk holds.
pub(super) fn drop_from_page_cache(file: &File) -> io::Result<()> {
    file.sync_all()?;
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

/// Which file something is, and how large. Without its times: from Linux 6.13 on, a file whose times were
/// asked for gets new ones with its next write, and that made a sign-up a quarter slower.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileState {
    /// Device and inode.
    pub(super) id: (u64, u64),
    /// Length in bytes.
    pub(super) len: u64,
}

impl FileState {
    /// The state of an open file.
    pub(super) fn from_file(file: &File) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(found) = Self::query(file, "", rustix::fs::AtFlags::EMPTY_PATH)? {
            return Ok(found);
        }
        file.metadata().map(Self::from)
    }

    /// The state of the file at a path.
    pub(super) fn from_path(path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(found) = Self::query(rustix::fs::CWD, path, rustix::fs::AtFlags::empty())? {
            return Ok(found);
        }
        fs::metadata(path).map(Self::from)
    }

    /// `None` where statx is not allowed, as in some containers.
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

        match statx(directory, path, flags, StatxFlags::INO | StatxFlags::SIZE) {
            Err(Errno::NOSYS | Errno::PERM) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(found) => Ok(Some(Self {
                id: (
                    makedev(found.stx_dev_major, found.stx_dev_minor),
                    found.stx_ino,
                ),
                len: found.stx_size,
            })),
        }
    }
}

impl From<fs::Metadata> for FileState {
    fn from(metadata: fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self {
            id: (metadata.dev(), metadata.ino()),
            len: metadata.len(),
        }
    }
}

/// Whether an open file is still the one at its path.
pub(super) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let open = FileState::from_file(file)?;
    match FileState::from_path(path) {
        Ok(there) => Ok(there.id == open.id),
        Err(error) if is_not_found(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is nothing at a path.
pub(super) fn is_not_found(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
