//! What the task finds in the store: people who must get a message, and people whose time is up.

use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, SystemTime},
};

use super::{
    history::{DAY, age},
    kind::MessageKind,
    queue::{LATER_MAX, PendingMessage},
    recipients::{Recipients, finish},
};
use crate::waitlist::{
    AddressHash, CALL_MAX, Delivery, DeliveryState, DeliveryStatus, Email, Erasure, ListKey,
    Message, MessageId, Selection, StoreError, Waitlist, hash_mailbox, unix_millis,
};

/// Maximum number of people who are erased after one sweep. The next one finds the others.
const EXPIRED_MAX: usize = 1 << 16;
/// Time after which the day is noted again: a little less than a day, so that no day is missed.
const DAY_INTERVAL: Duration = Duration::from_secs(23 * 60 * 60);

/// The result of a search.
#[derive(Default)]
pub(super) struct Findings {
    /// The messages that people must get, of each kind, and how long to wait. The newest comes first. If there are too many
    /// for the queue, the oldest are missing.
    pub(super) due: [VecDeque<(PendingMessage, Duration)>; 2],
    /// People who have not confirmed in time.
    pub(super) expired: Vec<Email>,
    /// The mailboxes of the people who got a message in the last day.
    pub(super) mailboxes: Vec<(AddressHash, AddressHash)>,
}

/// Looks through the list, for people to ask and people to welcome. It blocks on the disk.
pub(super) fn find(
    list: &dyn Waitlist,
    key: &ListKey,
    recipients: &[Recipients; 2],
    recent: &HashSet<AddressHash>,
    days: u32,
    noted: &[SystemTime],
    now: SystemTime,
) -> Result<Findings, StoreError> {
    let mut found = Findings::default();
    for entry in list.entries(Selection::default())? {
        let entry = entry?;
        let hash = key.hash(entry.email.key());
        if recent.contains(&hash) {
            found
                .mailboxes
                .push((hash, hash_mailbox(key, &entry.email)));
        }
        let mut kinds = recipients.iter();
        if let Some((kind, due)) = kinds.find_map(|it| Some((it.kind, it.due(hash, &entry, now)?)))
        {
            let people = &mut found.due[kind as usize];
            let message = PendingMessage::found(kind, entry.email, due.retry);
            people.push_front((message, due.pause));
            // The queue takes no more from a sweep.
            people.truncate(LATER_MAX);
        } else if found.expired.len() < EXPIRED_MAX
            && recipients[MessageKind::Code as usize].is_time_up(hash, &entry, days, noted, now)
        {
            found.expired.push(entry.email);
        }
    }
    Ok(found)
}

/// Returns when the site has noted durably that it asks people, and notes it if the last time was about a day ago.
pub(super) async fn note_day(
    list: &dyn Waitlist,
    key: &ListKey,
    now: SystemTime,
) -> Result<Vec<SystemTime>, StoreError> {
    let id = MessageId::confirmation_days();
    let days = list.deliveries(&id, 0).await?;
    let noted: Vec<_> = days.iter().filter_map(|day| day.status.since).collect();
    if noted.iter().any(|day| age(*day, now) < DAY_INTERVAL) {
        return Ok(noted);
    }
    if days.is_empty() {
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
    list.add_deliveries(&id, days.len() as u32, vec![day])
        .await?;
    Ok(noted)
}

/// Gives attempts that were interrupted the time at which they were found. Without one they would count as of now for ever,
/// and the mailbox of a person would stay full.
pub(super) async fn date_interrupted(
    list: &dyn Waitlist,
    kind: MessageKind,
    from: u32,
    deliveries: &[Delivery],
    now: SystemTime,
) -> Result<(), StoreError> {
    for (number, delivery) in (from..).zip(deliveries) {
        if delivery.status == DeliveryStatus::new(DeliveryState::Unknown) {
            let status = DeliveryStatus {
                since: Some(now),
                ..delivery.status.clone()
            };
            finish(list, kind, &delivery.start(number), status).await?;
        }
    }
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
