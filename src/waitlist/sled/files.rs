//! Files and directories: made, copied, made durable, and read as the disk has them.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// Makes a directory for its owner alone.
pub(super) fn create_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(directory)
}

/// Copies a directory, for its owner alone.
pub(super) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    create_private(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Makes a directory again what it was when it was copied.
pub(super) fn put_back(copy: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !copy.join(entry.file_name()).try_exists()? {
            fs::remove_file(entry.path())?;
        }
    }
    for entry in fs::read_dir(copy)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            put_back(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Removes a directory, if it is there.
pub(super) fn remove_tree(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Syncs a directory with all that is in it.
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

/// Syncs the names of directories that may just have been made.
pub(super) fn sync_ancestors(directory: &Path) -> io::Result<()> {
    for ancestor in directory.canonicalize()?.ancestors().skip(1) {
        match File::open(ancestor).and_then(|open| open.sync_all()) {
            // What we may not read, and what can't be synced, we did not make.
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

/// What an earlier life left in the page cache must not be built upon. Pages that are not written yet
/// are written; and those that could not be, which the kernel keeps and calls clean after a failed
/// sync, are dropped, so that what is read next is what the disk holds.
pub(super) fn forget_what_is_not_on_disk(file: &File) -> io::Result<()> {
    file.sync_all()?;
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}
