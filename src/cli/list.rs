//! `landing list`: prints the entries, newest first.

use std::io;

use serde::Serialize;

use super::{
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::output::{OutputArgs, is_terminal, print_to_stdout},
    time::rfc3339,
};
use crate::waitlist::Selection;

#[derive(clap::Args)]
#[command(after_help = "Example: landing list --since 7d --limit 20")]
pub(super) struct ListArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Maximum number of entries
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Unlike a line of `export --format jsonl`, the time comes first. Scripts may rely on either order.
#[derive(Serialize)]
struct ListedEntry<'a> {
    joined_at: String,
    email: &'a str,
}

pub(super) fn run(args: &ListArgs) -> anyhow::Result<()> {
    let selection = Selection {
        newest_first: true,
        ..args.selection.selection()?
    };
    let list = args.store.announce_location()?.open_to_read()?;
    let entries = list.entries(selection)?.entries;
    let limit = usize::try_from(args.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let is_terminal = is_terminal();
    print_to_stdout(move |out| {
        let _list = list;
        if is_terminal && !args.output.json {
            writeln!(out, "{:<24}  EMAIL", "JOINED AT")?;
        }
        for entry in entries.take(limit) {
            let entry = entry.map_err(io::Error::other)?;
            let (email, joined_at) = (entry.email.as_typed(), rfc3339(entry.joined_at));
            if args.output.json {
                serde_json::to_writer(&mut *out, &ListedEntry { joined_at, email })?;
                writeln!(out)?;
            } else if is_terminal {
                writeln!(out, "{joined_at}  {email}")?;
            } else {
                writeln!(out, "{joined_at}\t{email}")?;
            }
        }
        Ok(())
    })
}
