//! The events of a list, for a webhook: somebody has joined, confirmed the address, or left.
//!
//! A list records them only while that is switched on ([`Waitlist::record_events`](super::Waitlist::record_events)), and
//! in the same step as the change. So a crash loses none, and no change waits for the webhook. That is a property of the
//! list: a command that changes it records the events too.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    email::Email,
    entry::{Source, WaitlistEntry},
};

/// How long a process has the events of a list for itself after it has asked for them.
pub const EVENT_LEASE: Duration = Duration::from_secs(30);

/// Something that happened to a person on the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    /// A UUID of version 4 (RFC 9562), by which a receiver recognises an event that comes twice.
    pub id: Uuid,
    /// What happened: `joined`, `confirmed` or `left`. A person who has joined may still have to confirm.
    pub kind: Box<str>,
    /// The address of the person.
    pub email: Email,
    /// Where the person came from.
    pub source: Option<Source>,
    /// When the list recorded it. Stores keep it to the millisecond.
    pub at: SystemTime,
}

impl Event {
    /// Creates an event that happens now.
    pub fn now(kind: &str, email: Email, source: Option<Source>) -> Self {
        Self {
            id: Uuid::new_v4(),
            kind: kind.into(),
            email,
            source,
            at: SystemTime::now(),
        }
    }

    /// Returns the events of a change from one entry to another, or from or to none. The trigger of a database does the same.
    pub(super) fn of_change(
        old: Option<&WaitlistEntry>,
        new: Option<&WaitlistEntry>,
    ) -> impl Iterator<Item = Self> {
        let key = |entry: &WaitlistEntry| entry.email.key();
        let is_other = old.map(key) != new.map(key);
        let was_confirmed = !is_other && old.is_some_and(|it| it.confirmed_at.is_some());
        let left = old.filter(|_| is_other);
        let joined = new.filter(|_| is_other);
        let confirmed = new.filter(|it| it.confirmed_at.is_some() && !was_confirmed);
        let happened = [("left", left), ("joined", joined), ("confirmed", confirmed)];
        let event = |(kind, entry): (_, Option<&WaitlistEntry>)| {
            entry.map(|it| Self::now(kind, it.email.clone(), it.source.clone()))
        };
        happened.map(event).into_iter().flatten()
    }
}

/// The events that wait.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PendingEvents {
    /// Their number.
    pub count: u64,
    /// The time of the oldest one.
    pub oldest: Option<SystemTime>,
}
