//! `landing export`: writes the people on the list, for another program.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use indicatif::ProgressBar;
use serde_json::json;

use super::{
    export_format::ExportWriter,
    output_file::write_file,
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::{
        output::{OutputArgs, counted, is_stdout_name, is_terminal, print_all_to_stdout},
        progress::entry_progress,
    },
    waitlist_handle::SelectedEntries,
};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing export -o list.csv

The columns are email, joined_at, source and confirmed_at, which `landing import` knows. An export has no secret of the \
list, so it can be passed on. It is no backup: it does not know who has left or who had which message. For that, \
use `landing backup`.")]
pub(super) struct ExportArgs {
    /// Write JSON lines, one object for each person, instead of CSV
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    /// File to write, instead of standard output. Only its owner can read it. It appears under this name once it is
    /// complete
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let file = args.output.as_deref();
    let file = file.filter(|file| !is_stdout_name(file));
    let list = args.store.announce_location()?.open_to_read()?;
    let entries = list.entries(args.selection.selection()?)?;
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
            write_entries(args.json, out, entries, &bar).map(drop)
        });
    };
    let written = write_file(file, |out| write_entries(args.json, out, entries, &bar))?;
    let entries = counted(written, "entry", "entries");
    let name = file.display().to_string();
    let json = json!({ "entries": written, "file": name });
    let output = OutputArgs { json: args.json };
    output.print(&json, |out| writeln!(out, "{entries} in {name}"))
}

/// Writes the entries, and returns their number.
fn write_entries(
    json: bool,
    out: impl Write,
    entries: SelectedEntries,
    bar: &ProgressBar,
) -> io::Result<u64> {
    let mut writer = ExportWriter::new(json, out)?;
    for entry in entries.entries {
        writer.write(&entry.map_err(io::Error::other)?)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    writer.finish()
}
