//! `landing erase`: takes people off the list, for good.

use std::collections::HashSet;

use serde_json::json;

use super::{store_location::StoreArgs, terminal::output::OutputArgs};
use crate::waitlist::Email;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing erase ann@example.com

Whoever is erased is off the count, the list and all later exports at once, in whatever spelling the \
address is written here, and that is on the disk when this ends. The bytes of the address stay in the \
store's log until that part of it is written over, which nobody can time. Where they may not: stop the \
server, export the list, import it with --store into a new directory, delete the old one, and serve the \
new one. Earlier exports are files of yours.")]
pub(super) struct EraseArgs {
    /// Addresses, in any spelling
    #[arg(required = true, value_name = "EMAIL")]
    emails: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &EraseArgs) -> Result<(), String> {
    // Not parsed: what `check` finds that is no address must be got rid of too.
    let mut emails: Vec<_> = args
        .emails
        .iter()
        .map(|typed| Email::from_stored(typed.trim()))
        .collect();
    let mut named = HashSet::new();
    emails.retain(|email| named.insert(email.key()));
    let erased = args.store.location().open()?.erase(&emails)?;
    let each = emails.iter().map(Email::as_typed).zip(&erased);
    let json = each
        .clone()
        .map(|(email, was_listed)| json!({ "email": email, "erased": was_listed }));
    args.output.print(&json.collect::<Vec<_>>(), |out| {
        for (email, was_listed) in each {
            let what = if *was_listed {
                "is erased"
            } else {
                "is not on the list"
            };
            writeln!(out, "{email} {what}")?;
        }
        Ok(())
    })?;
    let missing = erased.iter().filter(|was_listed| !**was_listed).count();
    if missing > 0 {
        return Err(format!(
            "{missing} of {} were not on the list: look at how they are written",
            erased.len()
        ));
    }
    Ok(())
}
