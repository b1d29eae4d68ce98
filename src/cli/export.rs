//! `landing export`: writes a snapshot of the list, as a backup or for another program.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::bail;
use indicatif::ProgressBar;
use serde_json::json;

use super::{
    list_extras,
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::{
        output::{OutputArgs, is_stdout_name, is_terminal, print_all_to_stdout, write_error},
        output_buffer::OutputBuffer,
        progress::entry_progress,
    },
    transfer::{
        destination::{Destination, DestinationError},
        export_format::{ExportFormat, ExportWriter},
        list_lines::ListLine,
        partial_file::write_atomically,
        trailer::Trailer,
    },
    waitlist_handle::{SelectedEntries, WaitlistHandle},
};
use crate::waitlist::SuppressionItem;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing export -o list.csv

An export of the whole list also has the suppressed addresses and the ledger of messages, as keyed hashes. The last line contains the number \
of entries and a checksum of all lines before it, which `landing import` verifies: an export is also a backup. In a \
directory that others can write to and that has the sticky bit, such as /tmp, links and pipes of other users are \
rejected.")]
pub(super) struct ExportArgs {
    /// Format [default: by the extension of FILE, otherwise csv]
    #[arg(long, value_enum)]
    format: Option<ExportFormat>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// File to write, instead of standard output. It appears under this name once it is complete
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    report: OutputArgs,
}

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let output = args.output.as_deref();
    let file = output.filter(|file| !is_stdout_name(file));
    let format = args.format.unwrap_or_else(|| match file {
        Some(file) => format_from_name(file),
        None if args.report.json => ExportFormat::Jsonl,
        None => ExportFormat::Csv,
    });
    if file.is_none() && args.report.json && format == ExportFormat::Csv {
        bail!("--json prints JSON lines, and --format csv asks for CSV; leave one of them out");
    }
    let list = args.store.announce_location()?.open_to_read()?;
    let selection = args.selection.selection()?;
    // A part of the list has no other lines. They are read before the entries: a person who joins again in between is
    // then exported as listed.
    let lines = if selection.is_everything() {
        list_extras::read(&list)?
    } else {
        Vec::new()
    };
    let is_suppressed =
        |line: &&ListLine| matches!(line, ListLine::Suppression(SuppressionItem::Address(_)));
    let suppressed = lines.iter().filter(is_suppressed).count();
    let entries = list.entries(selection)?;
    args.selection.note_empty_source(entries.count);
    let bar = entry_progress(entries.count, "writing");
    let Some(file) = file else {
        // On a terminal, the bar would be drawn between the entries.
        let bar = if is_terminal() {
            ProgressBar::hidden()
        } else {
            bar
        };
        return print_all_to_stdout(move |out| {
            let _list = list;
            write_list(format, out, entries, &lines, &bar).map(drop)
        });
    };
    let name = file.display().to_string();
    let written = export_to_file(file, format, list, (entries, lines), &bar);
    let Trailer { entries, sha256 } = written.map_err(|error| match error {
        DestinationError::Io(error) => write_error(&name, error),
        foreign => foreign.into(),
    })?;
    let mut json = json!({ "entries": entries, "file": name, "sha256": sha256 });
    if suppressed > 0 {
        json["suppressed"] = suppressed.into();
    }
    let noun = if entries == 1 { "entry" } else { "entries" };
    args.report.print(&json, |out| match suppressed {
        0 => writeln!(out, "{entries} {noun} in {name}"),
        1 => writeln!(out, "{entries} {noun} and 1 suppressed address in {name}"),
        _ => writeln!(
            out,
            "{entries} {noun} and {suppressed} suppressed addresses in {name}"
        ),
    })
}

fn format_from_name(file: &Path) -> ExportFormat {
    match file.extension().and_then(OsStr::to_str) {
        Some("json" | "jsonl" | "ndjson") => ExportFormat::Jsonl,
        _ => ExportFormat::Csv,
    }
}

fn write_list(
    format: ExportFormat,
    out: impl Write,
    entries: SelectedEntries,
    lines: &[ListLine],
    bar: &ProgressBar,
) -> io::Result<Trailer> {
    let mut writer = ExportWriter::new(format, out);
    for entry in entries.entries {
        writer.write(&entry.map_err(io::Error::other)?)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    for line in lines {
        writer.write_list_line(line)?;
    }
    writer.finish()
}

fn export_to_file(
    file: &Path,
    format: ExportFormat,
    list: WaitlistHandle,
    (entries, lines): (SelectedEntries, Vec<ListLine>),
    bar: &ProgressBar,
) -> Result<Trailer, DestinationError> {
    let stream = match Destination::find(file)? {
        Destination::File(target) => {
            let write = |out: BufWriter<&File>| write_list(format, out, entries, &lines, bar);
            return Ok(write_atomically(&target, write)?);
        }
        Destination::Stream(stream) => stream,
    };
    // A pipe may get its reader late, and the reader may be slow. Collect the output, so the list can be closed.
    let mut trailer = None;
    let mut output = OutputBuffer::collect(|out| {
        let _list = list;
        trailer = Some(write_list(format, out, entries, &lines, bar)?);
        Ok(())
    })?;
    output.write_to(&mut stream.open()?)?;
    let trailer = trailer.ok_or(io::ErrorKind::UnexpectedEof);
    Ok(trailer.map_err(io::Error::from)?)
}
