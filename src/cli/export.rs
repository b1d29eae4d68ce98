//! `landing export`: the list as it is at this moment, to keep or to take elsewhere.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use indicatif::ProgressBar;
use serde_json::json;

use super::{
    format::{Format, Seal, Writer},
    output::{Output, is_terminal, printing, progress, told},
    place::{Entries, Place},
    signals,
    time::Period,
};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing export -o list.csv

The last line has the number of entries and a checksum of all before it, which `landing import` \
compares: an export is a backup too.")]
pub(super) struct Export {
    /// How it is written [default: csv, or what the name of FILE ends with]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    period: Period,
    /// Where to, instead of standard output; it is there when it is complete, and not before
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    report: Output,
}

pub(super) fn run(options: &Export) -> Result<(), String> {
    let file = options.output.as_deref().filter(|file| *file != "-");
    let format = options.format.unwrap_or_else(|| by_name(file));
    let list = options.place.open()?;
    let entries = list.entries(options.period.select(false))?;
    let Some(file) = file else {
        // Where the list itself is shown a bar has no place.
        let bar = is_terminal().then(ProgressBar::hidden);
        return printing(|out| write(format, out, entries, bar).map(drop));
    };
    let name = file.display().to_string();
    let written = to_file(file, |out| write(format, out, entries, None));
    let Seal { entries, sha256 } = written.map_err(|error| told(&name, error))?;
    let json = json!({ "entries": entries, "file": name, "sha256": sha256 });
    options
        .report
        .print(&json, |out| writeln!(out, "{entries} entries in {name}"))
}

fn by_name(file: Option<&Path>) -> Format {
    match file.and_then(Path::extension).and_then(OsStr::to_str) {
        Some("jsonl" | "ndjson") => Format::Jsonl,
        _ => Format::Csv,
    }
}

fn write(
    format: Format,
    out: impl Write,
    entries: Entries,
    bar: Option<ProgressBar>,
) -> io::Result<Seal> {
    let bar = bar.unwrap_or_else(|| progress(entries.count, "writing"));
    let mut writer = Writer::new(format, out);
    for entry in entries.entries {
        writer.write(&entry.map_err(io::Error::other)?)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    writer.finish()
}

/// Writes a file that is there whole or not at all, also after Ctrl-C or a power cut.
fn to_file<T>(file: &Path, write: impl FnOnce(BufWriter<&File>) -> io::Result<T>) -> io::Result<T> {
    // What a link leads to is replaced, not the link.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let there = fs::metadata(&file);
    if there.is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        // A pipe or a device.
        return write(BufWriter::new(&OpenOptions::new().write(true).open(&file)?));
    }
    let partial = Partial::begin(&file)?;
    let written = write(BufWriter::with_capacity(1 << 16, &partial.file))?;
    partial.finish(&file)?;
    Ok(written)
}

/// A file in the making, beside its final place. It goes with this.
struct Partial {
    path: PathBuf,
    file: File,
}

impl Partial {
    fn begin(file: &Path) -> io::Result<Self> {
        let name = file.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".partial");
        let path = file.with_file_name(hidden);
        signals::remove_when_interrupted(&path)?;
        let mut options = OpenOptions::new();
        let open = options.write(true).create(true).truncate(false).mode(0o600);
        let open = open.open(&path)?;
        // It may be what a killed one has left; or another one may be at it.
        match open.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another export is writing this file"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        open.set_len(0)?;
        Ok(Self { path, file: open })
    }

    /// Gives it its name.
    fn finish(&self, file: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, file)?;
        let folder = file.parent().filter(|folder| *folder != "");
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // When it has its name it is not there.
        let _ = fs::remove_file(&self.path);
    }
}
