//! `landing unsubscribe`: takes people off the list who do not want mail, and keeps them off it.

use anyhow::bail;
use serde_json::json;

use super::{
    people_args::{PeopleArgs, take_off},
    store_location::{StoreArgs, StoreLocation},
    terminal::output::OutputArgs,
};
use crate::waitlist::{Email, Erasure};

#[derive(clap::Args)]
#[command(override_usage = "\
landing unsubscribe [OPTIONS] <EMAIL>...
       landing unsubscribe [OPTIONS] --file <FILE> [EMAIL]...")]
#[command(after_help = "\
Examples:
  landing unsubscribe ann@example.com
  landing unsubscribe --file unsubscribed.csv --dry-run
  landing unsubscribe --undo ann@example.com

The people are erased, and the list keeps a keyed hash of each address. So no import adds them again: only the person can \
join again, on the page. An address that is not on the list is kept off it too.

After --undo, imports may add the address again. It does not bring back the person, who is erased.")]
pub(super) struct UnsubscribeArgs {
    #[command(flatten)]
    people: PeopleArgs,
    /// Let imports and `landing add` add these addresses again, after a mistake
    #[arg(long)]
    undo: bool,
    /// Print who would be unsubscribed, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &UnsubscribeArgs) -> anyhow::Result<()> {
    let emails = args.people.read()?;
    let location = args.store.announce_location()?;
    if args.undo {
        return undo(&emails, &location, args.dry_run, &args.output);
    }
    unsubscribe(&emails, &location, args.dry_run, &args.output)
}

/// Unsubscribes people, and prints who was on the list.
pub(super) fn unsubscribe(
    emails: &[Email],
    location: &StoreLocation,
    dry_run: bool,
    output: &OutputArgs,
) -> anyhow::Result<()> {
    check_valid(emails)?;
    take_off(emails, location, Erasure::Suppress, dry_run, output).map(drop)
}

/// Lets imports add addresses again.
fn undo(
    emails: &[Email],
    location: &StoreLocation,
    dry_run: bool,
    output: &OutputArgs,
) -> anyhow::Result<()> {
    check_valid(emails)?;
    let list = location.open()?;
    let suppressions = list.suppressions()?;
    if !dry_run {
        list.call_in_parts(emails, |list, part| list.lift(part))?;
    }
    drop(list);
    let each = || {
        let emails = emails.iter();
        emails.map(|it| (it.as_typed(), suppressions.contains(it)))
    };
    let json = each()
        .map(|(email, was_suppressed)| json!({ "email": email, "was_suppressed": was_suppressed }));
    output.print_list(json, |out| {
        for (email, was_suppressed) in each() {
            match (was_suppressed, dry_run) {
                (false, _) => writeln!(out, "{email} is not among the people who have left")?,
                (true, false) => writeln!(out, "{email} can be imported again")?,
                (true, true) => writeln!(out, "{email} could be imported again")?,
            }
        }
        Ok(())
    })?;
    let missing = each().filter(|(_, was_suppressed)| !was_suppressed).count();
    if missing > 0 {
        bail!(
            "not among the people who have left: {missing} of {}; check the spelling",
            emails.len()
        );
    }
    Ok(())
}

/// Checks that addresses are valid. An invalid one would be suppressed although nobody has it.
fn check_valid(emails: &[Email]) -> anyhow::Result<()> {
    for email in emails {
        let typed = email.as_typed();
        if let Err(invalid) = Email::parse(typed) {
            bail!(
                "nothing was changed: {typed} is not an address: {invalid}; correct it, or use `landing erase`"
            );
        }
    }
    Ok(())
}
