//! `landing list`: prints the entries, newest first.

use std::io;

use super::{
    export_format::EntryFields, selection::SelectionArgs, store_location::CommonArgs,
    terminal::output::print_to_stdout,
};
use crate::{config::number, waitlist::Selection};

#[derive(clap::Args)]
#[command(after_help = "Example: landing list --since 7d --limit 20")]
pub(super) struct ListArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Maximum number of entries
    #[arg(long, value_name = "N", value_parser = number::<usize>(0..=u64::MAX))]
    limit: Option<usize>,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &ListArgs) -> anyhow::Result<()> {
    let selection = Selection {
        newest_first: true,
        ..args.selection.selection()?
    };
    let list = args.common.store.announce_location()?.open()?;
    let entries = list.entries(selection)?.entries;
    let limit = args.limit.unwrap_or(usize::MAX);
    print_to_stdout(move |out| {
        let _list = list;
        for entry in entries.take(limit) {
            let entry = entry.map_err(io::Error::other)?;
            let entry = EntryFields::from(&entry);
            if args.common.output.json {
                entry.write(out, true)?;
                continue;
            }
            let columns = [
                entry.joined_at.as_deref().unwrap_or_default(),
                entry.email,
                entry.source.unwrap_or_default(),
                entry.confirmed_at.as_deref().unwrap_or_default(),
            ];
            // A script that reads two fields works with a third one too.
            writeln!(out, "{}", columns.join("\t").trim_end())?;
        }
        Ok(())
    })
}
