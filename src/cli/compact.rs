//! `landing compact`: rewrites the store, without the addresses that were erased.

use serde_json::json;

use super::{store_location::CommonArgs, terminal::output::counted};
use crate::waitlist::Compaction;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing erase ann@example.com && landing compact

The store's files contain the addresses of people who were erased, who unsubscribed or who did not confirm, and those \
that were corrected, until this command removes them. It writes new files without them, puts these in the place of the old ones in one step, and removes the old ones. Sign-ups \
wait meanwhile. The disk needs room for a second copy of the list. If the command is interrupted, the list is \
complete, and the next start removes the rest.

A list in a database is compacted by the database: run VACUUM (FULL) there.")]
pub(super) struct CompactArgs {
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(CompactArgs { common }: &CompactArgs) -> anyhow::Result<()> {
    let location = common.store.announce_location()?;
    let list = location.open()?;
    let Compaction {
        bytes_before,
        bytes_after,
    } = list.call(|list| list.compact())?;
    let pending = list.call(|list| list.pending_events())?;
    drop(list);
    let pending_events = pending.map_or(0, |it| it.count);
    let json = json!({
        "bytes_before": bytes_before,
        "bytes_after": bytes_after,
        "pending_events": pending_events,
    });
    common.output.print(&json, |out| {
        let now = format!("{location}, which now has {bytes_after} bytes");
        if pending_events == 0 {
            return writeln!(out, "no erased address is left in {now}");
        }
        let events = counted(pending_events, "event that waits", "events that wait");
        writeln!(
            out,
            "an erased address may be left in {events} for the webhook, and nowhere else in {now}; run this again later"
        )
    })
}
