//! `landing show`: prints everything that is stored about a person.

use std::io::{self, Write};

use anyhow::bail;
use serde::Serialize;

use super::{
    address::parse_listed_address, delivery_counts::ShownDelivery, export_format::EntryFields,
    store_location::CommonArgs, waitlist_handle::WaitlistHandle,
};
use crate::waitlist::{Email, Selection, Source};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing show ann@example.com

Any spelling of the address matches. Use it to answer a person who asks what you have stored about them (GDPR, \
article 15). Of a person who has left, the list may keep a keyed hash of the address: that the address is suppressed, and \
which messages it was sent. The files of the list have the bytes of an erased address until `landing compact`.")]
pub(super) struct ShowArgs {
    /// Address of the person, in any spelling
    #[arg(value_name = "EMAIL", value_parser = parse_listed_address)]
    email: Email,
    #[command(flatten)]
    common: CommonArgs,
}

/// Everything that is stored about a person.
#[derive(Serialize)]
struct ShownPerson<'a> {
    #[serde(flatten)]
    entry: EntryFields<'a>,
    /// The source of the people who joined by this person's link, if anybody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    invite_code: Option<String>,
    /// The list has a hash of the address, so no import adds it.
    suppressed: bool,
    /// The messages to the hash of the address.
    messages: Vec<ShownMessage>,
}

#[derive(Serialize)]
struct ShownMessage {
    id: String,
    #[serde(flatten)]
    delivery: ShownDelivery,
}

pub(super) fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let location = args.common.store.announce_location()?;
    let list = location.open()?;
    let entry = list.person(&args.email)?;
    let messages = find_messages(&list, &args.email)?;
    let invite_code = find_invite_code(&list, &args.email)?;
    let suppressed = list.is_suppressed(&args.email)?;
    // The reader of the output may be slow, and must not keep the list open.
    drop(list);
    let unlisted = EntryFields {
        email: args.email.as_typed(),
        ..EntryFields::default()
    };
    let shown = ShownPerson {
        entry: entry.as_ref().map_or(unlisted, EntryFields::from),
        invite_code,
        suppressed,
        messages,
    };
    let has_hash = shown.suppressed || shown.invite_code.is_some() || !shown.messages.is_empty();
    if shown.entry.joined_at.is_none() && !has_hash {
        bail!(
            "{} is not on the list in {location}; nothing is stored about this address, also no hash of it",
            args.email.as_typed()
        );
    }
    args.common.output.print(&shown, |out| shown.write(out))
}

/// Returns the code of a person's invitations, also of one who has left, if somebody has joined by it.
fn find_invite_code(list: &WaitlistHandle, inviter: &Email) -> anyhow::Result<Option<String>> {
    let code = Source::of_invited(&list.list_key()?, inviter);
    let selection = Selection {
        source: Some(code.clone()),
        ..Selection::default()
    };
    let suppressions = list.suppressions()?;
    let mut departures = suppressions.departures();
    let has_left = departures.any(|it| it.source.as_ref() == Some(&code));
    let is_used = has_left || list.entries(selection)?.count > 0;
    Ok(is_used.then(|| code.to_string()))
}

/// Returns the messages to a person, also to one who has left.
fn find_messages(list: &WaitlistHandle, email: &Email) -> anyhow::Result<Vec<ShownMessage>> {
    let hash = list.list_key()?.hash(email.key());
    let mut found = Vec::new();
    for message in list.messages()? {
        let deliveries = list.deliveries(&message.id)?;
        let own = deliveries.iter().filter(|it| it.recipient == hash);
        found.extend(own.map(|delivery| ShownMessage {
            id: message.id.to_string(),
            delivery: delivery.into(),
        }));
    }
    Ok(found)
}

impl ShownPerson<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = |name: &str, value: &str| writeln!(out, "{name:12}  {value}");
        let EntryFields {
            email,
            joined_at,
            source,
            confirmed_at,
            asked_at,
            invitations: _,
        } = &self.entry;
        match joined_at {
            Some(_) => line("address", email)?,
            None => line(
                "address",
                &format!("{email} is not on the list; it has a keyed hash of the address:"),
            )?,
        }
        for (name, value) in [
            ("joined at", joined_at.as_deref()),
            ("source", *source),
            ("asked at", asked_at.as_deref()),
            ("confirmed at", confirmed_at.as_deref()),
            ("invite code", self.invite_code.as_deref()),
        ] {
            value.map_or(Ok(()), |value| line(name, value))?;
        }
        if self.suppressed {
            line("suppressed", "yes: no import adds the address")?;
        }
        for ShownMessage { id, delivery } in &self.messages {
            let parts = [
                Some(id.clone()),
                Some(delivery.state.to_owned()),
                delivery.since.clone(),
                delivery.reply.clone(),
            ];
            let parts: Vec<_> = parts.into_iter().flatten().collect();
            line("message", &parts.join("  "))?;
        }
        Ok(())
    }
}
