//! Counts the messages that the server sends by itself, for `landing check`.

use std::{
    io::{self, Write},
    time::SystemTime,
};

use serde::Serialize;

use super::{terminal::output::counted, waitlist_handle::WaitlistHandle};
use crate::{
    server::{MessageKind, Recipients, count_recent},
    waitlist::{ListKey, MessageId, WaitlistEntry},
};

/// The messages of a kind.
#[derive(Serialize)]
pub(super) struct ConfirmationCounts {
    last_24_hours: u64,
    /// People whose message is still to be sent.
    waiting: u64,
    /// People who may have got no message, and get none.
    given_up: u64,
    #[serde(skip)]
    kind: MessageKind,
    #[serde(skip)]
    key: ListKey,
    #[serde(skip)]
    recipients: Recipients,
    #[serde(skip)]
    now: SystemTime,
}

impl ConfirmationCounts {
    /// Reads the ledger. Returns `None` if no server has ever sent such messages.
    pub(super) fn read(list: &WaitlistHandle, kind: MessageKind) -> anyhow::Result<Option<Self>> {
        // A server notes the day before it asks anybody, and the welcome message before it runs.
        let is_of_kind = |id: &MessageId| match kind {
            MessageKind::Code => id.is_reserved(),
            MessageKind::Welcome => *id == kind.id(),
        };
        let messages = list.messages()?;
        let Some(message) = messages.iter().find(|it| is_of_kind(&it.id)) else {
            return Ok(None);
        };
        let deliveries = list.deliveries(&kind.id())?;
        let now = SystemTime::now();
        Ok(Some(Self {
            last_24_hours: count_recent(&deliveries, now) as u64,
            waiting: 0,
            given_up: 0,
            kind,
            key: list.list_key()?,
            recipients: Recipients::new(kind, Some(message.begun_at), 0, &deliveries),
            now,
        }))
    }

    /// Counts a person on the list. One who is suppressed is not welcomed.
    pub(super) fn add(&mut self, entry: &WaitlistEntry, is_suppressed: bool) {
        let gets_one = !is_suppressed || self.kind != MessageKind::Welcome;
        let (hash, recipients) = (self.key.hash(entry.email.key()), &self.recipients);
        let is_due = recipients.due(hash, entry, self.now).is_some();
        self.waiting += u64::from(gets_one && is_due);
        self.given_up += u64::from(gets_one && recipients.is_given_up(hash, entry, self.now));
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let messages = counted(self.last_24_hours, "message", "messages");
        let waiting = counted(self.waiting, "person waits", "people wait");
        let purpose = match self.kind {
            MessageKind::Code => "to confirm an address",
            MessageKind::Welcome => "of welcome",
        };
        writeln!(
            out,
            "{messages} {purpose} in the last 24 hours, {waiting} for one"
        )?;
        if self.given_up > 0 {
            let given_up = counted(self.given_up, "person", "people");
            writeln!(
                out,
                "{given_up} may have got none: `landing messages {}` says why",
                self.kind.id()
            )?;
        }
        Ok(())
    }
}
