//! What a list has besides its entries, and how an import adds it: unsubscribed people, and the suppressed addresses,
//! the departures and the ledger of an export.
//!
//! People who are on the list stay on it and are not suppressed, because they have joined it by themselves. The
//! suppressions are added first, and then lifted for these people. So nobody who joins at the same time is missed.

use std::collections::HashMap;

use anyhow::bail;

use super::{
    list_error::LocatedListError, transfer::list_lines::ListLine, waitlist_handle::WaitlistHandle,
};
use crate::waitlist::{
    Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Email, ListKey,
    Message, Selection, StoreError, SuppressionItem, Suppressions,
};

/// Number of results that are recorded together. A kill between their two writes leaves them unknown, until the file is
/// imported again.
const FURTHER_TOGETHER_MAX: usize = 128;

/// Returns what a list has besides its entries, for an export.
pub(super) fn read(list: &WaitlistHandle) -> Result<Vec<ListLine>, LocatedListError> {
    let suppressions = list.suppressions()?;
    let messages = list.messages()?;
    // The key of a list without suppressions and messages is of no use.
    let needs_key = !suppressions.is_empty() || !messages.is_empty();
    let items = suppressions.items();
    let items = items.filter(|item| needs_key || !matches!(item, SuppressionItem::Key(_)));
    let mut lines: Vec<_> = items.map(ListLine::Suppression).collect();
    for message in messages {
        let id = message.id.clone();
        let deliveries = list.deliveries(&id)?;
        lines.push(ListLine::Message(message));
        let deliveries = deliveries.into_iter();
        lines.extend(deliveries.map(|delivery| ListLine::Delivery(id.clone(), delivery)));
    }
    Ok(lines)
}

/// Suppresses people who have unsubscribed from another list. Returns how many of them are suppressed.
pub(super) fn suppress_unlisted(list: &WaitlistHandle, emails: &[Email]) -> anyhow::Result<usize> {
    if emails.is_empty() {
        return Ok(0);
    }
    let known = list.suppressions()?;
    let new: Vec<_> = emails
        .iter()
        .filter(|email| !known.contains(email))
        .cloned()
        .collect();
    let first_key = known.keys().first().copied();
    let key = first_key.map_or_else(ListKey::generate, Ok::<_, StoreError>)?;
    let hashes = new
        .iter()
        .map(|email| SuppressionItem::Address(key.hash(email.key())));
    let items = std::iter::once(SuppressionItem::Key(key)).chain(hashes);
    list.add_suppressions(items.collect())?;
    let are_listed = list.lift_listed(&new)?;
    let listed = are_listed.iter().filter(|is_listed| **is_listed).count();
    Ok(emails.len() - listed)
}

/// Adds the suppressions and the ledger of an export.
pub(super) fn add_exported(list: &WaitlistHandle, lines: Vec<ListLine>) -> anyhow::Result<()> {
    let (mut suppressions, mut messages) = (Vec::new(), Vec::<(Message, Vec<Delivery>)>::new());
    for line in lines {
        match line {
            ListLine::Suppression(item) => suppressions.push(item),
            ListLine::Message(message) => messages.push((message, Vec::new())),
            ListLine::Delivery(id, delivery) => {
                // `list_lines` has checked that there is one.
                let message = messages.iter_mut().rfind(|(message, _)| message.id == id);
                if let Some((_, deliveries)) = message {
                    deliveries.push(delivery);
                }
            }
        }
    }
    add_suppressions(list, suppressions)?;
    for (message, deliveries) in messages {
        add_message(list, &message, deliveries)?;
    }
    Ok(())
}

fn add_suppressions(
    list: &WaitlistHandle,
    items: Vec<SuppressionItem>,
) -> Result<(), LocatedListError> {
    let exported: Suppressions = items.iter().cloned().collect();
    if !items.is_empty() {
        list.add_suppressions(items)?;
    }
    if exported.is_empty() {
        return Ok(());
    }
    let mut listed = Vec::new();
    for entry in list.entries(Selection::default())?.entries {
        let email = entry?.email;
        if exported.contains(&email) {
            listed.push(email);
        }
    }
    list.lift_listed(&listed)?;
    Ok(())
}

/// Adds a message, those of its deliveries that the list does not have, and the results of those that have come further.
fn add_message(
    list: &WaitlistHandle,
    message: &Message,
    deliveries: Vec<Delivery>,
) -> anyhow::Result<()> {
    list.add_message(message)?;
    let known = list.deliveries(&message.id)?;
    let numbers: HashMap<_, _> = (0..)
        .zip(&known)
        .map(|(number, it)| {
            let (state, attempts) = (it.status.state, it.attempts);
            let start = DeliveryStart {
                number,
                state,
                attempts,
            };
            (it.recipient, start)
        })
        .collect();
    let (mut new, mut further) = (Vec::new(), Vec::new());
    for delivery in deliveries {
        match numbers.get(&delivery.recipient) {
            None => new.push(Delivery {
                status: as_known(&delivery.status),
                ..delivery
            }),
            Some(start) if progress(delivery.status.state) > progress(start.state) => {
                further.push((*start, delivery.status));
            }
            Some(_) => {}
        }
    }
    for part in further.chunks(FURTHER_TOGETHER_MAX) {
        let starts: Vec<_> = part.iter().map(|(start, _)| *start).collect();
        let begun = list.begin_deliveries(&message.id, &starts)?;
        let results = part.iter().zip(begun).filter(|(_, is_begun)| *is_begun);
        let results: Vec<_> = results
            .map(|((start, status), _)| DeliveryResult {
                number: start.number,
                attempt: start.attempts + 1,
                status: as_known(status),
            })
            .collect();
        list.finish_deliveries(&message.id, &results)?;
    }
    let count = u32::try_from(known.len())?;
    if !new.is_empty() && !list.add_deliveries(&message.id, count, &new)? {
        bail!(
            "{} is being sent, so the ledger of the file was not added; import the file again when it is done",
            message.id
        );
    }
    Ok(())
}

/// Returns how much is known about a delivery. A person who has left can join again.
fn progress(state: DeliveryState) -> u8 {
    match state {
        DeliveryState::Waiting | DeliveryState::Left => 0,
        DeliveryState::Deferred => 1,
        DeliveryState::Sending | DeliveryState::Unknown => 2,
        DeliveryState::Refused => 3,
        DeliveryState::Accepted => 4,
    }
}

/// A message that was under way when the export was written may have been sent.
fn as_known(status: &DeliveryStatus) -> DeliveryStatus {
    match status.state {
        DeliveryState::Sending => DeliveryStatus::new(DeliveryState::Unknown),
        _ => status.clone(),
    }
}
