//! Sends messages over a connection, one after another.

use std::{
    thread,
    time::{Duration, Instant, SystemTime},
};

use indicatif::ProgressBar;
use tokio::runtime::Runtime;

use super::{
    outbox::{Next, Outbox, Stop},
    recipients::Recipient,
};
use crate::{
    cli::{list_error::LocatedListError, waitlist_handle::WaitlistHandle},
    config::{MailSettings, Origin},
    mail::{
        ComposeError, ConnectError, Envelope, NotSent, Placeholders, RenderedMessage, SendOutcome,
        SmtpClient, SmtpConnection, SmtpReply, Template, UnsubscribeTokens, compose,
        recipient_address,
    },
    waitlist::{DeliveryState, DeliveryStatus, Email, ListKey, ServerReply},
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
    pub(super) tokens: UnsubscribeTokens,
    pub(super) key: Option<ListKey>,
}

impl MessageWriter<'_> {
    /// Returns the text of the message for a person.
    pub(super) fn render(&self, position: u64, unsubscribe: &str) -> RenderedMessage {
        self.template.render(&Placeholders {
            product: self.product,
            position,
            unsubscribe,
            postal_address: self.settings.postal_address.as_deref(),
        })
    }

    /// Returns the URL of a person's unsubscribe page.
    pub(super) fn unsubscribe_url(&self, email: &Email) -> Option<String> {
        let token = self.tokens.token(email)?;
        Some(format!("{}/unsubscribe/{token}", self.origin.as_str()))
    }

    fn write(&self, email: &Email, position: u64) -> Result<Vec<u8>, ComposeError> {
        let unsubscribe = self.unsubscribe_url(email).ok_or(ComposeError::Address)?;
        let message = self.render(position, &unsubscribe);
        let origin = self.origin.as_str();
        let host = origin.split("://").nth(1).unwrap_or(origin);
        let host = host.split(':').next().unwrap_or(host);
        // The same for each attempt, so that programs can recognize a message that arrives twice.
        let id = self.template.id();
        let hash = self
            .key
            .map(|key| key.hash(format!("{id}\n{}", email.key())));
        let hash = hash.map_or(0, |hash| {
            u128::from_be_bytes(hash.as_bytes().try_into().unwrap_or_default())
        });
        let message_id = format!("{hash:032x}@{}", self.settings.from.domain());
        compose(
            &Envelope {
                from: &self.settings.from,
                to: email,
                message_id: &message_id,
                date: SystemTime::now(),
                host,
                unsubscribe: Some(&unsubscribe),
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
        let mut connection = None;
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
            self.send_batch(recipients, &mut connection)?;
            let each = started.elapsed() / u32::try_from(count).unwrap_or(1);
            let fitting = BATCH_DURATION.as_nanos() / each.as_nanos().max(1);
            batch_size = usize::try_from(fitting)
                .unwrap_or(BATCH_MAX)
                .clamp(1, BATCH_MAX);
        }
        if let Some(connection) = connection {
            self.runtime.block_on(SmtpConnection::quit(connection));
        }
        Ok(())
    }

    /// Begins deliveries, sends the messages, and records the results.
    fn send_batch(
        &self,
        mut recipients: Vec<Recipient>,
        connection: &mut Option<SmtpConnection>,
    ) -> Result<(), LocatedListError> {
        let id = self.writer.template.id();
        let starts: Vec<_> = recipients
            .iter()
            .map(|it| (it.number.unwrap_or(u32::MAX), it.state))
            .collect();
        let begun = self.list.begin_deliveries(id, &starts)?;
        let mut results = Vec::with_capacity(recipients.len());
        let started = Instant::now();
        for (recipient, is_begun) in recipients.iter_mut().zip(begun) {
            if !is_begun {
                // Another command sends it.
                results.push(None);
                continue;
            }
            recipient.attempts += 1;
            let status = match &recipient.email {
                _ if self.outbox.stop().is_some() || started.elapsed() > BATCH_TIMEOUT => {
                    DeliveryStatus::new(recipient.state)
                }
                Some(email) if self.list.are_listed(std::slice::from_ref(email))? == [true] => {
                    self.send_one(email, recipient, connection)
                }
                // The person has left since the message was begun.
                _ => DeliveryStatus::new(DeliveryState::Left),
            };
            results.push(Some(DeliveryStatus {
                since: Some(SystemTime::now()),
                ..status
            }));
        }
        let numbered: Vec<_> = starts
            .iter()
            .zip(&results)
            .filter_map(|((number, _), status)| Some((*number, status.clone()?)))
            .collect();
        self.list.finish_deliveries(id, &numbered)?;
        for (recipient, status) in recipients.into_iter().zip(results) {
            let state = status.map_or(DeliveryState::Sending, |status| status.state);
            self.outbox.finish(recipient, state);
            self.bar.inc(1);
        }
        Ok(())
    }

    /// Sends one message. Returns the result.
    fn send_one(
        &self,
        email: &Email,
        recipient: &Recipient,
        connection: &mut Option<SmtpConnection>,
    ) -> DeliveryStatus {
        let not_begun = DeliveryStatus::new(recipient.state);
        let Ok(message) = self.writer.write(email, recipient.position) else {
            return refused(554, "5.1.3 the address cannot be written into an e-mail");
        };
        thread::sleep(self.outbox.pace.reserve());
        let address = recipient_address(email);
        let sender = &self.writer.settings.bounce_address;
        // A connection that the server has closed while it was idle shows that only when it is used.
        for is_retry in [false, true] {
            let is_new = !connection.as_ref().is_some_and(SmtpConnection::is_usable);
            if is_new {
                *connection = self.connect();
            }
            let Some(connection) = connection else {
                return not_begun;
            };
            let outcome = self
                .runtime
                .block_on(connection.send(sender, &address, &message));
            match outcome {
                SendOutcome::NotSent(NotSent::NeedsSmtputf8) => {
                    return refused(
                        553,
                        "5.6.7 the mail server does not support this address (SMTPUTF8)",
                    );
                }
                SendOutcome::NotSent(_) if !is_new && !is_retry => {}
                SendOutcome::NotSent(cause) => {
                    return DeliveryStatus {
                        state: DeliveryState::Deferred,
                        reply: Some(ServerReply::new(451, &format!("4.4.2 {cause}"))),
                        since: None,
                    };
                }
                SendOutcome::Unknown => return DeliveryStatus::new(DeliveryState::Unknown),
                SendOutcome::Accepted(reply) => {
                    self.outbox.check_reply(&reply);
                    return with_reply(DeliveryState::Accepted, &reply);
                }
                SendOutcome::Rejected(reply) if reply.is_closing() && !is_new && !is_retry => {}
                SendOutcome::Rejected(reply) => {
                    self.outbox.check_reply(&reply);
                    let state = if reply.is_transient() {
                        DeliveryState::Deferred
                    } else {
                        DeliveryState::Refused
                    };
                    return with_reply(state, &reply);
                }
            }
        }
        not_begun
    }

    /// Connects. Stops the send if that fails for good.
    fn connect(&self) -> Option<SmtpConnection> {
        let mut pauses = CONNECT_PAUSES.iter();
        loop {
            let error = match self.runtime.block_on(self.client.connect()) {
                Ok(connection) => return Some(connection),
                Err(error) => error,
            };
            let pause = pauses.next().filter(|_| may_pass(&error));
            let server = &self.writer.settings.smtp;
            match pause {
                Some(pause) if self.outbox.stop().is_none() => thread::sleep(*pause),
                _ => {
                    let reason = format!("{server}: {error}; run the command again to continue");
                    self.outbox.stop_handle().stop(Stop::Failed(reason));
                    return None;
                }
            }
        }
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

fn with_reply(state: DeliveryState, reply: &SmtpReply) -> DeliveryStatus {
    DeliveryStatus {
        state,
        since: None,
        reply: Some(ServerReply::new(reply.code, &reply.text)),
    }
}

fn refused(code: u16, text: &str) -> DeliveryStatus {
    DeliveryStatus {
        state: DeliveryState::Refused,
        since: None,
        reply: Some(ServerReply::new(code, text)),
    }
}
