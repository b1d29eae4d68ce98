//! `landing erase`: erases people from the list permanently.

use std::{
    collections::HashSet,
    io::{self, IsTerminal, Read, Write},
    path::PathBuf,
};

use anyhow::{Context, bail};
use serde_json::json;

use super::{
    address::{parse_listed_address, parse_new_address, why_not_listed},
    import::{input_file, read_addresses as read_file},
    store_location::{StoreArgs, StoreLocation},
    terminal::output::OutputArgs,
};
use crate::waitlist::{Email, Erasure};

#[derive(clap::Args)]
#[command(override_usage = "\
landing erase [OPTIONS] <EMAIL>...
       landing erase [OPTIONS] --file <FILE> [EMAIL]...")]
#[command(after_help = "\
Examples:
  landing erase ann@example.com
  landing erase --file unsubscribed.csv --dry-run
  landing erase --suppress ann@example.com

An erased address is removed from the count, the list and all later exports at once. Any spelling of the \
address matches. The erasure is durable when the command ends. The bytes of the address stay in the \
store's files until `landing compact` removes them. Earlier exports are your own files and are not changed.

With --suppress, the list keeps a keyed hash of each address, so that no import adds the person again. Only the person \
can join again, on the page.")]
pub(super) struct EraseArgs {
    /// Addresses to erase, in any spelling
    #[arg(required_unless_present = "file", value_name = "EMAIL", value_parser = parse_listed_address)]
    emails: Vec<Email>,
    /// File of people to erase, whatever its other columns say: one address per line, or a CSV file with a column
    /// of addresses; - is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Also keep the addresses off the list: no import adds them again. An address that is not on the list is
    /// suppressed too
    #[arg(long)]
    suppress: bool,
    /// Print who would be erased, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &EraseArgs) -> anyhow::Result<()> {
    let mut emails = args.emails.clone();
    if let Some(file) = &args.file {
        let name = input_file::display_name(Some(&**file).filter(|file| *file != "-"));
        let read = read_addresses(args).with_context(|| format!("{name}: nothing was erased"))?;
        emails.extend(read);
    }
    let mut seen = HashSet::new();
    emails.retain(|email| seen.insert(email.key()));
    if args.suppress {
        check_valid(&emails)?;
    }
    let location = args.store.announce_location()?;
    let erased = if args.dry_run {
        location.open_to_read()?.are_listed(&emails)?
    } else {
        let erasure = if args.suppress {
            Erasure::Suppress
        } else {
            Erasure::Complete
        };
        location.open()?.erase(&emails, erasure)?
    };
    let would_be = if args.dry_run { "would_be_" } else { "" };
    let each = emails.iter().zip(&erased);
    let json = each.clone().map(|(email, was_listed)| {
        let mut json = json!({ "email": email.as_typed() });
        json[format!("{would_be}erased")] = (*was_listed).into();
        if args.suppress {
            json[format!("{would_be}suppressed")] = true.into();
        }
        json
    });
    args.output.print(&json.collect::<Vec<_>>(), |out| {
        for (email, was_listed) in each {
            let typed = email.as_typed();
            let suppressed = if args.suppress { " and suppressed" } else { "" };
            match (was_listed, args.dry_run) {
                (true, false) => writeln!(out, "{typed} is erased{suppressed}")?,
                (true, true) => writeln!(out, "{typed} would be erased{suppressed}")?,
                (false, false) if args.suppress => {
                    writeln!(out, "{typed} was not on the list; it is suppressed")?;
                }
                (false, true) if args.suppress => {
                    writeln!(out, "{typed} is not on the list; it would be suppressed")?;
                }
                (false, _) => writeln!(out, "{}", why_not_listed(email, "the list"))?,
            }
        }
        Ok(())
    })?;
    let is_directory = matches!(location, StoreLocation::Directory(_));
    if is_directory && !args.dry_run && erased.contains(&true) && io::stderr().is_terminal() {
        // The erasure is done, so an error does not matter.
        let _ = writeln!(
            io::stderr(),
            "landing: the files of the list contain the addresses until `landing compact` removes them"
        );
    }
    let missing = erased.iter().filter(|was_listed| !**was_listed).count();
    if missing > 0 && !args.suppress {
        let others = match (args.dry_run, missing < erased.len()) {
            (true, _) | (false, false) => "nothing was changed",
            (false, true) => "the others are erased",
        };
        let noun = if erased.len() == 1 {
            "address"
        } else {
            "addresses"
        };
        bail!(
            "not on the list in {location}: {missing} of {} {noun}; {others}; check the spelling",
            erased.len()
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
                "nothing was erased: {typed} is not an address: {invalid}; correct it, or erase it without --suppress"
            );
        }
    }
    Ok(())
}

/// Reads the addresses of `--file`.
fn read_addresses(args: &EraseArgs) -> anyhow::Result<Vec<Email>> {
    let path = args.file.as_deref().filter(|file| *file != "-");
    let file = input_file::open(path).context("cannot read the file")?;
    let source = || Ok(Box::new(file.try_clone()?) as Box<dyn Read>);
    let addresses = read_file(&source)?;
    if addresses.is_empty() {
        bail!("the file has no addresses; write one address per line");
    }
    let emails = addresses.iter().map(|(line, typed)| {
        // The message has no address, so that it can be logged.
        parse_new_address(typed).with_context(|| format!("line {line}"))
    });
    emails.collect()
}
