//! An entry of the list.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{email::Email, source::Source};

/// One person on the list.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct WaitlistEntry {
    /// The address.
    pub email: Email,
    /// When the sign-up reached the server. Stores keep it to the millisecond.
    pub joined_at: SystemTime,
    /// Where the person came from, if the link said so.
    pub source: Option<Source>,
    /// When the site promised to ask the person to confirm the address, if it has.
    pub asked_at: Option<SystemTime>,
    /// When the person confirmed the address, if they have.
    pub confirmed_at: Option<SystemTime>,
}

impl WaitlistEntry {
    /// Creates the entry of a sign-up of which nothing else is known.
    pub fn new(email: Email, joined_at: SystemTime) -> Self {
        Self {
            email,
            joined_at,
            source: None,
            asked_at: None,
            confirmed_at: None,
        }
    }
}

/// Something that became known about an entry, such as a confirmation. An import may bring it together with the entry.
/// Of several facts of a kind, the last one counts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Fact {
    /// The site promised at this time to ask the person to confirm the address.
    AskedAt(SystemTime),
    /// The person confirmed the address at this time.
    ConfirmedAt(SystemTime),
}

impl WaitlistEntry {
    /// Returns whether the person was asked to confirm the address, and has not. Until then, nobody knows who has signed the
    /// person up, so a suppression of the address stays.
    pub fn awaits_confirmation(&self) -> bool {
        self.asked_at.is_some() && self.confirmed_at.is_none()
    }

    /// Returns the facts about the entry.
    pub fn facts(&self) -> impl Iterator<Item = Fact> {
        let asked = self.asked_at.map(Fact::AskedAt);
        let confirmed = self.confirmed_at.map(Fact::ConfirmedAt);
        asked.into_iter().chain(confirmed)
    }

    /// Takes a fact into account.
    pub fn apply(&mut self, fact: Fact) {
        match fact {
            Fact::AskedAt(time) => self.asked_at = Some(time),
            Fact::ConfirmedAt(time) => self.confirmed_at = Some(time),
        }
    }
}

/// Converts a time to milliseconds since 1970. An earlier time becomes 0.
pub fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Converts milliseconds since 1970 to a time. Milliseconds beyond the range of [`SystemTime`] become 1970.
pub fn from_unix_millis(millis: u64) -> SystemTime {
    let since = Duration::from_millis(millis);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
