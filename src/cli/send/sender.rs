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
    outbox::{Attempt, Next, Outbox, Stop},
    recipients::Recipient,
};
use crate::{
    cli::{list_error::LocatedListError, waitlist_handle::WaitlistHandle},
    config::{MailSettings, Origin},
    mail::{
        ComposeError, ConnectError, DkimSigner, Envelope, Footer, Mailer, PersonTokens,
        Placeholders, RenderedMessage, SendResult, SmtpClient, Template, compose, message_id,
    },
    waitlist::{DeliveryState, DeliveryStatus, Email, ListKey},
};

/// A connection begins as many deliveries at a time as it sends in this time. Each beginning is durable before the
/// network is used, which takes as long as some messages. After a crash, those that were begun are unknown.
const BATCH_DURATION: Duration = Duration::from_millis(100);
/// Time after which deliveries that were begun together go back to the others: a delivery that has begun must end
/// before other commands take it for unknown.
const BATCH_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum time until a connection that waits notices that the send stops.
const STOP_INTERVAL: Duration = Duration::from_millis(100);
/// Time for which it is known who is on the list.
const LIST_CHECK_MAX_AGE: Duration = Duration::from_millis(100);
/// Maximum number of deliveries that are begun together.
const BATCH_MAX: usize = 64;

/// Length of the token of a person whose address has 65 to 128 bytes.
const LONG_TOKEN_LEN: usize = 208;

/// Pauses before another attempt to connect.
const CONNECT_PAUSES: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(25),
];

/// Writes the e-mail for a person.
pub(super) struct MessageWriter<'a> {
    pub(super) template: &'a Template,
    pub(super) settings: &'a MailSettings,
    pub(super) origin: &'a Origin,
    pub(super) product: &'a str,
    pub(super) tokens: PersonTokens,
    pub(super) key: Option<ListKey>,
    pub(super) signer: Option<DkimSigner>,
}

/// The e-mail for a person.
struct WrittenMessage {
    bytes: Vec<u8>,
    /// The token of the person, which the ledger must not get from a server that quotes the message.
    token: String,
}

impl MessageWriter<'_> {
    /// Returns the text of the message for a person.
    pub(super) fn render(&self, position: u64, unsubscribe: &str) -> RenderedMessage {
        self.template.render(&Placeholders {
            product: self.product,
            position,
            unsubscribe,
            postal_address: self.settings.postal_address.as_deref(),
            footer: Footer::Subscriber,
        })
    }

    /// Returns the URL of a person's unsubscribe page.
    pub(super) fn unsubscribe_url(&self, email: &Email) -> Option<String> {
        Some(self.url(&self.tokens.token(email)?))
    }

    /// Returns a URL as long as that of a person with a long address.
    pub(super) fn sample_url(&self) -> String {
        self.url(&"x".repeat(LONG_TOKEN_LEN))
    }

    fn url(&self, token: &str) -> String {
        format!("{}/unsubscribe/{token}", self.origin.as_str())
    }

    fn write(&self, email: &Email, position: u64) -> Result<WrittenMessage, ComposeError> {
        let token = self.tokens.token(email).ok_or(ComposeError::NoToken)?;
        let unsubscribe = self.url(&token);
        let message = self.render(position, &unsubscribe);
        let key = self.key.as_ref().ok_or(ComposeError::NoToken)?;
        let message_id = message_id(key, self.template.id(), email, &self.settings.from);
        let envelope = Envelope {
            from: &self.settings.from,
            to: email,
            message_id: &message_id,
            date: SystemTime::now(),
            host: self.origin.host(),
            unsubscribe: Some(&unsubscribe),
            signer: self.signer.as_ref(),
        };
        let bytes = compose(&envelope, &message)?;
        Ok(WrittenMessage { bytes, token })
    }
}

/// Sends the messages of an outbox.
pub(super) struct Sender<'a> {
    pub(super) list: &'a WaitlistHandle,
    pub(super) client: &'a SmtpClient,
    pub(super) writer: &'a MessageWriter<'a>,
    pub(super) outbox: &'a Outbox,
    /// The number of connections.
    pub(super) connections: usize,
    pub(super) bar: &'a ProgressBar,
}

/// A connection, with a runtime on this thread. A runtime with its own threads would pass each reply of the server
/// from one thread to another: that halved the messages a second.
struct Line<'a> {
    runtime: Runtime,
    mailer: Mailer<'a>,
}

impl<'a> Line<'a> {
    fn new(client: &'a SmtpClient, sender: &'a str) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.context("cannot start the runtime")?,
            mailer: Mailer::new(client, sender, CancellationToken::new()),
        })
    }

    fn send(
        &mut self,
        email: &Email,
        message: &WrittenMessage,
    ) -> Result<SendResult, ConnectError> {
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
                    if let Err(error) = self.send_some() {
                        let reason = format!("{error:#}; run the command again to continue");
                        self.outbox.stop_handle().stop(Stop::Failed(reason));
                    }
                });
            }
        });
    }

    /// Sends messages over one connection, until none is left.
    fn send_some(&self) -> anyhow::Result<()> {
        let mut line = Line::new(self.client, &self.writer.settings.bounce_address)?;
        let mut batch_size = 1;
        loop {
            let recipients = match self.outbox.take(batch_size) {
                Next::Send(recipients) => recipients,
                Next::Wait(pause) => {
                    thread::sleep(pause);
                    continue;
                }
                Next::Done => break,
            };
            let started = Instant::now();
            let count = recipients.len();
            self.send_batch(recipients, &mut line)?;
            let each = started.elapsed() / u32::try_from(count).unwrap_or(1);
            let fitting = BATCH_DURATION.as_nanos() / each.as_nanos().max(1);
            // A pause before a message must not keep others begun.
            let paced = self.outbox.pace.messages_in(BATCH_DURATION) / self.connections;
            batch_size = usize::try_from(fitting)
                .unwrap_or(BATCH_MAX)
                .min(paced)
                .clamp(1, BATCH_MAX);
        }
        line.runtime.block_on(line.mailer.quit());
        Ok(())
    }

    /// Begins deliveries, sends the messages, and records the results.
    fn send_batch(
        &self,
        recipients: Vec<Recipient>,
        line: &mut Line<'_>,
    ) -> Result<(), LocatedListError> {
        // Before anything is recorded: after a crash, those who wait are not in doubt.
        self.wait_for_pace();
        let mut is_first = true;
        let id = self.writer.template.id();
        let starts: Vec<_> = recipients
            .iter()
            .map(|it| (it.number, it.status.state))
            .collect();
        let begun = match self.list.begin_deliveries(id, &starts) {
            Ok(begun) => begun,
            Err(error) => {
                // Nobody knows whether the list has recorded it.
                for recipient in recipients {
                    let attempt = Attempt::Done(DeliveryState::Sending);
                    self.outbox.finish(recipient, attempt);
                }
                return Err(error);
            }
        };
        let (mut statuses, mut attempts) = (Vec::new(), Vec::new());
        let (started, mut failure) = (Instant::now(), None);
        let mut check = ListCheck::new(self.list, &recipients);
        for (at, (recipient, is_begun)) in recipients.into_iter().zip(begun).enumerate() {
            if !is_begun {
                // Another command sends it.
                attempts.push((recipient, Attempt::Done(DeliveryState::Sending)));
                continue;
            }
            // The first message has waited above.
            if !std::mem::take(&mut is_first) {
                self.wait_for_pace();
            }
            let is_late = started.elapsed() > BATCH_TIMEOUT;
            let sent = match is_late || failure.is_some() {
                true => Ok(None),
                false => self.send_one(&recipient, line, || check.is_listed(at)),
            };
            // The results of the messages before are recorded all the same.
            let sent = sent.unwrap_or_else(|error| {
                failure = Some(error);
                None
            });
            let (status, attempt) = match sent {
                Some(status) => {
                    let attempt = Attempt::Done(status.state);
                    let since = Some(SystemTime::now());
                    (DeliveryStatus { since, ..status }, attempt)
                }
                // As it was before.
                None => (recipient.status.clone(), Attempt::NotBegun),
            };
            statuses.push((recipient.number, status));
            attempts.push((recipient, attempt));
        }
        let recorded = self.list.finish_deliveries(id, &statuses);
        for (recipient, attempt) in attempts {
            let attempt = match recorded {
                Ok(()) => attempt,
                // The list does not know the result.
                Err(_) => Attempt::Done(DeliveryState::Sending),
            };
            if self.outbox.finish(recipient, attempt) {
                self.bar.inc(1);
            }
        }
        recorded.and(failure.map_or(Ok(()), Err))
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
        line: &mut Line<'_>,
        is_listed: impl FnOnce() -> Result<bool, LocatedListError>,
    ) -> Result<Option<DeliveryStatus>, LocatedListError> {
        if self.outbox.stop().is_some() {
            return Ok(None);
        }
        // Last: the person may have left a moment ago.
        let email = match &recipient.email {
            Some(email) if is_listed()? => email,
            _ => return Ok(Some(DeliveryStatus::new(DeliveryState::Left))),
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
        loop {
            let error = match line.send(email, &message) {
                Ok(result) => {
                    self.outbox.check(&result);
                    return Ok(Some(result.status));
                }
                Err(error) => error,
            };
            let pause = pauses.next().filter(|_| may_pass(&error));
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

/// Returns whether an error of connecting may pass in a moment.
fn may_pass(error: &ConnectError) -> bool {
    match error {
        ConnectError::Timeout { .. } | ConnectError::Broken { .. } | ConnectError::Protocol(_) => {
            true
        }
        ConnectError::Rejected { reply, .. } => reply.is_transient(),
        _ => false,
    }
}
