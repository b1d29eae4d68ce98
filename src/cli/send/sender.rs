//! Sends messages over a connection, one after another.

use std::{
    slice, thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::Context;
use indicatif::ProgressBar;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::{
    message_writer::{MessageWriter, WrittenMessage},
    outbox::{Attempt, Next, Outbox},
    plan::Recipient,
};
use crate::{
    cli::{list_error::LocatedListError, waitlist_handle::WaitlistHandle},
    mail::{ComposeError, ConnectError, Mailer, SmtpClient},
    waitlist::{DeliveryResult, DeliveryState, DeliveryStatus, Email},
};

/// Time in which a message is tried again over a new connection.
const RECONNECT_PERIOD: Duration = Duration::from_secs(120);
/// Maximum time until a connection that waits notices that the send stops.
const STOP_INTERVAL: Duration = Duration::from_millis(100);
/// Pauses before another attempt to connect.
const CONNECT_PAUSES: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(25),
];

/// Sends the messages of an outbox.
pub(super) struct Sender<'a> {
    pub(super) list: &'a WaitlistHandle,
    pub(super) client: &'a SmtpClient,
    pub(super) writer: &'a MessageWriter<'a>,
    pub(super) outbox: &'a Outbox,
    /// The number of connections.
    pub(super) connections: usize,
    /// Cancelled when the messages under way are given up, unless their ends are written.
    pub(super) give_up: CancellationToken,
    pub(super) bar: &'a ProgressBar,
}

/// A connection, with a runtime on this thread. A runtime with its own threads would pass each reply of the server
/// from one thread to another, which takes longer.
struct SendConnection<'a> {
    runtime: Runtime,
    mailer: Mailer<'a>,
    /// The mail server does not want it, and others send.
    is_left_to_others: bool,
}

impl<'a> SendConnection<'a> {
    fn new(
        client: &'a SmtpClient,
        sender: &'a str,
        give_up: CancellationToken,
    ) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.context("cannot start the runtime")?,
            mailer: Mailer::new(client, sender, give_up),
            is_left_to_others: false,
        })
    }

    fn connect(&mut self) -> Result<(), ConnectError> {
        self.runtime.block_on(self.mailer.connect())
    }

    fn send(
        &mut self,
        email: &Email,
        message: &WrittenMessage,
    ) -> Result<Option<DeliveryStatus>, ConnectError> {
        let WrittenMessage { bytes, token } = message;
        let sent = self.mailer.send(email, bytes, slice::from_ref(token));
        self.runtime.block_on(sent)
    }
}

impl Sender<'_> {
    /// Sends all messages over some connections.
    pub(super) fn send_all(&self) {
        thread::scope(|scope| {
            for _ in 0..self.connections {
                scope.spawn(|| {
                    if let Err(error) = self.run_connection() {
                        self.outbox.fail(format_args!("{error:#}"));
                    }
                });
            }
        });
    }

    /// Sends messages over one connection, until none is left.
    fn run_connection(&self) -> anyhow::Result<()> {
        let bounce_address = &self.writer.settings.bounce_address;
        let mut connection =
            SendConnection::new(self.client, bounce_address, self.give_up.clone())?;
        while !connection.is_left_to_others {
            match self.outbox.take() {
                Next::Send(recipient) => self.send(recipient, &mut connection)?,
                Next::Wait(pause) => thread::sleep(pause),
                Next::Done => break,
            }
        }
        connection.runtime.block_on(connection.mailer.quit());
        Ok(())
    }

    /// Begins a delivery, sends the message, and records the result. One at a time: after a crash, each connection has only
    /// one in doubt.
    fn send(
        &self,
        mut recipient: Recipient,
        connection: &mut SendConnection<'_>,
    ) -> Result<(), LocatedListError> {
        // Before anything is recorded: after a crash, those who wait are not in doubt.
        self.wait_for_pace();
        let id = self.writer.template.id();
        let begun = self
            .list
            .call(|list| list.begin_deliveries(id, vec![recipient.start()]));
        if !matches!(begun.as_deref(), Ok([true])) {
            // Another command sends it, or nobody knows whether the list has recorded it.
            self.outbox.finish(recipient, Attempt::without_result());
            return begun.map(drop);
        }
        recipient.attempts += 1;
        let sent = self.send_begun(&recipient, connection);
        let attempt = match &sent {
            Ok(Some(status)) => Attempt::Done(DeliveryStatus {
                since: Some(SystemTime::now()),
                ..status.clone()
            }),
            Ok(None) | Err(_) => Attempt::GivenBack,
        };
        let result = DeliveryResult {
            number: recipient.number,
            attempt: recipient.attempts,
            status: match &attempt {
                Attempt::Done(status) => status.clone(),
                // As it was before.
                Attempt::GivenBack => recipient.status.clone(),
            },
        };
        let recorded = self.list.finish_deliveries(id, &[result]);
        let attempt = match recorded {
            Ok(()) => attempt,
            // The list does not know the result.
            Err(_) => Attempt::without_result(),
        };
        if self.outbox.finish(recipient, attempt) {
            self.bar.inc(1);
        }
        recorded.and(sent.map(drop))
    }

    /// Waits until the next message may begin, or the send stops.
    fn wait_for_pace(&self) {
        self.sleep_until(Instant::now() + self.outbox.pace.reserve());
    }

    /// Sleeps, at most until the send stops.
    fn sleep_until(&self, until: Instant) {
        while self.outbox.stop().is_none() {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            thread::sleep(rest.min(STOP_INTERVAL));
        }
    }

    /// Sends a message. Returns the result, or `None` if it was not sent because the send stops.
    fn send_begun(
        &self,
        recipient: &Recipient,
        connection: &mut SendConnection<'_>,
    ) -> Result<Option<DeliveryStatus>, LocatedListError> {
        if self.outbox.stop().is_some() {
            return Ok(None);
        }
        let has_left = || Ok(Some(DeliveryStatus::new(DeliveryState::Skipped)));
        let Some(email) = &recipient.email else {
            return has_left();
        };
        let message = match self.writer.write(email, recipient.position) {
            Ok(message) => message,
            Err(ComposeError::Address) => {
                return Ok(Some(DeliveryStatus::new(DeliveryState::Refused)));
            }
            // It would fail for everybody.
            Err(error) => {
                self.outbox.fail(error);
                return Ok(None);
            }
        };
        let mut pauses = CONNECT_PAUSES.iter();
        let started = Instant::now();
        loop {
            let connected = connection.connect();
            // Last: the person may have left a moment ago, or while it connected.
            if connected.is_ok() && !self.is_listed(email)? {
                return has_left();
            }
            let error = match connected.and_then(|()| connection.send(email, &message)) {
                Ok(Some(status)) => {
                    self.outbox.check(&status);
                    return Ok(Some(status));
                }
                Ok(None) => continue,
                Err(error) => error,
            };
            if error.is_deferral() && self.outbox.leave_to_others() {
                connection.is_left_to_others = true;
                return Ok(None);
            }
            let may_reconnect = error.is_transient() && started.elapsed() < RECONNECT_PERIOD;
            let pause = pauses.next().filter(|_| may_reconnect);
            match pause {
                Some(pause) if self.outbox.stop().is_none() => {
                    self.sleep_until(Instant::now() + *pause);
                }
                _ => {
                    let server = &self.writer.settings.smtp;
                    self.outbox.fail(format_args!("{server}: {error}"));
                    return Ok(None);
                }
            }
        }
    }

    /// Returns whether the person is on the list and has not left. Somebody who has left can be on it again, typed in by
    /// a stranger and not confirmed.
    fn is_listed(&self, email: &Email) -> Result<bool, LocatedListError> {
        let is_listed = self.list.are_listed(slice::from_ref(email))? == [true];
        Ok(is_listed && !self.list.is_suppressed(email)?)
    }
}
