//! `landing show`: prints everything that is stored about a person.

use std::io::{self, Write};

use anyhow::bail;
use serde::Serialize;
use serde_json::json;

use super::{
    address::{parse_listed_address, why_not_listed},
    store_location::StoreArgs,
    terminal::output::OutputArgs,
    time::rfc3339,
};
use crate::waitlist::{AddressFilter, Email, Selection, Source, WaitlistEntry};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing show ann@example.com

Any spelling of the address matches. Use it to answer a person who asks what you have stored about them (GDPR, \
article 15).")]
pub(super) struct ShowArgs {
    /// Address of the person, in any spelling
    #[arg(value_name = "EMAIL", value_parser = parse_listed_address)]
    email: Email,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Everything that is stored about a person.
#[derive(Serialize)]
struct ShownEntry<'a> {
    email: &'a str,
    joined_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_at: Option<String>,
    /// The list also has a hash of the address, after a correction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    suppressed: bool,
}

pub(super) fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let location = args.store.announce_location()?;
    let list = location.open_to_read()?;
    let selection = Selection {
        addresses: AddressFilter::Address(args.email.clone()),
        ..Selection::default()
    };
    let entries = list
        .entries(selection)?
        .entries
        .collect::<Result<Vec<_>, _>>()?;
    let is_suppressed = list.is_suppressed(&args.email)?;
    // The reader of the output may be slow, and must not keep the list open.
    drop(list);
    if entries.is_empty() && is_suppressed {
        let email = args.email.as_typed();
        let json = json!({ "email": email, "suppressed": true });
        return args.output.print(&json, |out| {
            writeln!(
                out,
                "{email} is not on the list; it is suppressed: the list has a hash of the address, and no import adds it"
            )
        });
    }
    if entries.is_empty() {
        bail!(
            "{}; nothing is stored about this address",
            why_not_listed(&args.email, &format!("the list in {location}"))
        );
    }
    let shown: Vec<_> = entries
        .iter()
        .map(|entry| ShownEntry::new(entry, is_suppressed))
        .collect();
    // An address is on the list once, unless `check` reports it.
    args.output.print(&shown[0], |out| {
        shown.iter().try_for_each(|entry| entry.write(out))
    })
}

impl<'a> ShownEntry<'a> {
    fn new(entry: &'a WaitlistEntry, is_suppressed: bool) -> Self {
        Self {
            email: entry.email.as_typed(),
            joined_at: rfc3339(entry.joined_at),
            source: entry.source.as_ref().map(Source::as_str),
            asked_at: entry.asked_at.map(rfc3339),
            confirmed_at: entry.confirmed_at.map(rfc3339),
            suppressed: is_suppressed,
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self {
            email,
            joined_at,
            source,
            asked_at,
            confirmed_at,
            suppressed,
        } = self;
        writeln!(out, "address       {email}")?;
        writeln!(out, "joined at     {joined_at}")?;
        if let Some(source) = source {
            writeln!(out, "source        {source}")?;
        }
        if let Some(asked_at) = asked_at {
            writeln!(out, "asked at      {asked_at}")?;
        }
        if let Some(confirmed_at) = confirmed_at {
            writeln!(out, "confirmed at  {confirmed_at}")?;
        }
        if *suppressed {
            writeln!(out, "suppressed    yes")?;
        }
        Ok(())
    }
}
