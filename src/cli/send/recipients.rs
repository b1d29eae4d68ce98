//! Chooses the people who get a message, and finds their addresses.
//!
//! The ledger knows people only by the hashes of their addresses. So the whole list is read, and each address is hashed
//! with all keys of the list.

use std::collections::{HashMap, HashSet};

use anyhow::bail;
use serde_json::{Value, json};

use crate::cli::waitlist_handle::WaitlistHandle;
use crate::mail::{SmtpReply, is_objection};
use crate::waitlist::{
    AddressHash, Delivery, DeliveryState, DeliveryStatus, Email, ListKey, MessageId, Selection,
};

/// The people that the owner wants to write to.
#[derive(Clone, Debug)]
pub(super) enum Audience {
    /// This many people who have waited longest and have not had it.
    Next(usize),
    /// Everybody who has not had it.
    All,
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

/// A person who gets the message.
#[derive(Clone, Debug)]
pub(super) struct Recipient {
    /// The number of the delivery in the ledger.
    pub(super) number: u32,
    /// How far the delivery is.
    pub(super) status: DeliveryStatus,
    /// How often the delivery was begun.
    pub(super) attempts: u32,
    /// How often this command has tried it again.
    pub(super) retries: usize,
    /// The address, or `None` if the person has left the list.
    pub(super) email: Option<Email>,
    /// The position on the list, from 1.
    pub(super) position: u64,
}

/// The people who get the message.
#[derive(Debug, Default)]
pub(super) struct Plan {
    recipients: Vec<Recipient>,
    /// The hashes of those who are not in the ledger yet. Their deliveries get the numbers after the known ones.
    new: Vec<AddressHash>,
    /// Whether they are the rest of a send that was interrupted.
    is_rest: bool,
    /// The number of deliveries in the ledger.
    known: u32,
    /// People on the list who have had the message, or may have.
    had_it: u64,
    /// People on the list whose message the mail server refused.
    refused: u64,
    /// People whose mailbox does not exist.
    undeliverable: u64,
    /// People on the list who are suppressed.
    suppressed: u64,
    /// People on the list who have not confirmed their address.
    unconfirmed: u64,
    /// Deliveries of which nobody knows whether they were sent.
    unknown: u64,
    /// Deliveries that another command is sending, or was when it was killed.
    under_way: u64,
    /// People on the list who match the selection.
    selected: u64,
}

impl Plan {
    /// Reads the ledger and the list, and chooses.
    pub(super) fn build(
        list: &WaitlistHandle,
        id: &MessageId,
        keys: &[ListKey],
        RecipientCriteria {
            audience,
            selection,
            unconfirmed,
            resend,
        }: &RecipientCriteria,
    ) -> anyhow::Result<Self> {
        let deliveries = list.deliveries(id)?;
        let undeliverable = find_undeliverable(list)?;
        let suppressions = list.suppressions()?;
        let mut plan = Self {
            known: u32::try_from(deliveries.len())?,
            ..Self::default()
        };
        let is_due = |state: DeliveryState| match state {
            // Those who had left are due if they have joined again: only people on the list are looked at.
            DeliveryState::Waiting | DeliveryState::Deferred | DeliveryState::Left => true,
            state => resend.contains(&state),
        };
        for delivery in &deliveries {
            let is_unknown = delivery.status.state == DeliveryState::Unknown;
            plan.unknown += u64::from(is_unknown && !resend.contains(&DeliveryState::Unknown));
            plan.under_way += u64::from(delivery.status.state == DeliveryState::Sending);
        }
        let numbers: HashMap<_, _> = (0..)
            .zip(&deliveries)
            .map(|(n, it)| (it.recipient, n))
            .collect();
        let mut is_found = false;
        let mut listed = HashSet::new();
        // Those who are left of an interrupted send, those who get it again, and those who have not had it. Last come those
        // who have stopped a send by an objection of the mail server: they must not stop the next one before anybody else.
        let (mut interrupted, mut retries, mut new, mut objected) =
            (vec![], vec![], vec![], vec![]);
        let is_full = |count: usize| matches!(audience, Audience::Next(max) if count >= *max);
        let is_person = matches!(audience, Audience::Person(_));
        for (position, entry) in (1..).zip(list.entries(Selection::default())?.entries) {
            let entry = entry?;
            let key = entry.email.key();
            let hashes: Vec<_> = keys.iter().map(|list_key| list_key.hash(&key)).collect();
            // Of a list that was imported into this one, a person may have a second delivery. One that is done counts.
            let known: Vec<u32> = hashes
                .iter()
                .filter_map(|it| numbers.get(it))
                .copied()
                .collect();
            let is_done = |number: &&u32| !is_due(deliveries[**number as usize].status.state);
            let number = known.iter().find(is_done).or(known.first()).copied();
            let delivery = number.map(|number| &deliveries[number as usize]);
            listed.extend(known);
            let is_chosen = match audience {
                Audience::Person(email) => email.key() == key,
                _ => selection.selects(&entry),
            };
            is_found |= is_chosen && matches!(audience, Audience::Person(_));
            if is_chosen {
                plan.selected += 1;
            }
            // Both at a time only after an import was interrupted.
            if hashes.iter().any(|hash| suppressions.contains_hash(*hash)) {
                if is_chosen {
                    plan.suppressed += 1;
                }
                continue;
            }
            let may_be_unconfirmed = match unconfirmed {
                Unconfirmed::Include => true,
                Unconfirmed::ExcludeAsked => entry.asked_at.is_none(),
                Unconfirmed::Exclude => false,
            };
            if entry.confirmed_at.is_none() && !may_be_unconfirmed {
                if is_chosen {
                    plan.unconfirmed += 1;
                }
                continue;
            }
            let recipient = |number, status, attempts| Recipient {
                number,
                status,
                attempts,
                retries: 0,
                email: Some(entry.email.clone()),
                position,
            };
            let is_undeliverable = hashes.iter().any(|hash| undeliverable.contains(hash));
            match number.zip(delivery) {
                Some((_, delivery)) if is_due(delivery.status.state) && is_undeliverable => {
                    plan.undeliverable += u64::from(is_chosen);
                }
                Some((number, delivery)) if is_due(delivery.status.state) => {
                    let status = delivery.status.clone();
                    let is_rest = status.state == DeliveryState::Waiting && !is_person;
                    let is_objected = is_objection(&status);
                    let recipient = recipient(number, status, delivery.attempts);
                    if is_rest {
                        interrupted.push(recipient);
                    } else if is_objected && is_chosen {
                        objected.push(recipient);
                    } else if is_chosen && !is_full(retries.len() + new.len()) {
                        retries.push(recipient);
                    }
                }
                Some((_, delivery)) if is_chosen => {
                    match delivery.status.state {
                        DeliveryState::Refused => plan.refused += 1,
                        _ => plan.had_it += 1,
                    }
                    if is_person {
                        let state = delivery.status.state.as_str();
                        let email = entry.email.as_typed();
                        bail!("{id} is already {state} for {email}; nothing was sent");
                    }
                }
                None if is_chosen && is_undeliverable => plan.undeliverable += 1,
                None if is_chosen && !is_full(retries.len() + new.len()) => {
                    let number = plan.known + u32::try_from(new.len())?;
                    let status = DeliveryStatus::new(DeliveryState::Waiting);
                    new.push(recipient(number, status, 0));
                    // Only a preview does without a key.
                    plan.new.extend(hashes.first());
                }
                _ => {}
            }
        }
        if let (Audience::Person(email), false) = (audience, is_found) {
            bail!(
                "{} is not on the list; check the spelling",
                email.as_typed()
            );
        }
        plan.is_rest = !interrupted.is_empty();
        if plan.is_rest {
            plan.new.clear();
            new.clear();
        }
        if let Audience::Next(max) = audience {
            objected.truncate(max.saturating_sub(retries.len() + new.len()));
        }
        plan.recipients = [interrupted, retries, new, objected].concat();
        // People who have left since the send began.
        if !plan.recipients.is_empty() && !is_person {
            for (number, delivery) in (0..).zip(&deliveries) {
                let is_unsent = matches!(
                    delivery.status.state,
                    DeliveryState::Waiting | DeliveryState::Deferred
                );
                if is_unsent && !listed.contains(&number) {
                    plan.recipients.push(Recipient {
                        number,
                        status: delivery.status.clone(),
                        attempts: delivery.attempts,
                        retries: 0,
                        email: None,
                        position: 0,
                    });
                }
            }
        }
        Ok(plan)
    }

    /// Records the new recipients in the ledger, and returns all of them.
    pub(super) fn record(
        self,
        list: &WaitlistHandle,
        id: &MessageId,
    ) -> anyhow::Result<Vec<Recipient>> {
        let new: Vec<_> = self.new.into_iter().map(Delivery::waiting).collect();
        if !new.is_empty() && !list.add_deliveries(id, self.known, &new)? {
            bail!("another command is sending {id}; wait until it is done, and run this one again");
        }
        Ok(self.recipients)
    }

    /// Returns the number of deliveries that were begun, and have no result yet.
    pub(super) fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Returns the number of deliveries whose result is unknown and that are not sent again.
    pub(super) fn unknown(&self) -> u64 {
        self.unknown
    }

    pub(super) fn is_empty(&self) -> bool {
        self.recipients.is_empty()
    }

    /// Returns the recipients who are on the list.
    pub(super) fn people(&self) -> impl Iterator<Item = &Recipient> {
        self.recipients.iter().filter(|it| it.email.is_some())
    }

    /// Returns the position of the last person on the list who gets the message.
    pub(super) fn max_position(&self) -> u64 {
        let positions = self.recipients.iter().map(|it| it.position);
        positions.max().unwrap_or_default()
    }

    /// Describes the recipients, such as `100 of 5000 people`.
    pub(super) fn describe(&self) -> String {
        let count = self.people().count();
        let people = if self.selected == 1 {
            "person"
        } else {
            "people"
        };
        match self.is_rest {
            true => format!("the remaining {count} people of an interrupted send"),
            false => format!("{count} of {} {people}", self.selected),
        }
    }

    /// Says why nobody gets the message.
    pub(super) fn why_empty(&self) -> String {
        let mut reasons = vec![format!("{} selected", self.selected)];
        let counts = [
            (self.had_it, "had the message, or may have had it"),
            (self.refused, "refused by the mail server"),
            (
                self.undeliverable,
                "left out, because their mailbox does not exist",
            ),
            (self.suppressed, "left out, because they are suppressed"),
            (
                self.unconfirmed,
                "left out, because they have not confirmed their address",
            ),
            (
                self.unknown,
                "unknown: --resend-unknown sends to them again",
            ),
            (
                self.under_way,
                "being sent by another command, or by one that was killed less than 20 minutes ago",
            ),
        ];
        for (count, reason) in counts.into_iter().filter(|(count, _)| *count > 0) {
            reasons.push(format!("{count} {reason}"));
        }
        reasons.join("; ")
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "recipients": self.people().count(),
            "selected": self.selected,
            "had_it": self.had_it,
            "refused": self.refused,
            "undeliverable": self.undeliverable,
            "suppressed": self.suppressed,
            "unconfirmed": self.unconfirmed,
            "unknown": self.unknown,
            "under_way": self.under_way,
        })
    }
}

/// Returns the people whose mailbox did not exist for one of the messages.
fn find_undeliverable(list: &WaitlistHandle) -> anyhow::Result<HashSet<AddressHash>> {
    let mut undeliverable = HashSet::new();
    for message in list.messages()? {
        for delivery in list.deliveries(&message.id)? {
            let reply = delivery.status.reply.as_ref();
            if delivery.status.state == DeliveryState::Refused
                && reply.is_some_and(|reply| SmtpReply::from(reply).is_no_such_mailbox())
            {
                undeliverable.insert(delivery.recipient);
            }
        }
    }
    Ok(undeliverable)
}
