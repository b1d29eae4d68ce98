//! `landing erase`: erases people from the list permanently.

use anyhow::bail;

use super::{
    people_args::{PeopleArgs, take_off},
    store_location::StoreArgs,
    terminal::{
        output::{OutputArgs, counted},
        question::{ask, can_ask},
    },
    unsubscribe::unsubscribe,
};
use crate::waitlist::Erasure;

#[derive(clap::Args)]
#[command(override_usage = "\
landing erase [OPTIONS] <EMAIL>...
       landing erase [OPTIONS] --file <FILE> [EMAIL]...")]
#[command(after_help = "\
Examples:
  landing erase ann@example.com
  landing erase --file gone.csv --dry-run

For people who do not want mail, use `landing unsubscribe`: it also keeps imports from adding them again. On a terminal, \
the command asks which of the two you mean, unless you use --yes.

An erased address is removed from the count, the list and all later exports at once. Any spelling of the \
address matches. The erasure is durable when the command ends. The bytes of the address stay in the \
store's files until `landing compact` removes them. Earlier exports are your own files and are not changed.")]
pub(super) struct EraseArgs {
    #[command(flatten)]
    people: PeopleArgs,
    /// Print who would be erased, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask whether to unsubscribe the people instead
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const QUESTION: &str = "For people who do not want mail, unsubscribe keeps a hash of the address, and no import adds them \
                        again. After erase, an import may add them. (u)nsubscribe, (e)rase, or (c)ancel?";

pub(super) fn run(args: &EraseArgs) -> anyhow::Result<()> {
    let emails = args.people.read()?;
    let location = args.store.announce_location()?;
    if can_ask() && !args.dry_run && !args.yes {
        match ask(QUESTION, "uec")? {
            Some('u') => return unsubscribe(&emails, &location, args.dry_run, &args.output),
            Some('e') => {}
            _ => bail!("nothing was changed"),
        }
    }
    let erased = take_off(
        &emails,
        &location,
        Erasure::Complete,
        args.dry_run,
        &args.output,
    )?;
    let missing = erased.iter().filter(|was_listed| !**was_listed).count();
    if missing > 0 {
        let addresses = counted(erased.len() as u64, "address", "addresses");
        bail!("not on the list in {location}: {missing} of {addresses}; check the spelling");
    }
    Ok(())
}
