//! Chooses the people who get a message, and finds their addresses.
//!
//! The ledger knows people only by the hashes of their addresses. So the whole list is read, and each address is hashed.

use std::{
    collections::{HashMap, HashSet},
    time::SystemTime,
};

use anyhow::bail;

use super::args::{RecipientArgs, SendArgs};
use super::plan::{Plan, Recipient, SkipReason};
use crate::cli::{
    standings::{Order, read_ranked},
    waitlist_handle::WaitlistHandle,
};
use crate::mail::is_deferred_by_objection;
use crate::waitlist::{
    AddressHash, Delivery, DeliveryState, DeliveryStatus, ListKey, Message, MessageId, Selection,
    ServerReply, Suppressions, WaitlistEntry,
};

/// The number of a delivery that is not in the ledger yet, until the people are chosen.
const NEW: u32 = u32::MAX;

/// Reads the ledger and the list, and chooses.
pub(super) fn choose(
    list: &WaitlistHandle,
    id: &MessageId,
    key: ListKey,
    args: &SendArgs,
) -> anyhow::Result<Plan> {
    let deliveries = list.deliveries(id)?;
    let messages = list.messages()?;
    let has_asked = messages.iter().any(|message| message.id.is_reserved());
    let mut chooser = Chooser {
        id,
        key,
        args,
        selection: args.selection.selection()?,
        asks_everybody: args.confirm.confirm_signups || has_asked,
        numbers: (0..)
            .zip(&deliveries)
            .map(|(number, it)| (it.recipient, number))
            .collect(),
        deliveries: &deliveries,
        undeliverable: find_undeliverable(list, &messages)?,
        suppressions: list.suppressions()?,
        listed: HashSet::new(),
        plan: Plan::new(&deliveries, args.resends(DeliveryState::Unknown))?,
    };
    let people: Box<dyn Iterator<Item = _>> = match args.order {
        Order::Time => list.entries(Selection::default())?.entries,
        Order::Invites => {
            Box::new(read_ranked(list, &Selection::default())?.map(|(_, entry)| Ok(entry)))
        }
    };
    for (position, entry) in (1..).zip(people) {
        chooser.consider(position, &entry?)?;
    }
    chooser.finish()
}

/// Decides about one person after another, in the order of the send.
struct Chooser<'a> {
    id: &'a MessageId,
    key: ListKey,
    args: &'a SendArgs,
    selection: Selection,
    /// Whether people are asked to confirm their address: if the option says so, or if a server has asked somebody. So a
    /// command without the server's settings does not write to those who have not confirmed. Otherwise some people may have
    /// been asked by another list, and were imported.
    asks_everybody: bool,
    deliveries: &'a [Delivery],
    numbers: HashMap<AddressHash, u32>,
    undeliverable: HashMap<AddressHash, Option<SystemTime>>,
    suppressions: Suppressions,
    /// The numbers of the deliveries to people on the list.
    listed: HashSet<u32>,
    plan: Plan,
}

impl Chooser<'_> {
    /// Decides whether a person gets the message, and notes why not.
    fn consider(&mut self, position: u64, entry: &WaitlistEntry) -> anyhow::Result<()> {
        let key = entry.email.key();
        let hash = self.key.hash(&key);
        let number = self.numbers.get(&hash).copied();
        self.listed.extend(number);
        let deliveries = self.deliveries;
        let delivery = number.map(|number| &deliveries[number as usize]);
        let is_chosen = match &self.args.recipients.to {
            Some(email) => email.key() == key,
            None => self.selection.selects(entry),
        };
        if !is_chosen {
            let waiting = delivery.filter(|it| is_unsent(it)).iter().count();
            self.plan.skipped.add(SkipReason::Waiting, waiting as u64);
            return Ok(());
        }
        self.plan.selected += 1;
        if let Some(reason) = self.reason_to_skip(entry, hash, delivery) {
            self.plan.skipped.add(reason, 1);
            return self.check_person(entry, delivery, reason);
        }
        let was_skipped = delivery.is_none_or(|it| it.status.state == DeliveryState::Skipped);
        if !self.args.recipients.rest || !was_skipped {
            self.plan.recipients.push(Recipient {
                number: number.unwrap_or(NEW),
                delivery: delivery.map_or_else(|| Delivery::waiting(hash), Clone::clone),
                sign_up: Some((entry.email.clone(), entry.joined_at)),
                position,
            });
        }
        Ok(())
    }

    /// Returns whether a person on the list with this delivery has still to get the message.
    fn is_due(&self, delivery: &Delivery) -> bool {
        match delivery.status.state {
            // Those who had left have joined again.
            DeliveryState::Waiting | DeliveryState::Deferred | DeliveryState::Skipped => true,
            state => self.args.resends(state),
        }
    }

    /// Returns why a person on the list does not get the message.
    fn reason_to_skip(
        &self,
        entry: &WaitlistEntry,
        hash: AddressHash,
        delivery: Option<&Delivery>,
    ) -> Option<SkipReason> {
        let was_asked = self.asks_everybody || entry.asked_at.is_some();
        let may_be_unconfirmed = self.args.include_unconfirmed || !was_asked;
        // Also listed: somebody has typed the address in again after the person left, or an import was interrupted.
        if self.suppressions.contains_hash(hash) {
            return Some(SkipReason::Suppressed);
        }
        if entry.confirmed_at.is_none() && !may_be_unconfirmed {
            return Some(SkipReason::Unconfirmed);
        }
        match delivery.filter(|it| !self.is_due(it)) {
            Some(it) if it.status.state == DeliveryState::Refused => Some(SkipReason::Refused),
            Some(_) => Some(SkipReason::HadIt),
            None => {
                // Whoever confirmed the address afterwards has got a message.
                let refused_at = self.undeliverable.get(&hash);
                let is_undeliverable = refused_at.is_some_and(|at| entry.confirmed_at <= *at);
                is_undeliverable.then_some(SkipReason::Undeliverable)
            }
        }
    }

    /// Fails if the one person that the owner has named does not get the message.
    fn check_person(
        &self,
        entry: &WaitlistEntry,
        delivery: Option<&Delivery>,
        reason: SkipReason,
    ) -> anyhow::Result<()> {
        if self.args.recipients.to.is_none() {
            return Ok(());
        }
        let (id, email) = (self.id, entry.email.as_typed());
        match delivery.filter(|it| !self.is_due(it)) {
            Some(delivery) => {
                let state = delivery.status.state.as_str();
                bail!("{id} is already {state} for {email}; nothing was sent")
            }
            None => bail!("{email} is {}; nothing was sent", reason.text()),
        }
    }

    fn finish(mut self) -> anyhow::Result<Plan> {
        let RecipientArgs { next, to, .. } = &self.args.recipients;
        if let Some(email) = to
            && self.plan.selected == 0
        {
            bail!(
                "{} is not on the list; check the spelling, or send a copy with --test",
                email.as_typed()
            );
        }
        let recipients = &mut self.plan.recipients;
        // Those who have stopped a send by an objection of the mail server come last, the latest at the end, so that they do not
        // stop the next one before anybody else.
        recipients.sort_by_key(|it| {
            let status = &it.delivery.status;
            let is_objection = is_deferred_by_objection(status);
            (is_objection, status.since.filter(|_| is_objection))
        });
        let max = next.map_or(usize::MAX, |count| count as usize);
        let left_out = recipients.drain(max.min(recipients.len())..);
        let is_waiting = |it: &Recipient| it.number != NEW && is_unsent(&it.delivery);
        let waiting = left_out.filter(is_waiting).count();
        self.plan.skipped.add(SkipReason::Waiting, waiting as u64);
        let new = recipients.iter_mut().filter(|it| it.number == NEW);
        for (recipient, number) in new.zip(self.plan.known..) {
            recipient.number = number;
        }
        if !self.plan.recipients.is_empty() && to.is_none() {
            self.add_those_who_left();
        }
        Ok(self.plan)
    }

    /// Adds the people who have left since an earlier send chose them, so that the ledger records it.
    fn add_those_who_left(&mut self) {
        for (number, delivery) in (0..).zip(self.deliveries) {
            if is_unsent(delivery) && !self.listed.contains(&number) {
                self.plan.recipients.push(Recipient {
                    number,
                    delivery: delivery.clone(),
                    sign_up: None,
                    position: 0,
                });
            }
        }
    }
}

/// Returns whether the person was chosen, and has not had the message.
fn is_unsent(delivery: &Delivery) -> bool {
    matches!(
        delivery.status.state,
        DeliveryState::Waiting | DeliveryState::Deferred
    )
}

/// Returns the people whose mailbox did not exist for one of the messages, and when that was known last.
fn find_undeliverable(
    list: &WaitlistHandle,
    messages: &[Message],
) -> anyhow::Result<HashMap<AddressHash, Option<SystemTime>>> {
    let mut undeliverable = HashMap::new();
    for message in messages {
        for delivery in list.deliveries(&message.id)? {
            let DeliveryStatus {
                state,
                since,
                reply,
            } = delivery.status;
            let is_missing = reply.as_ref().is_some_and(ServerReply::is_no_such_mailbox);
            if state == DeliveryState::Refused && is_missing {
                let last = undeliverable.entry(delivery.recipient).or_insert(since);
                *last = since.max(*last);
            }
        }
    }
    Ok(undeliverable)
}
