//! `landing erase`: takes people off the list, for good.

use std::collections::HashSet;

use serde_json::json;

use super::{store_location::Place, terminal::output::Output};
use crate::waitlist::Email;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing erase ann@example.com

Whoever is erased is off the count, the list and all later exports at once, in whatever spelling the \
address is written here, and that is on the disk when this ends. The bytes of the address stay in the \
store's log until that part of it is written over, which nobody can time. Where they may not: stop the \
server, export the list, import it with --store into a new directory, delete the old one, and serve the \
new one. Earlier exports are files of yours.")]
pub(super) struct Erase {
    /// Addresses, in any spelling
    #[arg(required = true, value_name = "EMAIL")]
    emails: Vec<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(options: &Erase) -> Result<(), String> {
    // Not parsed: what `check` finds that is no address must be got rid of too.
    let mut emails: Vec<_> = options
        .emails
        .iter()
        .map(|typed| Email::kept(typed.trim()))
        .collect();
    let mut named = HashSet::new();
    emails.retain(|email| named.insert(email.key()));
    let erased = options.place.store().open()?.erase(&emails)?;
    let each = emails.iter().map(Email::as_typed).zip(&erased);
    let json = each
        .clone()
        .map(|(email, gone)| json!({ "email": email, "erased": gone }));
    options.output.print(&json.collect::<Vec<_>>(), |out| {
        for (email, gone) in each {
            let what = if *gone {
                "is erased"
            } else {
                "is not on the list"
            };
            writeln!(out, "{email} {what}")?;
        }
        Ok(())
    })?;
    let missing = erased.iter().filter(|gone| !**gone).count();
    if missing > 0 {
        return Err(format!(
            "{missing} of {} were not on the list: look at how they are written",
            erased.len()
        ));
    }
    Ok(())
}
