//! `landing list`: prints the entries, newest first.

use std::io::{self, Write};

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

/// Width of the addresses in the table, in characters. Longer ones move the next columns to the right.
const EMAIL_WIDTH: usize = 32;
/// Width of the sources in the table, likewise.
const SOURCE_WIDTH: usize = 16;

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
            writeln!(
                out,
                "{:<24}  {:<EMAIL_WIDTH$}  {:<SOURCE_WIDTH$}  CONFIRMED AT",
                "JOINED AT", "EMAIL", "SOURCE"
            )?;
        }
        for entry in entries.take(limit) {
            let entry = entry.map_err(io::Error::other)?;
            let entry = EntryFields::from(&entry);
            if args.output.json {
                serde_json::to_writer(&mut *out, &entry)?;
                writeln!(out)?;
            } else if is_terminal {
                entry.write_table_row(out)?;
            } else {
                entry.write_fields(out)?;
            }
        }
        Ok(())
    })
}

impl EntryFields<'_> {
    fn write_table_row(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self {
            joined_at,
            email,
            source,
            confirmed_at,
        } = self;
        match (source.unwrap_or_default(), confirmed_at) {
            (source, Some(time)) => writeln!(
                out,
                "{joined_at}  {email:<EMAIL_WIDTH$}  {source:<SOURCE_WIDTH$}  {time}"
            ),
            ("", None) => writeln!(out, "{joined_at}  {email}"),
            (source, None) => writeln!(out, "{joined_at}  {email:<EMAIL_WIDTH$}  {source}"),
        }
    }

    /// Writes fields separated by tabs: the time, the address, the source, and the time of the confirmation. Empty fields
    /// at the end are left out: a script that reads two fields still works.
    fn write_fields(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}\t{}", self.joined_at, self.email)?;
        if self.source.is_some() || self.confirmed_at.is_some() {
            write!(out, "\t{}", self.source.unwrap_or_default())?;
        }
        if let Some(confirmed_at) = &self.confirmed_at {
            write!(out, "\t{confirmed_at}")?;
        }
        writeln!(out)
    }
}
