//! `landing count`: how many are on the list.

use serde_json::json;

use super::{store_location::Place, terminal::output::Output};

#[derive(clap::Args)]
#[command(after_help = "Example: landing count --store /var/lib/steward")]
pub(super) struct Count {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(Count { place, output }: &Count) -> Result<(), String> {
    let count = place.store().open()?.count()?;
    output.print(&json!({ "count": count }), |out| writeln!(out, "{count}"))
}
