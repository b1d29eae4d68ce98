//! What the task finds in the store: people who must be asked, and people whose time is up.

use std::{
    collections::{HashMap, VecDeque},
    time::SystemTime,
};

use super::{
    asked::{AskedPeople, Due},
    history::{DAY, DeliveryAttempt},
    mailbox::hash_mailbox,
    queue::PEOPLE_MAX,
};
use crate::waitlist::{
    CALL_MAX, Delivery, DeliveryState, DeliveryStatus, Email, Erasure, ListKey, Message, MessageId,
    Selection, StoreError, Waitlist, unix_millis,
};

/// Maximum number of people who are erased after one sweep. The next one finds the others.
const EXPIRED_MAX: usize = 1 << 16;

/// The result of a search.
#[derive(Default)]
pub(super) struct Findings {
    /// The people to ask, the newest first. If there are too many for the queue, the oldest are missing.
    pub(super) due: VecDeque<(Email, Due)>,
    /// People who have not confirmed in time.
    pub(super) expired: Vec<Email>,
}

/// Looks through the list, and finds the mailboxes of recent attempts. It blocks on the disk.
pub(super) fn find(
    list: &dyn Waitlist,
    key: &ListKey,
    asked: &AskedPeople,
    recent: &mut [DeliveryAttempt],
    days: u32,
    now: SystemTime,
) -> Result<Findings, StoreError> {
    let mut recipients = HashMap::<_, Vec<_>>::new();
    for attempt in recent {
        recipients
            .entry(attempt.recipient)
            .or_default()
            .push(attempt);
    }
    let mut found = Findings::default();
    for entry in list.entries(Selection::default())? {
        let entry = entry?;
        let hash = key.hash(entry.email.key());
        for attempt in recipients.remove(&hash).unwrap_or_default() {
            attempt.mailbox = Some(hash_mailbox(key, &entry.email));
        }
        if let Some(due) = asked.due(hash, &entry, now) {
            found.due.push_front((entry.email, due));
            // More than the queue takes from a sweep, so it notices that somebody is missing.
            found.due.truncate(PEOPLE_MAX);
        } else if found.expired.len() < EXPIRED_MAX && asked.is_time_up(hash, &entry, days, now) {
            found.expired.push(entry.email);
        }
    }
    Ok(found)
}

/// Notes durably that the site asks people today.
pub(super) async fn note_day(
    list: &dyn Waitlist,
    key: &ListKey,
    now: SystemTime,
) -> Result<(), StoreError> {
    let id = MessageId::confirmation_days();
    let known = list.deliveries(&id).await?.len() as u32;
    if known == 0 {
        let message = Message::new(id.clone(), now, "");
        list.add_message(message).await?;
    }
    let day = Delivery {
        status: DeliveryStatus {
            since: Some(now),
            ..DeliveryStatus::new(DeliveryState::Accepted)
        },
        ..Delivery::waiting(key.hash(format!("day\n{}", unix_millis(now))))
    };
    // If another instance is faster, it has noted the day.
    list.add_deliveries(&id, known, vec![day]).await?;
    Ok(())
}

/// Erases people, except for those who have come back or have confirmed since they were found.
pub(super) async fn erase(
    list: &dyn Waitlist,
    people: &[Email],
    days: u32,
    now: SystemTime,
) -> Result<(), StoreError> {
    let Some(before) = now.checked_sub(DAY * days) else {
        return Ok(());
    };
    let mut count = 0;
    for people in people.chunks(CALL_MAX) {
        let erased = list.erase(people, Erasure::Unconfirmed { before }).await?;
        count += erased.iter().filter(|was_listed| **was_listed).count();
    }
    if count > 0 {
        tracing::info!(
            "erased {count} people who did not confirm their address within {days} days"
        );
    }
    Ok(())
}
