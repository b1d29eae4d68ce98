//! Sends messages over a connection, one after another.

use std::{
    slice, thread,
    time::{Duration, Instant, SystemTime},
};

use indicatif::ProgressBar;
use tokio::runtime::Runtime;

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
/// Maximum number of deliveries that are begun together.
const BATCH_MAX: usize = 64;

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
        let token = self.tokens.token(email)?;
        Some(format!("{}/unsubscribe/{token}", self.origin.as_str()))
    }

    fn write(&self, email: &Email, position: u64) -> Result<Vec<u8>, ComposeError> {
        let unsubscribe = self.unsubscribe_url(email).ok_or(ComposeError::NoToken)?;
        let message = self.render(position, &unsubscribe);
        let key = self.key.as_ref().ok_or(ComposeError::NoToken)?;
        let message_id = message_id(key, self.template.id(), email, &self.settings.from);
        compose(
            &Envelope {
                from: &self.settings.from,
                to: email,
                message_id: &message_id,
                date: SystemTime::now(),
                host: self.origin.host(),
                unsubscribe: Some(&unsubscribe),
                signer: self.signer.as_ref(),
            },
            &message,
        )
    }
}

/// Sends the messages of an outbox.
pub(super) struct Sender<'a> {
    pub(super) list: &'a WaitlistHandle,
    pub(super) runtime: &'a Runtime,
    pub(super) client: &'a SmtpClient,
    pub(super) writer: &'a MessageWriter<'a>,
    pub(super) outbox: &'a Outbox,
    pub(super) bar: &'a ProgressBar,
}

impl Sender<'_> {
    /// Sends all messages over some connections.
    pub(super) fn send_all(&self, connections: usize) {
        thread::scope(|scope| {
            for _ in 0..connections.max(1) {
                scope.spawn(|| {
                    if let Err(error) = self.send_some() {
                        let reason = format!("{error}; run the command again to continue");
                        self.outbox.stop_handle().stop(Stop::Failed(reason));
                    }
                });
            }
        });
    }

    /// Sends messages over one connection, until none is left.
    fn send_some(&self) -> Result<(), LocatedListError> {
        let mut mailer = Mailer::new(self.client, &self.writer.settings.bounce_address);
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
            self.send_batch(recipients, &mut mailer)?;
            let each = started.elapsed() / u32::try_from(count).unwrap_or(1);
            let fitting = BATCH_DURATION.as_nanos() / each.as_nanos().max(1);
            batch_size = usize::try_from(fitting)
                .unwrap_or(BATCH_MAX)
                .clamp(1, BATCH_MAX);
        }
        self.runtime.block_on(mailer.quit());
        Ok(())
    }

    /// Begins deliveries, sends the messages, and records the results.
    fn send_batch(
        &self,
        recipients: Vec<Recipient>,
        mailer: &mut Mailer<'_>,
    ) -> Result<(), LocatedListError> {
        let id = self.writer.template.id();
        let starts: Vec<_> = recipients
            .iter()
            .map(|it| (it.number, it.status.state))
            .collect();
        let begun = self.list.begin_deliveries(id, &starts)?;
        let (mut statuses, mut attempts) = (Vec::new(), Vec::new());
        let started = Instant::now();
        for (recipient, is_begun) in recipients.into_iter().zip(begun) {
            if !is_begun {
                // Another command sends it.
                attempts.push((recipient, Attempt::Done(DeliveryState::Sending)));
                continue;
            }
            let is_late = started.elapsed() > BATCH_TIMEOUT;
            let sent = match is_late {
                true => None,
                false => self.send_one(&recipient, mailer)?,
            };
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
        self.list.finish_deliveries(id, &statuses)?;
        for (recipient, attempt) in attempts {
            if self.outbox.finish(recipient, attempt) {
                self.bar.inc(1);
            }
        }
        Ok(())
    }

    /// Sends one message. Returns the result, or `None` if it was not begun because the send stops.
    fn send_one(
        &self,
        recipient: &Recipient,
        mailer: &mut Mailer<'_>,
    ) -> Result<Option<DeliveryStatus>, LocatedListError> {
        thread::sleep(self.outbox.pace.reserve());
        if self.outbox.stop().is_some() {
            return Ok(None);
        }
        // Last: the person may have left a moment ago.
        let email = match &recipient.email {
            Some(email) if self.may_write_to(email)? => email,
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
            let error = match self.runtime.block_on(mailer.send(email, &message)) {
                Ok(result) => {
                    self.outbox.check(&result);
                    return Ok(Some(result.status));
                }
                Err(error) => error,
            };
            let pause = pauses.next().filter(|_| may_pass(&error));
            match pause {
                Some(pause) if self.outbox.stop().is_none() => thread::sleep(*pause),
                _ => {
                    let server = &self.writer.settings.smtp;
                    let reason = format!("{server}: {error}; run the command again to continue");
                    self.outbox.stop_handle().stop(Stop::Failed(reason));
                    return Ok(None);
                }
            }
        }
    }

    /// Returns whether a person is on the list, and has not unsubscribed.
    fn may_write_to(&self, email: &Email) -> Result<bool, LocatedListError> {
        let is_listed = self.list.are_listed(slice::from_ref(email))? == [true];
        Ok(is_listed && !self.list.is_suppressed(email)?)
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
