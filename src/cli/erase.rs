//! `landing erase`: erases people from the list permanently.

use anyhow::{Context, bail};

use super::{
    people_args::{Change, PeopleArgs},
    terminal::question::{ask, can_ask},
};

#[derive(clap::Args)]
#[command(override_usage = "\
landing erase [OPTIONS] <EMAIL>...
       landing erase [OPTIONS] --file <FILE> [EMAIL]...
       landing erase [OPTIONS] --invited-by <EMAIL>")]
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
    /// Do not ask whether to unsubscribe the people instead
    #[arg(long)]
    yes: bool,
}

const QUESTION: &str = "For people who do not want mail, unsubscribe keeps a hash of the address, and no import adds them \
                        again. After erase, an import may add them. (u)nsubscribe, (e)rase, or (c)ancel?";

pub(super) fn run(args: &EraseArgs) -> anyhow::Result<()> {
    args.people.change(|| {
        if args.people.dry_run || args.yes || !can_ask() {
            return Ok(Change::Erase);
        }
        match ask(QUESTION, "uec").context("nothing was changed")? {
            'u' => Ok(Change::Unsubscribe),
            'e' => Ok(Change::Erase),
            _ => bail!("nothing was changed"),
        }
    })
}
