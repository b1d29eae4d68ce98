//! `landing list`: prints the entries.

use std::io;

use super::{
    export_format::EntryFields,
    selection::SelectionArgs,
    standings::{Order, read_ranked},
    store_location::CommonArgs,
    terminal::output::print_to_stdout,
};
use crate::{config::number, waitlist::Selection};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  landing list --since 7d --limit 20
  landing list --by invites --limit 20")]
pub(super) struct ListArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Order of the entries; with invites, each line begins with the number of people invited
    #[arg(long, value_name = "ORDER", value_enum, default_value_t)]
    by: Order,
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
    let people: Box<dyn Iterator<Item = anyhow::Result<_>>> = match args.by {
        Order::Time => Box::new(list.entries(selection)?.entries.map(|it| Ok((it?, None)))),
        Order::Invites => {
            let ranked = read_ranked(&list, &selection)?;
            Box::new(ranked.map(|(invitations, entry)| Ok((entry, Some(invitations)))))
        }
    };
    let limit = args.limit.unwrap_or(usize::MAX);
    print_to_stdout(move |out| {
        let _list = list;
        for person in people.take(limit) {
            let (entry, invitations) = person.map_err(io::Error::other)?;
            let entry = EntryFields {
                invitations,
                ..EntryFields::from(&entry)
            };
            if args.common.output.json {
                entry.write(out, true)?;
                continue;
            }
            if let Some(invitations) = invitations {
                write!(out, "{invitations}\t")?;
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
