//! `landing correct`: gives a person on the list another address.

use anyhow::bail;
use serde_json::json;

use super::{
    address::{parse_listed_address, parse_new_address},
    store_location::CommonArgs,
};
use crate::{
    exit::print_stderr,
    waitlist::{CorrectOutcome, Email},
};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing correct ann@exmaple.com ann@example.com

The person keeps the sign-up time and the place on the list. The correction is durable when the command ends, and \
nobody ever sees the list without the person.")]
pub(super) struct CorrectArgs {
    /// Address on the list, in any spelling
    #[arg(value_name = "OLD", value_parser = parse_listed_address)]
    old: Email,
    /// The right address; another spelling of the same address is stored as typed
    #[arg(value_name = "NEW", value_parser = parse_new_address)]
    new: Email,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(CorrectArgs { old, new, common }: &CorrectArgs) -> anyhow::Result<()> {
    let location = common.store.announce_location()?;
    let list = location.open()?;
    let outcome = list.call(|list| list.correct(old, new))?;
    let (old_typed, new_typed) = (old.as_typed(), new.as_typed());
    match outcome {
        CorrectOutcome::Corrected => {
            if list.is_suppressed(new)? {
                print_stderr(&format!(
                    "{new_typed} is suppressed, so `landing send` skips it; if that is a mistake, run \
                     `landing unsubscribe --undo {new_typed}`"
                ));
            }
            common
                .output
                .print(&json!({ "old": old_typed, "new": new_typed }), |out| {
                    writeln!(out, "{old_typed} is now {new_typed}")
                })
        }
        CorrectOutcome::NotListed => {
            bail!("{old_typed} is not on the list in {location}; check the spelling")
        }
        CorrectOutcome::NewAddressListed => bail!(
            "{new_typed} is on the list already, as another person; nothing was changed; to remove {old_typed}, run \
             `landing erase {old_typed}`"
        ),
    }
}
