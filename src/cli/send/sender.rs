//! Sends messages over one connection, one after another.

use std::time::{Duration, Instant, SystemTime};

use indicatif::ProgressIterator;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{brake::Brake, plan::Recipient};
use crate::{
    cli::{
        delivery_counts::DeliveryCounts, terminal::progress::progress, wait_for,
        waitlist_handle::WaitlistHandle,
    },
    mail::{ComposeError, Mailer, MessageWriter, SmtpClient},
    waitlist::{DeliveryState, DeliveryStatus, Email, ListKey},
};

/// Time in which a message is tried again over a new connection.
const RECONNECT_PERIOD: Duration = Duration::from_secs(120);
/// Pauses before another attempt to connect.
const CONNECT_PAUSES: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(25),
];

/// Sends messages.
pub(super) struct Sender<'a> {
    list: &'a WaitlistHandle,
    writer: &'a MessageWriter<'a>,
    key: ListKey,
    mailer: Mailer<'a>,
    /// Cancelled when the owner interrupts the send: the message under way is given up, unless its end is written.
    give_up: CancellationToken,
    /// Why the send stops, if it does.
    stop: Option<String>,
    brake: Brake,
    /// The time between two messages, and when the next one may begin.
    interval: Duration,
    next: Instant,
}

impl<'a> Sender<'a> {
    /// Allows `rate` messages per second. 0 allows any number.
    pub(super) fn new(
        list: &'a WaitlistHandle,
        writer: &'a MessageWriter<'a>,
        key: ListKey,
        client: &'a SmtpClient,
        rate: u32,
        give_up: CancellationToken,
    ) -> Self {
        let bounce_address = &writer.settings.bounce_address;
        Self {
            list,
            writer,
            key,
            mailer: Mailer::new(client, bounce_address, give_up.clone()),
            give_up,
            stop: None,
            brake: Brake::default(),
            interval: Duration::from_secs(1).checked_div(rate).unwrap_or_default(),
            next: Instant::now(),
        }
    }

    /// Sends all messages. Returns the results, and why the send stopped before the end, if it did.
    pub(super) fn send_all(mut self, recipients: &[Recipient]) -> (DeliveryCounts, Option<String>) {
        let mut counts = DeliveryCounts::default();
        let bar = progress(recipients.len() as u64, "sending");
        for recipient in recipients.iter().progress_with(bar) {
            // Before anything is recorded: after a crash, those who wait are not in doubt.
            self.wait_for_turn();
            let state = match self.is_stopped() {
                true => recipient.delivery.status.state,
                false => self.send(recipient),
            };
            counts.add(state, 1);
        }
        wait_for(self.mailer.quit());
        (counts, self.stop)
    }

    /// Waits until the next message may begin, unless the send stops.
    fn wait_for_turn(&mut self) {
        if !self.is_stopped() {
            let now = Instant::now();
            let begin = self.next.max(now);
            self.next = begin + self.interval;
            self.sleep(begin - now);
        }
    }

    /// Begins a delivery, sends the message, and records the result. One at a time: after a crash, only one is in doubt.
    /// Returns the state.
    fn send(&mut self, recipient: &Recipient) -> DeliveryState {
        let id = &self.writer.id;
        let start = recipient.delivery.start(recipient.number);
        let begun = self
            .list
            .call(|list| list.begin_deliveries(id, vec![start]));
        if !matches!(begun.as_deref(), Ok([true])) {
            // Another command sends it, or nobody knows whether the list has recorded it.
            self.stop = begun.err().map(|error| error.to_string());
            return DeliveryState::Sending;
        }
        let sent = self.attempt(recipient).map(|status| DeliveryStatus {
            since: Some(SystemTime::now()),
            ..status
        });
        // It is as it was before if nothing was sent.
        let status = sent.unwrap_or_else(|reason| {
            self.stop = Some(reason);
            recipient.delivery.status.clone()
        });
        let state = status.state;
        match self.list.finish_deliveries(id, &[start.result(status)]) {
            Ok(()) => state,
            Err(error) => {
                // The list does not know the result.
                self.stop = Some(error.to_string());
                DeliveryState::Sending
            }
        }
    }

    /// Sends a message, over a new connection if necessary. Returns the result, or why nothing was sent and the send stops.
    fn attempt(&mut self, recipient: &Recipient) -> Result<DeliveryStatus, String> {
        let has_left = Ok(DeliveryStatus::new(DeliveryState::Skipped));
        let Some((email, joined_at)) = &recipient.sign_up else {
            return has_left;
        };
        let message = match self.writer.write(&self.key, email, recipient.position) {
            Err(ComposeError::Address) => return Ok(DeliveryStatus::new(DeliveryState::Refused)),
            // It would fail for everybody.
            written => written.map_err(|error| error.to_string())?,
        };
        let mut pauses = CONNECT_PAUSES.iter();
        let started = Instant::now();
        loop {
            let connected = wait_for(self.mailer.connect());
            // Last: the person may have left a moment ago, or while it connected.
            let has_stayed = || self.has_stayed(email, *joined_at);
            if connected.is_ok() && !has_stayed().map_err(|error| error.to_string())? {
                return has_left;
            }
            let sent = connected.and_then(|()| {
                let sent = self.mailer.send(email, &message.bytes, &message.secrets);
                wait_for(sent)
            });
            let error = match sent {
                Ok(Some(status)) => {
                    self.stop = self.brake.check(&status);
                    return Ok(status);
                }
                Ok(None) => continue,
                Err(error) => error,
            };
            let may_reconnect = error.is_transient() && started.elapsed() < RECONNECT_PERIOD;
            match pauses.next().filter(|_| may_reconnect) {
                Some(pause) if !self.is_stopped() => self.sleep(*pause),
                _ if self.is_stopped() => return Err("interrupted".to_owned()),
                _ => return Err(format!("{}: {error}", self.writer.settings.smtp)),
            }
        }
    }

    /// Returns whether the person who was chosen is on the list and has not left. The address of somebody who has left or was
    /// erased can be on it again, typed in by a stranger and not confirmed.
    fn has_stayed(&self, email: &Email, joined_at: SystemTime) -> anyhow::Result<bool> {
        let found = self.list.person(email)?;
        let is_same = found.is_some_and(|entry| entry.is_of_sign_up(joined_at));
        Ok(is_same && !self.list.is_suppressed(email)?)
    }

    /// Returns whether the send stops, perhaps because the owner interrupts it.
    fn is_stopped(&mut self) -> bool {
        if self.give_up.is_cancelled() {
            self.stop.get_or_insert_with(|| "interrupted".to_owned());
        }
        self.stop.is_some()
    }

    /// Sleeps, at most until the owner interrupts the send.
    fn sleep(&self, pause: Duration) {
        let interrupted = async { timeout(pause, self.give_up.cancelled()).await };
        // Either way, the pause is over.
        let _ = wait_for(interrupted);
    }
}
