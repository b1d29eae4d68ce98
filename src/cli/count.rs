//! `landing count`: prints the number of entries.

use serde_json::json;

use super::{store_location::StoreArgs, terminal::output::OutputArgs};

#[derive(clap::Args)]
#[command(after_help = "Example: landing count --store /var/lib/steward")]
pub(super) struct CountArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(CountArgs { store, output }: &CountArgs) -> anyhow::Result<()> {
    let count = store.location()?.open()?.count()?;
    output.print(&json!({ "count": count }), |out| writeln!(out, "{count}"))
}
