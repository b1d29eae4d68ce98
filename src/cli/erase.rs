//! `landing erase`: erases people from the list permanently.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::bail;
use serde_json::json;

use super::{
    address::why_not_listed,
    people_args::{PeopleArgs, mention_compaction},
    store_location::{StoreArgs, StoreLocation},
    terminal::output::{OutputArgs, counted},
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

pub(super) fn run(args: &EraseArgs) -> anyhow::Result<()> {
    let emails = args.people.read()?;
    let location = args.store.announce_location()?;
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if is_terminal && !args.dry_run && !args.yes && wants_to_unsubscribe()? {
        return unsubscribe(&emails, &location, args.dry_run, &args.output);
    }
    let erased = match args.dry_run {
        true => location.open_to_read()?.are_listed(&emails)?,
        false => location.open()?.erase(&emails, Erasure::Complete)?,
    };
    let each = || emails.iter().zip(&erased);
    let json = each()
        .map(|(email, was_listed)| json!({ "email": email.as_typed(), "erased": was_listed }));
    args.output.print_list(json, |out| {
        for (email, was_listed) in each() {
            let typed = email.as_typed();
            match (was_listed, args.dry_run) {
                (true, false) => writeln!(out, "{typed} is erased")?,
                (true, true) => writeln!(out, "{typed} would be erased")?,
                (false, _) => writeln!(out, "{}", why_not_listed(email, "the list"))?,
            }
        }
        Ok(())
    })?;
    mention_compaction(&location, args.dry_run, &erased);
    check_all_erased(&erased, args.dry_run, &location)
}

/// Asks on the terminal which of the two commands the owner means.
fn wants_to_unsubscribe() -> anyhow::Result<bool> {
    let mut stderr = io::stderr();
    write!(
        stderr,
        "For people who do not want mail, unsubscribe keeps a hash of the address, and no import adds them again. \
         After erase, an import may add them.\n[u]nsubscribe, [e]rase, or [c]ancel? "
    )?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "u" | "unsubscribe" => Ok(true),
        "e" | "erase" => Ok(false),
        _ => bail!("nothing was changed"),
    }
}

/// Fails if some addresses were not on the list.
fn check_all_erased(
    erased: &[bool],
    dry_run: bool,
    location: &StoreLocation,
) -> anyhow::Result<()> {
    let missing = erased.iter().filter(|was_listed| !**was_listed).count();
    if missing == 0 {
        return Ok(());
    }
    let others = match (dry_run, missing < erased.len()) {
        (true, _) | (false, false) => "nothing was changed",
        (false, true) => "the others are erased",
    };
    let addresses = counted(erased.len() as u64, "address", "addresses");
    bail!("not on the list in {location}: {missing} of {addresses}; {others}; check the spelling")
}
