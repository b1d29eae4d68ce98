//! The people that `erase` and `unsubscribe` take off the list: addresses on the command line or in a file.

use std::{
    collections::HashSet,
    io::{self, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{
    address::{parse_listed_address, parse_new_address},
    import::{input_file, read_addresses},
    store_location::StoreLocation,
};
use crate::waitlist::Email;

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
    let file = input_file::open(path).context("cannot read the file")?;
    let source = || Ok(Box::new(file.try_clone()?) as Box<dyn Read>);
    let addresses = read_addresses(&source)?;
    if addresses.is_empty() {
        bail!("the file has no addresses; write one address per line");
    }
    let emails = addresses.iter().map(|(line, typed)| {
        // The message has no address, so that it can be logged.
        parse_new_address(typed).with_context(|| format!("line {line}"))
    });
    emails.collect()
}

/// Says on a terminal that the files have erased addresses until they are compacted.
pub(super) fn mention_compaction(location: &StoreLocation, dry_run: bool, erased: &[bool]) {
    let is_directory = matches!(location, StoreLocation::Directory(_));
    if is_directory && !dry_run && erased.contains(&true) && io::stderr().is_terminal() {
        // The erasure is done, so an error does not matter.
        let _ = writeln!(
            io::stderr(),
            "landing: the files of the list contain the addresses until `landing compact` removes them"
        );
    }
}
