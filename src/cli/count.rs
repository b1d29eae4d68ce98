//! `landing count`: prints the number of entries.

use serde_json::json;

use super::{selection::SelectionArgs, store_location::CommonArgs};

#[derive(clap::Args)]
#[command(after_help = "Example: landing count --since 7d --store /var/lib/landing")]
pub(super) struct CountArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &CountArgs) -> anyhow::Result<()> {
    let selection = args.selection.selection()?;
    let list = args.common.store.announce_location()?.open()?;
    let count = list.entries(selection)?.count;
    args.common
        .output
        .print(&json!({ "count": count }), |out| writeln!(out, "{count}"))
}
