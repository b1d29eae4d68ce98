//! `landing export`: the list as it is at this moment, to keep or to take elsewhere.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use indicatif::ProgressBar;
use serde_json::json;

use super::{
    format::{Format, Seal, Writer},
    output::{Output, is_terminal, printing_all, progress, told},
    place::Place,
    signals,
    store::Entries,
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
    let format = options.format.unwrap_or_else(|| match file {
        Some(file) => by_name(file),
        None if options.report.json => Format::Jsonl,
        None => Format::Csv,
    });
    let list = options.place.store().open()?;
    let entries = list.entries(options.period.select(false))?;
    let Some(file) = file else {
        // Where the list itself is shown a bar has no place.
        let bar = is_terminal().then(ProgressBar::hidden);
        return printing_all(move |out| {
            let _list = list;
            write(format, out, entries, bar).map(drop)
        });
    };
    let name = file.display().to_string();
    let written = to_file(file, |out| write(format, out, entries, None));
    let Seal { entries, sha256 } = written.map_err(|error| told(&name, error))?;
    let json = json!({ "entries": entries, "file": name, "sha256": sha256 });
    options
        .report
        .print(&json, |out| writeln!(out, "{entries} entries in {name}"))
}

fn by_name(file: &Path) -> Format {
    match file.extension().and_then(OsStr::to_str) {
        Some("json" | "jsonl" | "ndjson") => Format::Jsonl,
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
    let name = file.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let folder = match file.parent() {
        Some(folder) if folder != "" => folder,
        _ => Path::new("."),
    };
    let mut beginning = OsString::from(".");
    beginning.push(name);
    beginning.push(".");
    remove_leftovers(folder, &beginning)?;
    let partial = loop {
        // A new one for its owner alone, whoever else can write there.
        let mut partial = tempfile::Builder::new();
        let partial = partial.prefix(&beginning).suffix(PARTIAL);
        let partial = partial.tempfile_in(folder)?;
        partial.as_file().lock()?;
        // Before it was locked, another export may have taken it for a leftover.
        if partial.as_file().metadata()?.nlink() > 0 {
            break partial;
        }
    };
    signals::remove_when_interrupted(partial.path())?;
    let written = write(BufWriter::with_capacity(1 << 16, partial.as_file()))?;
    partial.as_file().sync_all()?;
    partial.persist(&file)?;
    File::open(folder)?.sync_all()?;
    Ok(written)
}

/// How the name of a file ends that is not complete yet. It is locked for as long as it is written.
const PARTIAL: &str = ".partial";

/// Removes what killed exports to the same file have left.
fn remove_leftovers(folder: &Path, beginning: &OsStr) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_one = name.starts_with(beginning.as_encoded_bytes())
            && name.ends_with(PARTIAL.as_bytes())
            && entry.file_type().is_ok_and(|it| it.is_file());
        // It may be gone meanwhile, or another user's.
        let open = || File::open(entry.path()).ok();
        if is_one && open().is_some_and(|left| left.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}
