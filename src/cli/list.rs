//! `landing list`: prints the entries, newest first.

use std::io::{self, Write};

use serde::Serialize;

use super::{
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::output::{OutputArgs, is_terminal, print_to_stdout},
    time::rfc3339,
    waitlist_handle::SelectedEntries,
};
use crate::{
    config::number,
    waitlist::{Selection, Source},
};

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

/// Unlike a line of `export --format jsonl`, the time comes first. Scripts may rely on either order.
#[derive(Serialize)]
struct ListedEntry<'a> {
    joined_at: String,
    email: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
}

/// Width of the addresses in the table, in characters. Longer ones move the source to the right.
const EMAIL_WIDTH: usize = 32;

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
                "{:<24}  {:<EMAIL_WIDTH$}  SOURCE",
                "JOINED AT", "EMAIL"
            )?;
        }
        for entry in entries.take(limit) {
            let entry = entry.map_err(io::Error::other)?;
            let entry = ListedEntry {
                joined_at: rfc3339(entry.joined_at),
                email: entry.email.as_typed(),
                source: entry.source.as_ref().map(Source::as_str),
            };
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

impl ListedEntry<'_> {
    fn write_table_row(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self {
            joined_at,
            email,
            source,
        } = self;
        match source {
            Some(source) => writeln!(out, "{joined_at}  {email:<EMAIL_WIDTH$}  {source}"),
            None => writeln!(out, "{joined_at}  {email}"),
        }
    }

    /// Writes fields separated by tabs. The source is the last one, and only there if the person has one: a script that
    /// reads two fields still works.
    fn write_fields(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}\t{}", self.joined_at, self.email)?;
        if let Some(source) = self.source {
            write!(out, "\t{source}")?;
        }
        writeln!(out)
    }
}
