//! Counts the messages that ask people to confirm their address, for `landing check`.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

use serde::Serialize;

use super::waitlist_handle::WaitlistHandle;
use crate::waitlist::{AddressHash, Delivery, ListKey, WaitlistEntry};

/// The messages that ask people to confirm their address.
#[derive(Serialize)]
pub(super) struct ConfirmationCounts {
    pub(super) last_24_hours: u64,
    /// People who have not had the message yet.
    pub(super) waiting: u64,
}

/// Counts messages that ask people to confirm their address.
pub(super) struct ConfirmationCounter {
    keys: Vec<ListKey>,
    /// For each person who was asked, whether the last message is still to be sent.
    is_waiting: HashMap<AddressHash, bool>,
    counts: ConfirmationCounts,
}

impl ConfirmationCounter {
    /// Reads the ledger.
    pub(super) fn read(list: &WaitlistHandle) -> anyhow::Result<Self> {
        let mut counter = Self {
            keys: list.keys()?,
            is_waiting: HashMap::new(),
            counts: ConfirmationCounts {
                last_24_hours: 0,
                waiting: 0,
            },
        };
        let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
        let mut messages = list.messages()?;
        messages.retain(|message| message.id.is_confirmation());
        // `confirmation-1` comes first. Lists that were imported may have begun them in another order.
        messages.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
        for message in &messages {
            for Delivery {
                recipient,
                status,
                attempts,
            } in list.deliveries(&message.id)?
            {
                let is_recent = status.since.is_some_and(|since| since > yesterday);
                let is_counted = status.state.counts_against_budget();
                counter.counts.last_24_hours += u64::from(is_counted && is_recent);
                let is_waiting = !status.state.is_confirmation_done(attempts);
                counter.is_waiting.insert(recipient, is_waiting);
            }
        }
        Ok(counter)
    }

    /// Counts a person on the list.
    pub(super) fn add(&mut self, entry: &WaitlistEntry) {
        if self.is_waiting.is_empty() || entry.confirmed_at.is_some() {
            return;
        }
        let address = entry.email.key();
        let mut hashes = self.keys.iter().map(|key| key.hash(&address));
        let is_waiting = hashes.any(|hash| self.is_waiting.get(&hash) == Some(&true));
        self.counts.waiting += u64::from(is_waiting);
    }

    /// Returns the counts, or `None` if nobody was asked.
    pub(super) fn finish(self) -> Option<ConfirmationCounts> {
        (!self.is_waiting.is_empty()).then_some(self.counts)
    }
}
