//! `landing export`: writes the people on the list, for another program.

use std::io;

use indicatif::ProgressIterator;
use serde_json::json;

use super::{
    export_format::{CSV_HEADER, EntryFields},
    output_file::OutputFileArgs,
    selection::SelectionArgs,
    store_location::CommonArgs,
    terminal::{output::counted, progress::progress},
};
use crate::exit::print_stderr;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing export -o list.csv

The columns are email, joined_at, source, confirmed_at and asked_at, which `landing import` knows. With --json, each person is an \
object on a line. An export has no secret of the list, so it can be passed on. It is no backup: it does not know who has \
left or who had which message. For that, use `landing backup`.")]
pub(super) struct ExportArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    output: OutputFileArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let list = args.common.store.announce_location()?.open()?;
    let entries = list.entries(args.selection.selection()?)?;
    // Somebody who has left may be listed again, typed in by a stranger. The next program would not know that.
    let suppressions = list.suppressions()?;
    let bar = progress(entries.count, "writing");
    let written = args.output.write(move |out| {
        let _list = list;
        let as_json = args.common.output.json;
        if !as_json {
            writeln!(out, "{CSV_HEADER}")?;
        }
        let (mut written, mut left_out) = (0, 0);
        for entry in entries.entries.progress_with(bar) {
            let entry = entry.map_err(io::Error::other)?;
            if suppressions.contains(&entry.email) {
                left_out += 1;
                continue;
            }
            EntryFields::from(&entry).write(out, as_json)?;
            written += 1;
        }
        if left_out > 0 {
            let people = counted(left_out, "suppressed person is", "suppressed people are");
            print_stderr(&format!("{people} on the list, but not in the export"));
        }
        Ok(written)
    })?;
    let Some((name, written)) = written else {
        return Ok(());
    };
    let entries = counted(written, "entry", "entries");
    let json = json!({ "entries": written, "file": name });
    let output = &args.common.output;
    output.print(&json, |out| writeln!(out, "{entries} in {name}"))
}
