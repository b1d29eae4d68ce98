//! `landing erase`: erases people from the list permanently.

use std::collections::HashSet;

use anyhow::bail;
use serde_json::json;

use super::{store_location::StoreArgs, terminal::output::OutputArgs};
use crate::waitlist::Email;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing erase ann@example.com

An erased address is removed from the count, the list and all later exports at once. Any spelling of the \
address matches. The erasure is durable when the command ends. The bytes of the address stay in the \
store's log until that part is overwritten, at an unpredictable time. If they must not stay: stop the \
server, export the list, import it with --store into a new directory, delete the old one, and serve the \
new one. Earlier exports are your own files and are not changed.")]
pub(super) struct EraseArgs {
    /// Addresses to erase, in any spelling
    #[arg(required = true, value_name = "EMAIL")]
    emails: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &EraseArgs) -> anyhow::Result<()> {
    // Not validated, so that invalid addresses that `check` reports can be erased too.
    let mut emails: Vec<_> = args
        .emails
        .iter()
        .map(|typed| Email::from_stored(typed.trim()))
        .collect();
    let mut seen = HashSet::new();
    emails.retain(|email| seen.insert(email.key()));
    let erased = args.store.location()?.open()?.erase(&emails)?;
    let each = emails.iter().map(Email::as_typed).zip(&erased);
    let json = each
        .clone()
        .map(|(email, was_listed)| json!({ "email": email, "erased": was_listed }));
    args.output.print(&json.collect::<Vec<_>>(), |out| {
        for (email, was_listed) in each {
            let result = if *was_listed {
                "is erased"
            } else {
                "is not on the list"
            };
            writeln!(out, "{email} {result}")?;
        }
        Ok(())
    })?;
    let missing = erased.iter().filter(|was_listed| !**was_listed).count();
    if missing > 0 {
        bail!(
            "{missing} of {} addresses not found; check the spelling",
            erased.len()
        );
    }
    Ok(())
}
