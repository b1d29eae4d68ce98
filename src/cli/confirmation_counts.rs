//! Counts the messages that ask people to confirm their address, for `landing check`.

use std::time::SystemTime;

use serde::Serialize;

use super::waitlist_handle::WaitlistHandle;
use crate::{
    server::{AskedPeople, count_recent},
    waitlist::{ListKey, MessageId, WaitlistEntry},
};

/// The messages that ask people to confirm their address.
#[derive(Serialize)]
pub(super) struct ConfirmationCounts {
    pub(super) last_24_hours: u64,
    /// People whose message is still to be sent.
    pub(super) waiting: u64,
}

/// Counts messages that ask people to confirm their address.
pub(super) struct ConfirmationCounter {
    /// The key of the list, and the people who were asked. `None` if nobody was.
    asked: Option<(ListKey, AskedPeople)>,
    counts: ConfirmationCounts,
    now: SystemTime,
}

impl ConfirmationCounter {
    /// Reads the ledger.
    pub(super) fn read(list: &WaitlistHandle) -> anyhow::Result<Self> {
        let deliveries = list.deliveries(&MessageId::confirmation())?;
        let key = list.key()?;
        let now = SystemTime::now();
        Ok(Self {
            counts: ConfirmationCounts {
                last_24_hours: count_recent(&deliveries, now) as u64,
                waiting: 0,
            },
            asked: (!deliveries.is_empty()).then(|| (key, AskedPeople::new(&deliveries, &[]))),
            now,
        })
    }

    /// Counts a person on the list.
    pub(super) fn add(&mut self, entry: &WaitlistEntry) {
        if let Some((key, asked)) = &self.asked {
            let is_due = asked.is_due(key.hash(entry.email.key()), entry, self.now);
            self.counts.waiting += u64::from(is_due);
        }
    }

    /// Returns the counts, or `None` if nobody was asked.
    pub(super) fn finish(self) -> Option<ConfirmationCounts> {
        self.asked.is_some().then_some(self.counts)
    }
}
