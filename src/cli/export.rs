//! `landing export`: the list as it is at this moment, to keep or to take elsewhere.

use std::{
    ffi::OsStr,
    io::{self, Write},
    path::{Path, PathBuf},
};

use indicatif::ProgressBar;
use serde_json::json;

use super::{
    open_list::{SelectedEntries, WaitlistHandle},
    store_location::StoreArgs,
    terminal::{
        output::{OutputArgs, is_terminal, print_all_to_stdout, progress_bar, write_error},
        output_buffer::OutputBuffer,
    },
    time::PeriodArgs,
    transfer::{
        destination::Destination,
        export_format::{ExportFormat, ExportWriter, Trailer},
        partial_file::write_atomically,
    },
};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing export -o list.csv

The last line has the number of entries and a checksum of all before it, which `landing import` \
compares: an export is a backup too. In a directory with the sticky bit that others can write to, such as /tmp, no link and \
no pipe of another user is followed.")]
pub(super) struct ExportArgs {
    /// How it is written [default: csv, or what the name of FILE ends with]
    #[arg(long, value_enum)]
    format: Option<ExportFormat>,
    #[command(flatten)]
    period: PeriodArgs,
    /// Where to, instead of standard output; it is there when it is complete, and not before
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    report: OutputArgs,
}

/// Names of standard output. Opened by its name, a file there would be written from its start, also after `>>`.
const STDOUT_NAMES: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

pub(super) fn run(args: &ExportArgs) -> Result<(), String> {
    let output = args.output.as_deref();
    let file = output.filter(|file| !STDOUT_NAMES.contains(&&*file.to_string_lossy()));
    let format = args.format.unwrap_or_else(|| match file {
        Some(file) => format_from_name(file),
        None if args.report.json => ExportFormat::Jsonl,
        None => ExportFormat::Csv,
    });
    let list = args.store.location().open()?;
    let entries = list.entries(args.period.selection(false))?;
    let Some(file) = file else {
        // Where the list itself is shown a bar has no place.
        let bar = is_terminal().then(ProgressBar::hidden);
        return print_all_to_stdout(move |out| {
            let _list = list;
            write_entries(format, out, entries, bar).map(drop)
        });
    };
    let name = file.display().to_string();
    let written = export_to_file(file, format, list, entries);
    let Trailer { entries, sha256 } = written.map_err(|error| write_error(&name, error))?;
    let json = json!({ "entries": entries, "file": name, "sha256": sha256 });
    args.report
        .print(&json, |out| writeln!(out, "{entries} entries in {name}"))
}

fn format_from_name(file: &Path) -> ExportFormat {
    match file.extension().and_then(OsStr::to_str) {
        Some("json" | "jsonl" | "ndjson") => ExportFormat::Jsonl,
        _ => ExportFormat::Csv,
    }
}

fn write_entries(
    format: ExportFormat,
    out: impl Write,
    entries: SelectedEntries,
    bar: Option<ProgressBar>,
) -> io::Result<Trailer> {
    let bar = bar.unwrap_or_else(|| progress_bar(entries.count, "writing"));
    let mut writer = ExportWriter::new(format, out);
    for entry in entries.entries {
        writer.write(&entry.map_err(io::Error::other)?)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    writer.finish()
}

fn export_to_file(
    file: &Path,
    format: ExportFormat,
    list: WaitlistHandle,
    entries: SelectedEntries,
) -> io::Result<Trailer> {
    let stream = match Destination::find(file)? {
        Destination::File(target) => {
            return write_atomically(&target, |out| write_entries(format, out, entries, None));
        }
        Destination::Stream(stream) => stream,
    };
    // Its reader may take their time, and come late.
    let mut trailer = None;
    let mut output = OutputBuffer::collect(|out| {
        let _list = list;
        trailer = Some(write_entries(format, out, entries, None)?);
        Ok(())
    })?;
    output.write_to(&mut stream.open()?)?;
    trailer.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
