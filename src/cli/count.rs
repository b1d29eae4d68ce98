//! `landing count`: prints the number of entries.

use serde_json::json;

use super::{selection::SelectionArgs, store_location::StoreArgs, terminal::output::OutputArgs};

#[derive(clap::Args)]
#[command(after_help = "Example: landing count --since 7d --store /var/lib/landing")]
pub(super) struct CountArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &CountArgs) -> anyhow::Result<()> {
    let selection = args.selection.selection()?;
    let list = args.store.announce_location()?.open()?;
    let count = list.entries(selection)?.count;
    args.output
        .print(&json!({ "count": count }), |out| writeln!(out, "{count}"))
}
