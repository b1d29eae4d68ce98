//! Counts the messages that ask people to confirm their address, for `landing check`.

use std::{
    io::{self, Write},
    time::SystemTime,
};

use serde::Serialize;

use super::{terminal::output::counted, waitlist_handle::WaitlistHandle};
use crate::{
    server::{ATTEMPTS_MAX, AskedPeople, count_recent},
    waitlist::{ListKey, MessageId, WaitlistEntry},
};

/// The messages that ask people to confirm their address.
#[derive(Serialize)]
pub(super) struct ConfirmationCounts {
    last_24_hours: u64,
    /// People whose message is still to be sent.
    waiting: u64,
    /// People who got no message, and get none.
    given_up: u64,
    #[serde(skip)]
    key: ListKey,
    #[serde(skip)]
    asked: AskedPeople,
    #[serde(skip)]
    now: SystemTime,
}

impl ConfirmationCounts {
    /// Reads the ledger. Returns `None` if no server has ever asked people.
    pub(super) fn read(list: &WaitlistHandle) -> anyhow::Result<Option<Self>> {
        // A server notes the day before it asks anybody.
        if !list.messages()?.iter().any(|it| it.id.is_confirmation()) {
            return Ok(None);
        }
        let deliveries = list.deliveries(&MessageId::confirmation())?;
        let now = SystemTime::now();
        Ok(Some(Self {
            last_24_hours: count_recent(&deliveries, now) as u64,
            waiting: 0,
            given_up: 0,
            key: list.list_key()?,
            asked: AskedPeople::new(&deliveries),
            now,
        }))
    }

    /// Counts a person on the list.
    pub(super) fn add(&mut self, entry: &WaitlistEntry) {
        let hash = self.key.hash(entry.email.key());
        self.waiting += u64::from(self.asked.is_due(hash, entry, self.now));
        self.given_up += u64::from(self.asked.is_given_up(hash, entry, self.now));
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let messages = counted(self.last_24_hours, "message", "messages");
        let waiting = counted(self.waiting, "person waits", "people wait");
        writeln!(
            out,
            "{messages} to confirm an address in the last 24 hours, {waiting} for one"
        )?;
        if self.given_up > 0 {
            let given_up = counted(self.given_up, "person", "people");
            writeln!(
                out,
                "{given_up} got none for certain in {ATTEMPTS_MAX} attempts: `landing messages confirmation` says why"
            )?;
        }
        Ok(())
    }
}
