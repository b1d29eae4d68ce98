//! Writes a file completely or not at all, even if Ctrl-C or a power cut interrupts it.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, BufWriter},
    os::unix::ffi::OsStrExt,
    sync::Arc,
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, renameat, unlinkat},
    io::Errno,
    process::geteuid,
};

use super::destination::TargetPath;
use crate::cli::terminal::signals;

/// Suffix of an incomplete file. The file is locked while it is being written.
const PARTIAL_SUFFIX: &str = ".partial";

/// Writes a file under a temporary name in the same directory, and renames it when it is complete.
pub(crate) fn write_atomically<T>(
    target: &TargetPath,
    write: impl FnOnce(BufWriter<&File>) -> io::Result<T>,
) -> io::Result<T> {
    let directory = Arc::new(target.directory()?);
    let mut prefix = OsString::from(".");
    prefix.push(&target.name);
    prefix.push(".");
    remove_leftovers(&directory, &prefix)?;
    let partial = loop {
        let partial = PartialFile::create(&directory, &prefix)?;
        partial.file.lock()?;
        // Before it was locked, another export may have removed it as a leftover.
        if fstat(&partial.file)?.st_nlink > 0 {
            break partial;
        }
    };
    let (handler_directory, name) = (Arc::clone(&directory), partial.name.clone());
    // Removing fails if the file is complete and has its final name.
    signals::on_interrupt(move || match remove(&handler_directory, &name) {
        Ok(()) => "interrupted; nothing was written".to_owned(),
        Err(_) => "interrupted".to_owned(),
    })?;
    let written = write(BufWriter::with_capacity(1 << 16, &partial.file))?;
    partial.file.sync_all()?;
    renameat(&*directory, &partial.name, &*directory, &target.name)?;
    File::from(directory.try_clone()?).sync_all()?;
    Ok(written)
}

/// An incomplete file. It is removed when dropped, unless it was renamed.
struct PartialFile<'a> {
    directory: &'a OwnedFd,
    name: OsString,
    file: File,
}

impl<'a> PartialFile<'a> {
    /// Creates a file that only its owner can read.
    fn create(directory: &'a OwnedFd, prefix: &OsStr) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let mut name = prefix.to_owned();
            let random = RandomState::new().build_hasher().finish();
            name.push(format!("{random:016x}{PARTIAL_SUFFIX}"));
            match openat(directory, &name, flags, Mode::RUSR | Mode::WUSR) {
                Err(Errno::EXIST) => {}
                file => {
                    return Ok(Self {
                        directory,
                        file: file?.into(),
                        name,
                    });
                }
            }
        }
    }
}

impl Drop for PartialFile<'_> {
    fn drop(&mut self) {
        // This fails after the rename, when there is nothing to remove.
        let _ = remove(self.directory, &self.name);
    }
}

fn remove(directory: &OwnedFd, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(directory, name, AtFlags::empty())?)
}

/// Removes the incomplete files of earlier exports to the same target, by the same user, that were killed.
fn remove_leftovers(directory: &OwnedFd, prefix: &OsStr) -> io::Result<()> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !name.starts_with(prefix.as_bytes()) || !name.ends_with(PARTIAL_SUFFIX.as_bytes()) {
            continue;
        }
        let name = OsStr::from_bytes(name);
        // Another user may have created it, so do not follow a link and do not wait for a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(leftover) = openat(directory, name, flags, Mode::empty()) else {
            continue;
        };
        let found = fstat(&leftover)?;
        let is_leftover = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
            && found.st_uid == geteuid().as_raw();
        if is_leftover && File::from(leftover).try_lock().is_ok() {
            // Another export may have removed it.
            let _ = remove(directory, name);
        }
    }
    Ok(())
}
