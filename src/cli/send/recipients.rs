//! Chooses the people who get a message, and finds their addresses.
//!
//! The ledger knows people only by the hashes of their addresses. So the whole list is read, and each address is hashed.

use std::{
    collections::{HashMap, HashSet},
    time::SystemTime,
};

use anyhow::bail;

use super::plan::{Plan, Recipient, SkipReason};
use crate::cli::waitlist_handle::WaitlistHandle;
use crate::mail::is_deferred_by_objection;
use crate::waitlist::{
    AddressHash, Delivery, DeliveryState, DeliveryStatus, Email, ListKey, MessageId, Selection,
    ServerReply, Suppressions, WaitlistEntry,
};

/// The people that the owner wants to write to, of those who match the selection.
#[derive(Clone, Debug)]
pub(super) enum Audience {
    /// This many people who have waited longest and have not had it.
    Next(usize),
    /// Everybody who has not had it.
    All,
    /// Those who were chosen by an earlier send, and have not had it.
    Rest,
    /// One person.
    Person(Email),
}

/// Who gets a message, and under which conditions.
pub(super) struct RecipientCriteria {
    pub(super) audience: Audience,
    pub(super) selection: Selection,
    pub(super) unconfirmed: Unconfirmed,
    /// The states of deliveries that are done, and are sent again all the same.
    pub(super) resend: Vec<DeliveryState>,
}

/// Whether people get the message who have not confirmed their address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unconfirmed {
    /// The owner insists.
    Include,
    /// Nobody was asked by this list. Some people may have been asked by another one, and were imported.
    ExcludeAsked,
    Exclude,
}

/// Reads the ledger and the list, and chooses.
pub(super) fn choose(
    list: &WaitlistHandle,
    id: &MessageId,
    key: ListKey,
    criteria: &RecipientCriteria,
) -> anyhow::Result<Plan> {
    let deliveries = list.deliveries(id)?;
    let mut chooser = Chooser {
        id,
        key,
        criteria,
        numbers: (0..)
            .zip(&deliveries)
            .map(|(number, it)| (it.recipient, number))
            .collect(),
        deliveries: &deliveries,
        undeliverable: find_undeliverable(list)?,
        suppressions: list.suppressions()?,
        listed: HashSet::new(),
        objected: Vec::new(),
        plan: Plan::new(&deliveries, &criteria.resend)?,
    };
    for (position, entry) in (1..).zip(list.entries(Selection::default())?.entries) {
        chooser.consider(position, &entry?)?;
    }
    chooser.finish()
}

/// Decides about one person after another, in the order of the list.
struct Chooser<'a> {
    id: &'a MessageId,
    key: ListKey,
    criteria: &'a RecipientCriteria,
    deliveries: &'a [Delivery],
    numbers: HashMap<AddressHash, u32>,
    undeliverable: HashMap<AddressHash, Option<SystemTime>>,
    suppressions: Suppressions,
    /// The numbers of the deliveries to people on the list.
    listed: HashSet<u32>,
    /// Those who have stopped a send by an objection of the mail server. They come last, so that they do not stop the next
    /// one before anybody else.
    objected: Vec<Recipient>,
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
        let is_waiting = delivery.is_some_and(is_unsent);
        let is_chosen = match &self.criteria.audience {
            Audience::Person(email) => email.key() == key,
            _ => self.criteria.selection.selects(entry),
        };
        if !is_chosen {
            let waiting = u64::from(is_waiting);
            self.plan.skipped.add(SkipReason::Waiting, waiting);
            return Ok(());
        }
        self.plan.selected += 1;
        if let Some(reason) = self.reason_to_skip(entry, hash, delivery) {
            self.plan.skipped.add(reason, 1);
            return self.check_person(entry, delivery, reason);
        }
        let has_room = match self.criteria.audience {
            Audience::Next(max) => self.plan.recipients.len() < max,
            Audience::Rest => delivery.is_some_and(|it| it.status.state != DeliveryState::Skipped),
            Audience::All | Audience::Person(_) => true,
        };
        let recipient = Recipient {
            number: number.unwrap_or(self.plan.next),
            delivery: delivery.map_or_else(|| Delivery::waiting(hash), Clone::clone),
            email: Some(entry.email.clone()),
            position,
        };
        if is_deferred_by_objection(&recipient.delivery.status) {
            self.objected.push(recipient);
        } else if has_room {
            self.plan.recipients.push(recipient);
            self.plan.next += u32::from(delivery.is_none());
        } else {
            let waiting = u64::from(is_waiting);
            self.plan.skipped.add(SkipReason::Waiting, waiting);
        }
        Ok(())
    }

    /// Returns whether a person on the list with this delivery has still to get the message.
    fn is_due(&self, delivery: &Delivery) -> bool {
        match delivery.status.state {
            // Those who had left have joined again.
            DeliveryState::Waiting | DeliveryState::Deferred | DeliveryState::Skipped => true,
            state => self.criteria.resend.contains(&state),
        }
    }

    /// Returns why a person on the list does not get the message.
    fn reason_to_skip(
        &self,
        entry: &WaitlistEntry,
        hash: AddressHash,
        delivery: Option<&Delivery>,
    ) -> Option<SkipReason> {
        let may_be_unconfirmed = match self.criteria.unconfirmed {
            Unconfirmed::Include => true,
            Unconfirmed::ExcludeAsked => entry.asked_at.is_none(),
            Unconfirmed::Exclude => false,
        };
        // Listed and suppressed at a time only after an import was interrupted.
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
        if !matches!(self.criteria.audience, Audience::Person(_)) {
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
        if let Audience::Person(email) = &self.criteria.audience
            && self.plan.selected == 0
        {
            bail!(
                "{} is not on the list; check the spelling, or send a copy with --test",
                email.as_typed()
            );
        }
        if let Audience::Next(max) = self.criteria.audience {
            self.objected
                .truncate(max.saturating_sub(self.plan.recipients.len()));
        }
        self.plan.recipients.append(&mut self.objected);
        let is_person = matches!(self.criteria.audience, Audience::Person(_));
        if !self.plan.recipients.is_empty() && !is_person {
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
                    email: None,
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
) -> anyhow::Result<HashMap<AddressHash, Option<SystemTime>>> {
    let mut undeliverable = HashMap::new();
    for message in list.messages()? {
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
