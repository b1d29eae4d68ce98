//! `landing restore`: restores a backup into an empty or new list.

use std::{
    env,
    fs::File,
    io::{self, Read, Seek},
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use indicatif::ProgressBar;
use serde_json::json;

use super::{
    backup::{BackupCounts, BackupReader, write_backup},
    import::input_file,
    store_location::{CommonArgs, StoreLocation},
    terminal::progress::progress,
    time::rfc3339,
};
use crate::exit::print_stderr;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing restore waitlist.backup --store new

The list must be new, or without people, suppressed addresses and messages. The whole backup is checked first, and \
everything is restored or nothing, even if the command is interrupted. Stop the server before: a list in a directory is restored only while no server uses it, and the \
instances that use a database have to be started again.

The list knows nothing that happened after the backup. Messages that were sent since may be sent again: compare \
`landing messages` with the log of the mail server. People who have left or were erased since are on the list again.")]
pub(super) struct RestoreArgs {
    /// File that `landing backup` wrote; - is standard input
    file: PathBuf,
    /// Check the backup and report what it has, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &RestoreArgs) -> anyhow::Result<()> {
    let path = Some(&*args.file).filter(|file| *file != "-");
    let name = input_file::display_name(path);
    let nothing_restored = || format!("{name}: nothing was restored");
    let location = args.common.store.announce_location()?;
    let mut file = open(path).with_context(nothing_restored)?;
    let reader = read(&mut file, "checking").with_context(nothing_restored)?;
    let created_at = reader.created_at();
    let counts = reader.verify().with_context(nothing_restored)?;
    if !args.dry_run {
        let reader = read(&mut file, "restoring").with_context(nothing_restored)?;
        let key = reader.key();
        location
            .restore(key, reader.fuse())
            .with_context(|| name.clone())?;
        compare(&location, &counts)?;
    }
    let created_at = rfc3339(created_at);
    let mut json = json!(counts);
    json["file"] = json!(name);
    json["created_at"] = json!(created_at);
    args.common.output.print(&json, |out| match args.dry_run {
        // The list may be the one that a new one replaces later, so it need not be empty.
        true => writeln!(out, "{name} is complete: {counts}"),
        false => writeln!(out, "{counts} restored from {name}"),
    })?;
    print_stderr(&format!(
        "the backup was written at {created_at}; the list does not know which messages were sent since, and who has left \
         or was erased since"
    ));
    Ok(())
}

/// Begins to read a backup, with a progress bar that ends with the reader.
fn read<'a>(
    file: &'a mut File,
    what: &'static str,
) -> anyhow::Result<BackupReader<impl Read + 'a>> {
    file.rewind()?;
    let bar = progress(file.metadata()?.len(), what);
    Ok(BackupReader::open(bar.wrap_read(&*file))?)
}

/// Opens a file, or standard input. A backup is read twice, so the output of another program is copied to an unnamed
/// temporary file first.
fn open(path: Option<&Path>) -> anyhow::Result<File> {
    let file = match path {
        Some(path) => File::open(path)?,
        None => File::from(io::stdin().as_fd().try_clone_to_owned()?),
    };
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let directory = env::temp_dir();
    let context = || format!("cannot copy it to {}", directory.display());
    let mut copy = tempfile::tempfile().with_context(context)?;
    io::copy(&mut &file, &mut copy).with_context(context)?;
    Ok(copy)
}

/// Compares the list with what the backup has.
fn compare(location: &StoreLocation, expected: &BackupCounts) -> anyhow::Result<()> {
    let read = || {
        let list = location.open()?;
        anyhow::Ok(write_backup(io::sink(), &list, &ProgressBar::hidden())?.counts)
    };
    let found = read().with_context(|| {
        format!("the backup was restored; compare it, which has {expected}, with `landing check`")
    })?;
    if found != *expected {
        bail!(
            "the backup has {expected}, but {location} has {found}; do not use that list, and report this"
        );
    }
    Ok(())
}
