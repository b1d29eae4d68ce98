//! The people that `erase` and `unsubscribe` take off the list: addresses on the command line or in a file.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde_json::json;

use super::{
    address::{parse_listed_address, parse_new_address, why_not_listed},
    import::{input_file, read_addresses},
    store_location::StoreLocation,
    terminal::output::OutputArgs,
};
use crate::waitlist::{Email, Erasure};

#[derive(clap::Args)]
pub(super) struct PeopleArgs {
    /// Addresses, in any spelling
    #[arg(required_unless_present = "file", value_name = "EMAIL", value_parser = parse_listed_address)]
    emails: Vec<Email>,
    /// File of people, whatever its other columns say: one address per line, or a CSV file with a column of addresses;
    /// - is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl PeopleArgs {
    /// Returns the addresses, each once.
    ///
    /// # Errors
    /// If a line of the file has no valid address.
    pub(super) fn read(&self) -> anyhow::Result<Vec<Email>> {
        let mut emails = self.emails.clone();
        if let Some(file) = &self.file {
            let path = Some(&**file).filter(|file| *file != "-");
            let name = input_file::display_name(path);
            let read = read_file(path).with_context(|| format!("{name}: nothing was changed"))?;
            emails.extend(read);
        }
        let mut seen = HashSet::new();
        emails.retain(|email| seen.insert(email.key()));
        Ok(emails)
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

/// Takes people off the list, or says in a dry run who would be. Returns for each whether they are, or were, on it.
pub(super) fn take_off(
    emails: &[Email],
    location: &StoreLocation,
    erasure: Erasure,
    dry_run: bool,
    output: &OutputArgs,
) -> anyhow::Result<Vec<bool>> {
    let list = location.open()?;
    let were_listed = match dry_run {
        true => list.are_listed(emails)?,
        false => list.call_in_parts(emails, |list, part| list.erase(part, erasure))?,
    };
    drop(list);
    let suppresses = matches!(erasure, Erasure::Suppress);
    let done = if suppresses { "unsubscribed" } else { "erased" };
    let (is, adds) = match dry_run {
        true => ("would be", "would add"),
        false => ("is", "adds"),
    };
    let each = || emails.iter().zip(&were_listed);
    let json = each().map(|(email, was_listed)| {
        json!({ "email": email.as_typed(), "erased": was_listed, "suppressed": suppresses })
    });
    output.print_list(json, |out| {
        for (email, was_listed) in each() {
            let typed = email.as_typed();
            match (was_listed, suppresses) {
                (true, _) => writeln!(out, "{typed} {is} {done}")?,
                (false, false) => writeln!(out, "{}", why_not_listed(email, "the list"))?,
                (false, true) => writeln!(
                    out,
                    "{typed} is not on the list (check the spelling); no import {adds} the address"
                )?,
            }
        }
        Ok(())
    })?;
    Ok(were_listed)
}
