//! `landing erase`: takes people off the list, for good.

use serde_json::json;

use super::{output::Output, place::Place};
use crate::waitlist::Email;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing erase ann@example.com

Whoever is erased is off the count, the list and all later exports at once, in whatever spelling the \
address is written here, and that is on the disk when this ends. The bytes of the address stay in the \
store's log until that part of it is written over, which nobody can time. Where they may not, export \
the list, import it into a new directory, serve that, and delete the old one. Earlier exports are files \
of yours.")]
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
    let emails = options.emails.iter().map(|typed| {
        Email::parse(typed)
            .map_err(|why| format!("{typed} is no address: {why}; nothing was erased"))
    });
    let emails: Vec<_> = emails.collect::<Result<_, _>>()?;
    let erased = options.place.open()?.erase(&emails)?;
    let gone = erased.iter().filter(|gone| **gone).count();
    let each = options.emails.iter().zip(&erased);
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
    if gone < erased.len() {
        return Err(format!(
            "{} of {} were not on the list: look at how they are written",
            erased.len() - gone,
            erased.len()
        ));
    }
    Ok(())
}
