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
    outbox::{Attempt, Next, Outbox, Stop},
    recipients::Recipient,
};
use crate::{
    cli::{list_error::LocatedListError, waitlist_handle::WaitlistHandle},
    mail::{ComposeError, ConnectError, Mailer, SendResult, SmtpClient},
    waitlist::{DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Email},
};

/// A connection begins as many deliveries at a time as it sends in this time. Each beginning is durable before the
/// network is used, which takes as long as some messages. After a crash, those that were begun are unknown.
const BATCH_DURATION: Duration = Duration::from_millis(100);
/// Time after which deliveries that were begun together go back to the others, because the mail server has become slow: after
/// a crash, they would be unknown.
const BATCH_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause of a connection that the mail server does not want yet, while others send.
const CONNECT_LATER_PAUSE: Duration = Duration::from_secs(60);
/// Time in which a message is tried again over a new connection.
const RECONNECT_PERIOD: Duration = Duration::from_secs(120);
/// Maximum time until a connection that waits notices that the send stops.
const STOP_INTERVAL: Duration = Duration::from_millis(100);
/// Time for which it is known who is on the list.
const LIST_CHECK_MAX_AGE: Duration = Duration::from_millis(100);
/// Maximum number of deliveries that are begun together.
const BATCH_MAX: usize = 64;

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
    /// The mail server asks to connect later.
    is_deferred: bool,
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
            is_deferred: false,
        })
    }

    fn connect(&mut self) -> Result<(), ConnectError> {
        self.runtime.block_on(self.mailer.connect())
    }

    fn send(
        &mut self,
        email: &Email,
        message: &WrittenMessage,
    ) -> Result<Option<SendResult>, ConnectError> {
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
                        let reason = format!("{error:#}; run the command again to continue");
                        self.outbox.stop_handle().stop(Stop::Failed(reason));
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
        let mut batch_size = 1;
        loop {
            if connection.is_deferred {
                self.wait_to_connect();
                connection.is_deferred = false;
            }
            let recipients = match self.outbox.take(batch_size) {
                Next::Send(recipients) => recipients,
                Next::Wait(pause) => {
                    thread::sleep(pause);
                    continue;
                }
                Next::Done => break,
            };
            let started = Instant::now();
            let sent = self.send_batch(recipients, &mut connection)?;
            let each = started.elapsed() / u32::try_from(sent).unwrap_or(1).max(1);
            let fitting = BATCH_DURATION.as_nanos() / each.as_nanos().max(1);
            // A pause before a message must not keep others begun.
            let paced = self.outbox.pace.messages_in(BATCH_DURATION) / self.connections;
            batch_size = usize::try_from(fitting)
                .unwrap_or(BATCH_MAX)
                .min(paced)
                .clamp(1, BATCH_MAX);
        }
        connection.runtime.block_on(connection.mailer.quit());
        Ok(())
    }

    /// Begins deliveries, sends the messages, and records the results. Returns how many have one.
    fn send_batch(
        &self,
        recipients: Vec<Recipient>,
        connection: &mut SendConnection<'_>,
    ) -> Result<usize, LocatedListError> {
        // Before anything is recorded: after a crash, those who wait are not in doubt.
        self.wait_for_pace();
        let mut is_first = true;
        let id = self.writer.template.id();
        let starts: Vec<_> = recipients
            .iter()
            .map(|it| DeliveryStart {
                number: it.number,
                state: it.status.state,
                attempts: it.attempts,
            })
            .collect();
        let begun = match self.list.begin_deliveries(id, &starts) {
            Ok(begun) => begun,
            Err(error) => {
                // Nobody knows whether the list has recorded it.
                for recipient in recipients {
                    self.outbox.finish(recipient, Attempt::without_result());
                }
                return Err(error);
            }
        };
        let (mut results, mut attempts) = (Vec::new(), Vec::new());
        let (started, mut failure) = (Instant::now(), None);
        let mut check = ListCheck::new(self.list, &recipients);
        for (at, (mut recipient, is_begun)) in recipients.into_iter().zip(begun).enumerate() {
            if !is_begun {
                // Another command sends it.
                attempts.push((recipient, Attempt::without_result()));
                continue;
            }
            recipient.attempts += 1;
            let is_given_back =
                started.elapsed() > BATCH_TIMEOUT || connection.is_deferred || failure.is_some();
            // The first message has waited above.
            if !std::mem::take(&mut is_first) && !is_given_back {
                self.wait_for_pace();
            }
            let sent = match is_given_back {
                true => Ok(None),
                false => self.send_one(&recipient, connection, || check.is_listed(at)),
            };
            // The results of the messages before are recorded all the same.
            let sent = sent.unwrap_or_else(|error| {
                failure = Some(error);
                None
            });
            let (status, attempt) = match sent {
                Some(status) => {
                    let since = Some(SystemTime::now());
                    let status = DeliveryStatus { since, ..status };
                    (status.clone(), Attempt::Done(status))
                }
                // As it was before.
                None => (recipient.status.clone(), Attempt::NotBegun),
            };
            results.push(DeliveryResult {
                number: recipient.number,
                attempt: recipient.attempts,
                status,
            });
            attempts.push((recipient, attempt));
        }
        let is_done = |(_, attempt): &&(Recipient, Attempt)| matches!(attempt, Attempt::Done(_));
        let done = attempts.iter().filter(is_done).count();
        let recorded = self.list.finish_deliveries(id, &results);
        // Those that are given back keep their order.
        for (recipient, attempt) in attempts.into_iter().rev() {
            let attempt = match recorded {
                Ok(()) => attempt,
                // The list does not know the result.
                Err(_) => Attempt::without_result(),
            };
            if self.outbox.finish(recipient, attempt) {
                self.bar.inc(1);
            }
        }
        recorded.and(failure.map_or(Ok(done), Err))
    }

    /// Waits before the connection is opened again, while others have messages to send.
    fn wait_to_connect(&self) {
        let until = Instant::now() + CONNECT_LATER_PAUSE;
        while Instant::now() < until && self.outbox.has_messages() {
            thread::sleep(STOP_INTERVAL);
        }
        self.outbox.rejoin_others();
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

    /// Sends one message. Returns the result, or `None` if it was not begun because the send stops.
    fn send_one(
        &self,
        recipient: &Recipient,
        connection: &mut SendConnection<'_>,
        mut is_listed: impl FnMut() -> Result<bool, LocatedListError>,
    ) -> Result<Option<DeliveryStatus>, LocatedListError> {
        if self.outbox.stop().is_some() {
            return Ok(None);
        }
        let has_left = || Ok(Some(DeliveryStatus::new(DeliveryState::Left)));
        let Some(email) = &recipient.email else {
            return has_left();
        };
        let message = match self.writer.write(email, recipient.position) {
            Ok(message) => message,
            Err(ComposeError::Address) => return Ok(Some(SendResult::unwritable_address().status)),
            // It would fail for everybody.
            Err(error) => {
                self.outbox.stop_handle().stop(Stop::Failed(format!(
                    "{error}; run the command again to continue"
                )));
                return Ok(None);
            }
        };
        let mut pauses = CONNECT_PAUSES.iter();
        let started = Instant::now();
        loop {
            let connected = connection.connect();
            // Last: the person may have left a moment ago, or while it connected.
            if connected.is_ok() && !is_listed()? {
                return has_left();
            }
            let error = match connected.and_then(|()| connection.send(email, &message)) {
                Ok(Some(result)) => {
                    self.outbox.check(&result);
                    return Ok(Some(result.status));
                }
                Ok(None) => continue,
                Err(error) => error,
            };
            if error.is_deferral() && self.outbox.leave_to_others() {
                connection.is_deferred = true;
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
                    let reason = format!("{server}: {error}; run the command again to continue");
                    self.outbox.stop_handle().stop(Stop::Failed(reason));
                    return Ok(None);
                }
            }
        }
    }
}

/// Says who of a batch is on the list, as of a moment ago. An unsubscription takes the person off the list.
struct ListCheck<'a> {
    list: &'a WaitlistHandle,
    /// Those who have left before the batch have none.
    emails: Vec<Option<Email>>,
    checked_at: Option<Instant>,
    are_listed: Vec<bool>,
}

impl<'a> ListCheck<'a> {
    fn new(list: &'a WaitlistHandle, recipients: &[Recipient]) -> Self {
        Self {
            list,
            emails: recipients.iter().map(|it| it.email.clone()).collect(),
            checked_at: None,
            are_listed: Vec::new(),
        }
    }

    /// Returns whether the person at this position is on the list.
    fn is_listed(&mut self, at: usize) -> Result<bool, LocatedListError> {
        let is_fresh = |checked_at: Instant| checked_at.elapsed() < LIST_CHECK_MAX_AGE;
        if !self.checked_at.is_some_and(is_fresh) {
            self.checked_at = Some(Instant::now());
            let emails: Vec<_> = self.emails.iter().flatten().cloned().collect();
            let mut listed = self.list.are_listed(&emails)?.into_iter();
            let emails = self.emails.iter();
            let are_listed = emails.map(|it| it.is_some() && listed.next() == Some(true));
            self.are_listed = are_listed.collect();
        }
        Ok(self.are_listed.get(at) == Some(&true))
    }
}
