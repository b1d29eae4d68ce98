//! `landing export`: the list as it is at this moment, to keep or to take elsewhere.

use std::{
    ffi::OsStr,
    io::{self, Write},
    path::{Path, PathBuf},
};

use indicatif::ProgressBar;
use serde_json::json;

use super::{
    open_list::{Entries, List},
    store_location::Place,
    terminal::{
        output::{Output, is_terminal, printing_all, progress, told},
        output_buffer::Spool,
    },
    time::Period,
    transfer::{
        destination::Destination,
        export_format::{Format, Seal, Writer},
        partial_file::write_whole,
    },
};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing export -o list.csv

The last line has the number of entries and a checksum of all before it, which `landing import` \
compares: an export is a backup too. In a directory with the sticky bit that others can write to, such as /tmp, no link and \
no pipe of another user is followed.")]
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

/// Names of standard output. Opened by its name, a file there would be written from its start, also after `>>`.
const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

pub(super) fn run(options: &Export) -> Result<(), String> {
    let output = options.output.as_deref();
    let file = output.filter(|file| !STANDARD_OUTPUT.contains(&&*file.to_string_lossy()));
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
    let written = to_file(file, format, list, entries);
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

fn to_file(file: &Path, format: Format, list: List, entries: Entries) -> io::Result<Seal> {
    let stream = match Destination::find(file)? {
        Destination::File(place) => {
            return write_whole(&place, |out| write(format, out, entries, None));
        }
        Destination::Stream(stream) => stream,
    };
    // Its reader may take their time, and come late.
    let mut seal = None;
    let mut output = Spool::of(|out| {
        let _list = list;
        seal = Some(write(format, out, entries, None)?);
        Ok(())
    })?;
    output.copy(&mut stream.open()?)?;
    seal.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
