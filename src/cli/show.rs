//! `landing show`: prints everything that is stored about a person.

use std::io::{self, Write};

use anyhow::bail;
use serde::Serialize;

use super::{
    address::parse_listed_address,
    delivery_counts::ShownDelivery,
    export_format::EntryFields,
    line::{self, Waiting},
    store_location::CommonArgs,
    time::rfc3339,
    waitlist_handle::WaitlistHandle,
};
use crate::waitlist::{Email, Source};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_at: Option<String>,
    /// What the people have as source who join by the person's invitation link.
    #[serde(skip_serializing_if = "Option::is_none")]
    invites_as: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invited_by: Option<&'a str>,
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
    let key = list.list_key()?;
    let line = line::read(&list)?;
    let messages = find_messages(&list, &args.email)?;
    let suppressed = list.is_suppressed(&args.email)?;
    // The reader of the output may be slow, and must not keep the list open.
    drop(list);
    let is_own = |it: &&Waiting| it.entry.email.key() == args.email.key();
    let own = line.iter().find(is_own);
    let source = own.and_then(|it| it.entry.source.as_ref());
    let code = Source::of_invited(&key, &args.email);
    let has_invited = line
        .iter()
        .any(|it| it.entry.source.as_ref() == Some(&code));
    let is_inviter = |it: &&Waiting| Some(&Source::of_invited(&key, &it.entry.email)) == source;
    let inviter = line.iter().find(is_inviter);
    let unlisted = EntryFields {
        email: args.email.as_typed(),
        ..EntryFields::default()
    };
    let shown = ShownPerson {
        entry: own.map_or(unlisted, |it| EntryFields {
            invitations: has_invited.then_some(it.invitations),
            ..EntryFields::from(&it.entry)
        }),
        asked_at: own.and_then(|it| it.entry.asked_at).map(rfc3339),
        invites_as: has_invited.then(|| code.to_string()),
        invited_by: inviter.map(|it| it.entry.email.as_typed()),
        suppressed,
        messages,
    };
    let has_traces = shown.suppressed || has_invited || !shown.messages.is_empty();
    if shown.entry.joined_at.is_none() && !has_traces {
        bail!(
            "{} is not on the list in {location}; nothing is stored about this address, also no hash of it",
            args.email.as_typed()
        );
    }
    args.common.output.print(&shown, |out| shown.write(out))
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
            invitations,
        } = &self.entry;
        let invitations = invitations.map(|it| it.to_string());
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
            ("asked at", self.asked_at.as_deref()),
            ("confirmed at", confirmed_at.as_deref()),
            ("invited by", self.invited_by),
            ("invites as", self.invites_as.as_deref()),
            ("invitations", invitations.as_deref()),
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
