//! Finds the file that `export -o` names, and rejects links and pipes of other users.
//!
//! In a directory such as `/tmp`, any user can create a link or a pipe under the name that another user is about
//! to write to. Linux can block such links and pipes (`fs.protected_symlinks` and `fs.protected_fifos`), but these
//! settings may be off, so each part of the path is checked here by the same rule. The rule also covers directories
//! that other users have created there.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::ffi::OsStringExt,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat},
    io::Errno,
    process::geteuid,
};
use thiserror::Error;

/// Maximum number of links in a path, as in Linux.
const LINKS_MAX: usize = 40;

/// Flags to open a directory on the path. With `PATH`, it may be unreadable.
#[cfg(target_os = "linux")]
const TRAVERSE_FLAGS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const TRAVERSE_FLAGS: OFlags = OFlags::RDONLY;

/// The target of an export.
pub(crate) enum Destination {
    /// A regular file, or a name that is not in use.
    File(TargetPath),
    /// A pipe or a device.
    Stream(TargetStream),
}

/// A name in an open directory. The directory is open so that nobody can replace it.
pub(crate) struct TargetPath {
    directory: OwnedFd,
    pub(crate) name: OsString,
    path: PathBuf,
    /// Whether the path leads through a directory that another user has created in a shared directory.
    is_foreign: bool,
}

/// A pipe or a device.
pub(crate) struct TargetStream {
    target: TargetPath,
    /// Whether it is a link in `/proc` to a stream that a process has open, such as `/dev/stdout`.
    is_proc_link: bool,
}

/// Why a destination cannot be used.
#[derive(Debug, Error)]
pub(crate) enum DestinationError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(
        "cannot write {}: it is a {kind} of user {uid} in a directory that others can write to; remove the {kind}, or \
         write to another directory",
        .path.display()
    )]
    Foreign {
        path: PathBuf,
        /// "link" or "pipe".
        kind: &'static str,
        uid: u32,
    },
}

impl From<Errno> for DestinationError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl Destination {
    /// Follows a path, link by link, from the root: the working directory may be inside another user's directory.
    pub(crate) fn find(path: &Path) -> Result<Self, DestinationError> {
        let path = &std::path::absolute(path)?;
        let mut target = TargetPath {
            directory: open_directory(CWD, ".")?,
            name: OsString::new(),
            path: PathBuf::new(),
            is_foreign: false,
        };
        let mut rest = Vec::new();
        push_components(&mut rest, path);
        let mut links = 0;
        while let Some(part) = rest.pop() {
            target.path.push(&part);
            if part == "/" {
                target.is_foreign = false;
            }
            if part == "/" || part == ".." {
                target.directory = open_directory(&target.directory, &part)?;
                continue;
            }
            target.name = part;
            let found = match statat(&target.directory, &target.name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) if rest.is_empty() => return Ok(Self::File(target)),
                found => found?,
            };
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink => {
                    target.check_owner("link", &found)?;
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(Errno::LOOP.into());
                    }
                    if rest.is_empty() && target.leads_to_open_stream()? {
                        let is_proc_link = true;
                        return Ok(Self::Stream(TargetStream {
                            target,
                            is_proc_link,
                        }));
                    }
                    let link_target = readlinkat(&target.directory, &target.name, Vec::new())?;
                    push_components(
                        &mut rest,
                        Path::new(&OsString::from_vec(link_target.into_bytes())),
                    );
                    target.path.pop();
                }
                FileType::Directory if rest.is_empty() => break,
                FileType::Directory => {
                    target.is_foreign |= !target.is_trusted(&found)?;
                    target.directory = open_directory(&target.directory, &target.name)?;
                }
                _ if !rest.is_empty() => return Err(Errno::NOTDIR.into()),
                FileType::RegularFile => return Ok(Self::File(target)),
                _ => {
                    target.check_owner("pipe", &found)?;
                    let is_proc_link = false;
                    return Ok(Self::Stream(TargetStream {
                        target,
                        is_proc_link,
                    }));
                }
            }
        }
        Err(Errno::ISDIR.into())
    }
}

/// Adds the parts of a path to the remaining ones, in reverse order.
fn push_components(rest: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let parts: Vec<_> = parts.map(|part| part.as_os_str().to_owned()).collect();
    rest.extend(parts.into_iter().rev());
}

fn open_directory(
    at: impl rustix::fd::AsFd,
    name: impl rustix::path::Arg,
) -> rustix::io::Result<OwnedFd> {
    let flags = TRAVERSE_FLAGS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

impl TargetPath {
    /// Opens the directory for reading and syncing.
    pub(crate) fn directory(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.directory, ".", flags, Mode::empty())?)
    }

    /// Whether `found` belongs to the caller or to the directory's owner, or is in a directory that is not shared.
    /// A shared directory has the sticky bit, and others can write to it.
    fn is_trusted(&self, found: &Stat) -> rustix::io::Result<bool> {
        let directory = fstat(&self.directory)?;
        let mode = Mode::from_raw_mode(directory.st_mode);
        let is_shared = mode.contains(Mode::SVTX) && mode.intersects(Mode::WGRP | Mode::WOTH);
        Ok(!is_shared || [geteuid().as_raw(), directory.st_uid].contains(&found.st_uid))
    }

    /// Rejects a link or pipe of another user.
    fn check_owner(&self, kind: &'static str, found: &Stat) -> Result<(), DestinationError> {
        let is_owner = found.st_uid == geteuid().as_raw();
        if self.is_trusted(found)? && (is_owner || !self.is_foreign) {
            return Ok(());
        }
        Err(DestinationError::Foreign {
            path: self.path.clone(),
            kind,
            uid: found.st_uid,
        })
    }

    /// Whether this is a link in `/proc` to a stream or file that a process has open and that has no name.
    #[cfg(target_os = "linux")]
    fn leads_to_open_stream(&self) -> rustix::io::Result<bool> {
        use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};

        if fstatfs(&self.directory)?.f_type != PROC_SUPER_MAGIC {
            return Ok(false);
        }
        let found = statat(&self.directory, &self.name, AtFlags::empty())?;
        let has_name = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => found.st_nlink > 0,
            other => other == FileType::Directory,
        };
        Ok(!has_name)
    }

    #[cfg(not(target_os = "linux"))]
    fn leads_to_open_stream(&self) -> rustix::io::Result<bool> {
        Ok(false)
    }
}

impl TargetStream {
    /// Opens the stream. For a pipe, waits until it has a reader.
    pub(crate) fn open(&self) -> Result<File, DestinationError> {
        let TargetPath {
            directory, name, ..
        } = &self.target;
        let mut flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        if !self.is_proc_link {
            flags |= OFlags::NOFOLLOW;
        }
        let stream = openat(directory, name, flags, Mode::empty())?;
        if !self.is_proc_link {
            // Another user may have replaced it since it was found.
            self.target.check_owner("pipe", &fstat(&stream)?)?;
        }
        Ok(stream.into())
    }
}
