//! Writes the file that `-o` names, completely or not at all, even if Ctrl-C or a power cut interrupts it.
//!
//! In a directory such as `/tmp`, any user can create a link or a pipe under the name that another user is about to
//! write to. So nothing at the name is ever opened: the file is written under a new, random name, with mode 0600, and
//! takes the place of whatever has the name. A link before it in the path leads at most to another directory, where the
//! file still belongs to the caller, and only they can read it.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::terminal::{
    output::{print_to_stdout, write_error},
    signals,
};
use anyhow::bail;

/// The option that names the file.
#[derive(clap::Args)]
pub(super) struct OutputFileArgs {
    /// File to write, instead of standard output. Only its owner can read it. It appears under this name once it is
    /// complete, and replaces an earlier file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutputFileArgs {
    /// Returns the path, unless it is that of standard output: `-`.
    pub(super) fn path(&self) -> Option<&Path> {
        self.output.as_deref().filter(|it| it.as_os_str() != "-")
    }

    /// Writes to the file, or to standard output. Returns the name of the file, and what `write` returns.
    pub(super) fn write<T>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> anyhow::Result<Option<(String, T)>> {
        let Some(path) = self.path() else {
            print_to_stdout(|out| write(out).map(drop))?;
            return Ok(None);
        };
        let written = write_file(path, write)?;
        Ok(Some((path.display().to_string(), written)))
    }
}

/// Writes a file that only its owner can read. It appears under its name once it is complete and synced.
///
/// A command that is killed (SIGKILL, or a power cut) leaves a hidden file `.NAME.….partial`.
fn write_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> anyhow::Result<T> {
    let name = path.display().to_string();
    // Replacing a device or a link would be a surprise, and a directory cannot be replaced.
    let found = fs::symlink_metadata(path).map(|found| found.file_type());
    if found.is_ok_and(|it| !it.is_file()) {
        bail!(
            "cannot write {name}: it is a directory, a link, a pipe or a device; name another file, or redirect standard output"
        );
    }
    write_and_rename(path, write).map_err(|error| write_error(&name, error))
}

fn write_and_rename<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = match path.parent() {
        Some(parent) if parent != "" => parent,
        _ => Path::new("."),
    };
    let partial = tempfile::Builder::new()
        .prefix(&format!(".{}.", name.display()))
        .suffix(".partial")
        .tempfile_in(directory)?;
    let partial_path = partial.path().to_owned();
    // Removing fails if the file is complete and has its final name.
    signals::on_interrupt(move || {
        let removed = fs::remove_file(&partial_path);
        let nothing_written = removed.map_or("", |()| "; nothing was written");
        Some(format!("interrupted{nothing_written}"))
    })?;
    let mut out = BufWriter::with_capacity(1 << 16, partial.as_file());
    let written = write(&mut out)?;
    out.flush()?;
    drop(out);
    partial.as_file().sync_all()?;
    partial.persist(path).map_err(|error| error.error)?;
    // The file is complete. In a directory that this user cannot read, its name may be lost in a power cut.
    match File::open(directory) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        directory => directory?.sync_all()?,
    }
    Ok(written)
}
