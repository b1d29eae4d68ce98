//! The people that `erase` and `unsubscribe` change: addresses on the command line or in a file.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde_json::json;

use super::{
    address::{parse_listed_address, parse_new_address},
    import::{input_file, read_addresses},
    store_location::CommonArgs,
    terminal::output::counted,
    waitlist_handle::WaitlistHandle,
};
use crate::waitlist::{Email, Erasure, Selection, Source};

#[derive(clap::Args)]
pub(super) struct PeopleArgs {
    /// Addresses, in any spelling
    #[arg(required_unless_present_any = ["file", "invited_by"], value_name = "EMAIL", value_parser = parse_listed_address)]
    emails: Vec<Email>,
    /// File of people, whatever its other columns say: one address per line, or a CSV file with a column of addresses;
    /// - is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Everybody who has joined by this person's invitation link, also after the person has left
    #[arg(long, value_name = "EMAIL", value_parser = parse_listed_address)]
    invited_by: Option<Email>,
    /// Print what would be done with each person, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// A change to people.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Change {
    Erase,
    Unsubscribe,
    /// Lets imports add them again.
    UndoUnsubscribe,
}

impl PeopleArgs {
    /// Returns the addresses of the command line and of the file.
    ///
    /// # Errors
    /// If a line of the file has no valid address.
    fn emails(&self) -> anyhow::Result<Vec<Email>> {
        let mut emails = self.emails.clone();
        if let Some(file) = &self.file {
            let path = Some(&**file).filter(|file| *file != "-");
            let name = input_file::display_name(path);
            let read = read_file(path).with_context(|| format!("{name}: nothing was changed"))?;
            emails.extend(read);
        }
        Ok(emails)
    }

    /// Returns the people who have joined by the link of the inviter.
    fn invited(&self, list: &WaitlistHandle) -> anyhow::Result<Vec<Email>> {
        let Some(inviter) = &self.invited_by else {
            return Ok(Vec::new());
        };
        let selection = Selection {
            source: Some(Source::of_invited(&list.list_key()?, inviter)),
            ..Selection::default()
        };
        let invited = list.entries(selection)?.entries.map(|it| Ok(it?.email));
        let invited: Vec<_> = invited.collect::<anyhow::Result<_>>()?;
        if invited.is_empty() {
            bail!(
                "nobody on the list has joined by the link of {}",
                inviter.as_typed()
            );
        }
        Ok(invited)
    }

    /// Changes the people, or says in a dry run what would change. `choose` returns the change, when the people and the
    /// location of the list are known.
    ///
    /// # Errors
    /// Also if somebody was not on the list to erase, or had not left it.
    pub(super) fn change(
        &self,
        choose: impl FnOnce() -> anyhow::Result<Change>,
    ) -> anyhow::Result<()> {
        let mut emails = self.emails()?;
        let location = self.common.store.announce_location()?;
        let change = choose()?;
        let list = location.open()?;
        if change == Change::Unsubscribe {
            check_valid(&emails, &list)?;
        }
        emails.extend(self.invited(&list)?);
        let mut seen = HashSet::new();
        emails.retain(|email| seen.insert(email.key()));
        let emails = &emails;
        let erase = |erasure| list.call_in_parts(emails, |list, part| list.erase(part, erasure));
        let found = match change {
            Change::UndoUnsubscribe => {
                let suppressions = list.suppressions()?;
                if !self.dry_run {
                    list.call_in_parts(emails, |list, part| list.lift(part))?;
                }
                emails.iter().map(|it| suppressions.contains(it)).collect()
            }
            _ if self.dry_run => list.find(emails)?.iter().map(Option::is_some).collect(),
            Change::Erase => erase(Erasure::Complete)?,
            Change::Unsubscribe => erase(Erasure::Suppress)?,
        };
        drop(list);
        let lines = emails.iter().zip(&found).map(|(email, was_found)| {
            let typed = email.as_typed();
            let json = match change {
                Change::UndoUnsubscribe => json!({ "email": typed, "was_suppressed": was_found }),
                _ => json!({
                    "email": typed, "erased": was_found, "suppressed": change == Change::Unsubscribe,
                }),
            };
            (json, describe(typed, change, *was_found, self.dry_run))
        });
        self.common.output.print_lines(&lines.collect::<Vec<_>>())?;
        let missing = found.iter().filter(|was_found| !**was_found).count();
        let addresses = counted(emails.len() as u64, "address", "addresses");
        match change {
            Change::Erase if missing > 0 => {
                bail!("not on the list in {location}: {missing} of {addresses}; check the spelling")
            }
            Change::UndoUnsubscribe if missing > 0 => bail!(
                "not among the people who have left: {missing} of {addresses}; check the spelling"
            ),
            _ => Ok(()),
        }
    }
}

fn read_file(path: Option<&Path>) -> anyhow::Result<Vec<Email>> {
    let addresses = read_addresses(&input_file::read(path)?)?;
    if addresses.is_empty() {
        bail!("the file has no addresses; write one address per line");
    }
    let emails = addresses.iter().map(|(line, typed)| {
        // The message has no address, so that it can be logged.
        parse_new_address(typed).with_context(|| format!("line {line}"))
    });
    emails.collect()
}

/// Describes the change to one person. `was_found` says whether the person was listed, or was suppressed.
fn describe(typed: &str, change: Change, was_found: bool, dry_run: bool) -> String {
    let (is, adds, can) = match dry_run {
        true => ("would be", "would add", "could"),
        false => ("is", "adds", "can"),
    };
    match (change, was_found) {
        (Change::Erase, true) => format!("{typed} {is} erased"),
        (Change::Erase, false) => format!("{typed} is not on the list"),
        (Change::Unsubscribe, true) => format!("{typed} {is} unsubscribed"),
        (Change::Unsubscribe, false) => {
            format!("{typed} is not on the list (check the spelling); no import {adds} the address")
        }
        (Change::UndoUnsubscribe, true) => format!("{typed} {can} be imported again"),
        (Change::UndoUnsubscribe, false) => {
            format!("{typed} is not among the people who have left")
        }
    }
}

/// Checks that each invalid address is on the list: nobody else can have it, so there is nobody to suppress. Only the command
/// line has some, so they are few.
fn check_valid(emails: &[Email], list: &WaitlistHandle) -> anyhow::Result<()> {
    for email in emails {
        let typed = email.as_typed();
        if let Err(invalid) = Email::parse(typed)
            && list.person(email)?.is_none()
        {
            bail!("nothing was changed: {typed} is not an address: {invalid}; correct it");
        }
    }
    Ok(())
}
