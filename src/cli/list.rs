//! `landing list`: prints the entries, newest first.

use std::io;

use super::{
    export_format::EntryFields,
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::output::{OutputArgs, is_terminal, print_to_stdout},
    waitlist_handle::SelectedEntries,
};
use crate::{config::number, waitlist::Selection};

#[derive(clap::Args)]
#[command(after_help = "Example: landing list --since 7d --limit 20")]
pub(super) struct ListArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Maximum number of entries
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..=u64::MAX))]
    limit: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &ListArgs) -> anyhow::Result<()> {
    let selection = Selection {
        newest_first: true,
        ..args.selection.selection()?
    };
    let list = args.store.announce_location()?.open_to_read()?;
    let SelectedEntries { entries, count } = list.entries(selection)?;
    args.selection.note_empty_source(count);
    let limit = usize::try_from(args.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let is_terminal = is_terminal();
    print_to_stdout(move |out| {
        let _list = list;
        if is_terminal && !args.output.json {
            let header = ["JOINED AT", "EMAIL", "SOURCE", "CONFIRMED AT"];
            writeln!(out, "{}", table_row(header))?;
        }
        for entry in entries.take(limit) {
            let entry = entry.map_err(io::Error::other)?;
            let entry = EntryFields::from(&entry);
            if args.output.json {
                serde_json::to_writer(&mut *out, &entry)?;
                writeln!(out)?;
                continue;
            }
            let columns = [
                &*entry.joined_at,
                entry.email,
                entry.source.unwrap_or_default(),
                entry.confirmed_at.as_deref().unwrap_or_default(),
            ];
            match is_terminal {
                true => writeln!(out, "{}", table_row(columns))?,
                // A script that reads two fields works with a third one too.
                false => writeln!(out, "{}", columns.join("\t").trim_end())?,
            }
        }
        Ok(())
    })
}

/// Returns a row of the table. Longer texts move the next columns to the right.
fn table_row([joined_at, email, source, confirmed_at]: [&str; 4]) -> String {
    let row = format!("{joined_at:<24}  {email:<32}  {source:<16}  {confirmed_at}");
    row.trim_end().to_owned()
}
