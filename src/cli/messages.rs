//! `landing messages`: lists the messages that were sent, and the people who did not get one.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
};

use anyhow::bail;
use serde::Serialize;

use super::{
    delivery_counts::{DeliveryCounts, ShownDelivery},
    store_location::CommonArgs,
    terminal::output::{OutputArgs, counted},
    time::rfc3339,
    waitlist_handle::WaitlistHandle,
};
use crate::waitlist::{
    AddressHash, Delivery, DeliveryState, Message, MessageId, Selection, Suppressions,
};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  landing messages
  landing messages launch

Every recipient of a message is in one of these states:

  accepted  the mail server took the message
  refused   the mail server refused it for good; its words follow the address
  deferred  the mail server asked to try again later
  unknown   the connection broke at the last moment, or the program was killed: they may have it
  skipped   the person had left, `send --abandon` gave it up, or the server stopped before sending
  sending   a command is sending it, or was killed less than 20 minutes ago
  waiting   the send was interrupted before

`landing send --continue` goes on with the deferred and waiting ones. The server continues its own, \
confirmation and confirmation-welcome.")]
pub(super) struct MessagesArgs {
    /// Message whose recipients are listed, except those who were accepted
    id: Option<MessageId>,
    #[command(flatten)]
    common: CommonArgs,
}

/// A message with its counts.
#[derive(Serialize)]
struct ListedMessage {
    id: String,
    subject: String,
    begun_at: String,
    recipients: u64,
    #[serde(flatten)]
    counts: DeliveryCounts,
    /// People who got the message, and have unsubscribed.
    unsubscribed: u64,
}

/// A recipient who did not get a message, or may not have got it.
#[derive(Serialize)]
struct ListedDelivery {
    /// `None` if the person has left the list.
    email: Option<String>,
    #[serde(flatten)]
    delivery: ShownDelivery,
}

pub(super) fn run(args: &MessagesArgs) -> anyhow::Result<()> {
    let list = args.common.store.announce_location()?.open()?;
    let mut messages = list.messages()?;
    // Nobody got these.
    messages.retain(|message| message.id != MessageId::confirmation_days());
    if let Some(id) = &args.id {
        if !messages.iter().any(|message| message.id == *id) {
            bail!("no message {id} was sent; `landing messages` lists those that were");
        }
        return print_deliveries(&list, id, &args.common.output);
    }
    let suppressions = list.suppressions()?;
    let listed: Vec<_> = messages
        .iter()
        .map(|message| list_message(&list, message, &suppressions))
        .collect::<anyhow::Result<_>>()?;
    drop(list);
    args.common.output.print_list(&listed, |out| {
        if listed.is_empty() {
            writeln!(out, "no message was sent yet; `landing send` sends one")?;
        }
        for message in &listed {
            message.print(out)?;
        }
        Ok(())
    })
}

fn list_message(
    list: &WaitlistHandle,
    message: &Message,
    suppressions: &Suppressions,
) -> anyhow::Result<ListedMessage> {
    let deliveries = list.deliveries(&message.id)?;
    let mut counts = DeliveryCounts::default();
    let mut unsubscribed = 0;
    for delivery in &deliveries {
        counts.add(delivery.status.state, 1);
        let has_it = delivery.status.state == DeliveryState::Accepted;
        unsubscribed += u64::from(has_it && suppressions.contains_hash(delivery.recipient));
    }
    Ok(ListedMessage {
        id: message.id.to_string(),
        subject: message.subject().to_owned(),
        begun_at: rfc3339(message.begun_at),
        recipients: deliveries.len() as u64,
        counts,
        unsubscribed,
    })
}

impl ListedMessage {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}  {}  {:?}", self.id, self.begun_at, self.subject)?;
        let recipients = counted(self.recipients, "recipient", "recipients");
        writeln!(out, "  {recipients}: {}", self.counts.describe())?;
        match self.unsubscribed {
            0 => Ok(()),
            1 => writeln!(out, "  1 has unsubscribed since"),
            count => writeln!(out, "  {count} have unsubscribed since"),
        }
    }
}

fn print_deliveries(
    list: &WaitlistHandle,
    id: &MessageId,
    output: &OutputArgs,
) -> anyhow::Result<()> {
    let deliveries = list.deliveries(id)?;
    let is_accepted = |delivery: &Delivery| delivery.status.state == DeliveryState::Accepted;
    let deliveries: Vec<_> = deliveries.iter().filter(|it| !is_accepted(it)).collect();
    let addresses = find_addresses(list, &deliveries)?;
    let listed: Vec<_> = deliveries
        .into_iter()
        .map(|delivery| ListedDelivery {
            email: addresses.get(&delivery.recipient).cloned(),
            delivery: delivery.into(),
        })
        .collect();
    output.print_list(&listed, |out| {
        for ListedDelivery { email, delivery } in &listed {
            let email = email.as_deref().unwrap_or("(has left the list)");
            let reply = delivery.reply.as_deref().unwrap_or_default();
            writeln!(out, "{:8}  {email}  {reply}", delivery.state)?;
        }
        if listed.is_empty() {
            writeln!(out, "the mail server has accepted every one that was sent")?;
        }
        Ok(())
    })
}

/// Returns the addresses of recipients who are on the list.
fn find_addresses(
    list: &WaitlistHandle,
    deliveries: &[&Delivery],
) -> anyhow::Result<HashMap<AddressHash, String>> {
    let mut addresses = HashMap::new();
    if deliveries.is_empty() {
        return Ok(addresses);
    }
    let key = list.list_key()?;
    let sought: HashSet<_> = deliveries.iter().map(|it| it.recipient).collect();
    for entry in list.entries(Selection::default())?.entries {
        let email = entry?.email;
        let hash = key.hash(email.key());
        if sought.contains(&hash) {
            addresses.insert(hash, email.as_typed().to_owned());
        }
    }
    Ok(addresses)
}
