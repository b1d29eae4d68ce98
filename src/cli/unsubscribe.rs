//! `landing unsubscribe`: takes people off the list who do not want mail, and keeps them off it.

use super::people_args::{Change, PeopleArgs};

#[derive(clap::Args)]
#[command(override_usage = "\
landing unsubscribe [OPTIONS] <EMAIL>...
       landing unsubscribe [OPTIONS] --file <FILE> [EMAIL]...
       landing unsubscribe [OPTIONS] --invited-by <EMAIL>")]
#[command(after_help = "\
Examples:
  landing unsubscribe ann@example.com
  landing unsubscribe --file unsubscribed.csv --dry-run
  landing unsubscribe --undo ann@example.com

The people are erased, and the list keeps a keyed hash of each address. So no import adds them again. \
They can join again on the page. An address that is not on the list is kept off it too.

After --undo, imports may add the address again. It does not bring back the person, who is erased.")]
pub(super) struct UnsubscribeArgs {
    #[command(flatten)]
    people: PeopleArgs,
    /// Let imports and `landing add` add these addresses again, after a mistake
    #[arg(long)]
    undo: bool,
}

pub(super) fn run(args: &UnsubscribeArgs) -> anyhow::Result<()> {
    let change = match args.undo {
        true => Change::UndoUnsubscribe,
        false => Change::Unsubscribe,
    };
    args.people.change(|| Ok(change))
}
