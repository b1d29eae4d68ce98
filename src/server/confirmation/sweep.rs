//! What the task finds in the store: people who must be asked, and people whose time is up.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::SystemTime,
};

use tokio::task::spawn_blocking;

use super::{
    asked::{AskedPeople, Due},
    history::{Attempt, DAY},
    mailbox::hash_mailbox,
    queue::PEOPLE_MAX,
};
use crate::waitlist::{
    CALL_MAX, Delivery, DeliveryState, DeliveryStatus, Email, Erasure, ListKey, Message, MessageId,
    Selection, StoreError, Waitlist, unix_millis,
};

/// Maximum number of people who are erased after one sweep. The next one finds the others.
const EXPIRED_MAX: usize = 1 << 16;

/// Looks through the list.
pub(super) struct Search {
    pub(super) key: ListKey,
    pub(super) asked: AskedPeople,
    /// The attempts of the last 24 hours. Their mailboxes are looked up.
    pub(super) recent: Vec<Attempt>,
    /// How many days people have to confirm the address.
    pub(super) days: u32,
    pub(super) now: SystemTime,
}

/// What was found.
pub(super) struct Findings {
    /// People who are to be asked, the newest first. If there are too many for the queue, the oldest are missing.
    pub(super) due: VecDeque<(Email, Due)>,
    /// People who have not confirmed in time.
    pub(super) expired: Vec<Email>,
    pub(super) recent: Vec<Attempt>,
}

impl Search {
    /// Reads the list.
    pub(super) async fn run(self, list: Arc<dyn Waitlist>) -> Result<Findings, StoreError> {
        let found = spawn_blocking(move || self.find(&*list)).await;
        found.map_err(|_| StoreError::Unreadable)?
    }

    fn find(mut self, list: &dyn Waitlist) -> Result<Findings, StoreError> {
        let (mut due, mut expired) = (VecDeque::new(), Vec::new());
        let mut recipients = HashMap::<_, Vec<usize>>::new();
        for (at, attempt) in self.recent.iter().enumerate() {
            recipients.entry(attempt.recipient).or_default().push(at);
        }
        for entry in list.entries(Selection::default())? {
            let entry = entry?;
            let hash = self.key.hash(entry.email.key());
            for at in recipients.remove(&hash).unwrap_or_default() {
                self.recent[at].mailbox = Some(hash_mailbox(&self.key, &entry.email));
            }
            if let Some(found) = self.asked.due(hash, &entry, self.now) {
                due.push_front((entry.email, found));
                // One more, so that the queue notices that somebody is missing.
                due.truncate(PEOPLE_MAX + 1);
            } else if expired.len() < EXPIRED_MAX
                && self.asked.is_time_up(hash, &entry, self.days, self.now)
            {
                expired.push(entry.email);
            }
        }
        let recent = self.recent;
        Ok(Findings {
            due,
            expired,
            recent,
        })
    }
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
