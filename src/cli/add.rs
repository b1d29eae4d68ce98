//! `landing add`: adds people to the list by hand.

use std::time::SystemTime;

use anyhow::bail;
use serde_json::json;

use super::{address::parse_new_address, store_location::CommonArgs};
use crate::waitlist::{Email, JoinOutcome, WaitlistEntry};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing add ann@example.com bob@example.com

Add people only at their wish. Those who are on the list already are not changed. Somebody who has left can only join \
again on the page, or after `landing unsubscribe --undo`. Creates the list if there is none.")]
pub(super) struct AddArgs {
    /// Addresses to add
    #[arg(required = true, value_name = "ADDRESS", value_parser = parse_new_address)]
    addresses: Vec<Email>,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &AddArgs) -> anyhow::Result<()> {
    let list = args.common.store.announce_location()?.open_or_create()?;
    let now = SystemTime::now();
    let entries = args.addresses.iter().cloned();
    let entries: Vec<_> = entries.map(|it| WaitlistEntry::new(it, now)).collect();
    let outcomes = list.call_in_parts(&entries, |list, part| list.join_all(part.to_vec()))?;
    let lines = args
        .addresses
        .iter()
        .zip(&outcomes)
        .map(|(email, outcome)| {
            let (email, (key, text)) = (email.as_typed(), describe(*outcome));
            let json = json!({ "email": email, "outcome": key });
            (json, format!("{email} {text}"))
        });
    args.common.output.print_lines(&lines.collect::<Vec<_>>())?;
    let left = outcomes.iter().filter(|it| **it == JoinOutcome::Suppressed);
    match left.count() {
        0 => Ok(()),
        1 => bail!("1 person was not added"),
        count => bail!("{count} people were not added"),
    }
}

fn describe(outcome: JoinOutcome) -> (&'static str, &'static str) {
    match outcome {
        JoinOutcome::New => ("added", "is added"),
        JoinOutcome::AlreadyListed => ("already_listed", "is on the list already"),
        JoinOutcome::Suppressed => (
            "suppressed",
            "left this list and is not added; only the person can join again, on the page",
        ),
    }
}
