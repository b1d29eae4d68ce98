//! Sends one message: checks that it may go out, records it, and says how long to wait if it could not.

use std::{
    slice,
    time::{Duration, SystemTime},
};

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Confirmation, book::Person, locked};
use crate::{
    mail::{
        ComposeError, Mailer, MessageHeaders, PersonTokens, SendResult, TokenPurpose, compose,
        confirmation_code, confirmation_message, message_id,
    },
    waitlist::{
        AddressHash, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Email,
        MessageId, StoreError,
    },
};

/// Pause after the store has failed.
pub(super) const STORE_PAUSE: Duration = Duration::from_secs(5);
/// Pauses after the mail server could not be reached, or did not reply to a message. The last one repeats.
const CONNECT_PAUSES: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
];
/// Pauses after the mail server has objected to the sender or to the message: after the first time, and after each
/// [`OBJECTIONS_TOGETHER`] in a row. Some servers object to a recipient with the same codes, such as 4.7.1 for
/// greylisting, so that a few such people must not keep the others waiting. The last one repeats.
const OBJECTION_PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(30),
    Duration::from_secs(5 * 60),
    LONGEST_OBJECTION_PAUSE,
];
const LONGEST_OBJECTION_PAUSE: Duration = Duration::from_secs(15 * 60);
const OBJECTIONS_TOGETHER: usize = 5;
/// How many messages in a row the mail server may refuse, for another reason than a bad address. After that, it probably refuses
/// the sender.
const REFUSALS_MAX: usize = 5;
/// How often the result of a message is recorded again. A result that is lost is unknown.
const FINISH_ATTEMPTS_MAX: usize = 5;

/// Sends messages over a connection, and records their results.
pub(super) struct Courier<'a> {
    confirmation: &'a Confirmation,
    mailer: Mailer<'a>,
    /// How often in a row the mail server could not be reached or did not reply.
    failures: usize,
    /// How many messages in a row the mail server has refused.
    refusals: usize,
    /// How many messages in a row it has objected to.
    objections: usize,
}

/// The e-mail for a person.
struct WrittenMessage {
    bytes: Vec<u8>,
    /// The token and the code, which neither the log nor the ledger must get from a server that quotes the message.
    secrets: [String; 2],
}

/// Why a message was not sent, and how long to wait.
pub(super) struct Pause {
    pub(super) length: Duration,
    pub(super) reason: String,
}

impl<'a> Courier<'a> {
    /// It connects with the first message. `give_up` is that of the mailer.
    pub(super) fn new(confirmation: &'a Confirmation, give_up: CancellationToken) -> Self {
        let sender = &confirmation.sender;
        let address = &sender.settings.mail.bounce_address;
        Self {
            confirmation,
            mailer: Mailer::new(&sender.client, address, give_up),
            failures: 0,
            refusals: 0,
            objections: 0,
        }
    }

    /// Says goodbye to the mail server.
    pub(super) async fn quit(self) {
        self.mailer.quit().await;
    }

    /// Checks that a message may be sent now, and connects. Nothing is recorded: while the mail server cannot be reached,
    /// no delivery is in doubt after a crash. The future can be dropped.
    pub(super) async fn prepare(&mut self) -> Result<(), Pause> {
        let per_day = self.confirmation.sender.settings.messages_per_day;
        let wait = {
            let book = &mut locked(&self.confirmation.state).book;
            book.wait_for_budget(per_day, SystemTime::now())
        };
        if let Some(wait) = wait {
            return Err(Pause {
                length: wait.max(Duration::from_secs(1)),
                reason: format!(
                    "{per_day} were sent in 24 hours, which is the limit (--confirm-per-day)"
                ),
            });
        }
        let connected = self.mailer.connect().await;
        connected.map_err(|error| self.pause_after(&error.to_string()))
    }

    /// Sends a message to a person, and notes its result. Returns false if another instance sends it.
    pub(super) async fn deliver(
        &mut self,
        email: &Email,
        hashes: &[AddressHash],
        person: &Person,
    ) -> Result<bool, Pause> {
        let list = &self.confirmation.list;
        let (id, number) = (MessageId::confirmation(person.message), person.delivery);
        let message = match self.write(email, &id, person.message) {
            Ok(message) => Some(message),
            Err(ComposeError::Address) => None,
            Err(error) => {
                return Err(Pause {
                    length: LONGEST_OBJECTION_PAUSE,
                    reason: error.to_string(),
                });
            }
        };
        let start = DeliveryStart {
            number,
            state: person.status.state,
            attempts: person.attempts,
        };
        if list.begin_deliveries(&id, vec![start]).await? != [true] {
            return Ok(false);
        }
        // After everything that takes time: the person may have left a moment ago.
        let (status, pause) = match (self.may_write(email).await, message) {
            (Ok(true), Some(message)) => self.send(email, &message, person).await,
            (Ok(true), None) => (now(SendResult::unwritable_address().status), None),
            (Ok(false), _) => (now(DeliveryStatus::new(DeliveryState::Left)), None),
            (Err(error), _) => (person.status.clone(), Some(error.into())),
        };
        let result = DeliveryResult {
            number,
            attempt: person.attempts + 1,
            status,
        };
        self.finish(&id, &result).await?;
        let book = &mut locked(&self.confirmation.state).book;
        book.finish(hashes, &result.status);
        match pause {
            Some(pause) => Err(pause),
            None => Ok(true),
        }
    }

    /// Returns whether a person is on the list and not suppressed.
    async fn may_write(&self, email: &Email) -> Result<bool, StoreError> {
        let list = &self.confirmation.list;
        let is_listed = list.are_listed(slice::from_ref(email)).await? == [true];
        Ok(is_listed && !list.is_suppressed(email).await?)
    }

    /// Sends a message over the connection. Returns its status, which is the one before if there is no connection.
    async fn send(
        &mut self,
        email: &Email,
        message: &WrittenMessage,
        person: &Person,
    ) -> (DeliveryStatus, Option<Pause>) {
        let WrittenMessage { bytes, secrets } = message;
        let result = match self.mailer.send(email, bytes, secrets).await {
            Ok(Some(result)) => result,
            // The server has closed the connection since the last message. The person is the next one again.
            Ok(None) => {
                let length = Duration::ZERO;
                let reason = "the mail server has closed the connection".into();
                return (person.status.clone(), Some(Pause { length, reason }));
            }
            Err(error) => {
                let pause = self.pause_after(&error.to_string());
                return (person.status.clone(), Some(pause));
            }
        };
        let mut status = now(result.status);
        let reply = match result.reply {
            Some(reply) if reply.is_closing() => {
                let pause = self.pause_after(&reply.to_string());
                return (status, Some(pause));
            }
            Some(reply) => reply,
            // This program refuses addresses that the mail server does not support.
            None if status.state == DeliveryState::Refused => return (status, None),
            None => {
                let pause = self.pause_after("it did not reply to a message");
                return (status, Some(pause));
            }
        };
        self.failures = 0;
        let is_refused = status.state == DeliveryState::Refused && !reply.is_bad_address();
        self.refusals = if is_refused { self.refusals + 1 } else { 0 };
        // Not all of these people can have mistyped their address.
        let is_brake = self.refusals > REFUSALS_MAX;
        if is_brake {
            status.state = DeliveryState::Deferred;
        }
        if !(result.is_objection || is_brake) {
            self.objections = 0;
            return (status, None);
        }
        self.objections += 1;
        let has_pause = self.objections == 1 || self.objections.is_multiple_of(OBJECTIONS_TOGETHER);
        let length = OBJECTION_PAUSES.get(self.objections / OBJECTIONS_TOGETHER);
        let pause = has_pause.then(|| Pause {
            length: *length.unwrap_or(&LONGEST_OBJECTION_PAUSE),
            reason: format!("the mail server objects to the sender or to the message: {reply}"),
        });
        (status, pause)
    }

    fn pause_after(&mut self, error: &str) -> Pause {
        let length = CONNECT_PAUSES[self.failures.min(CONNECT_PAUSES.len() - 1)];
        self.failures += 1;
        let server = &self.confirmation.sender.settings.mail.smtp;
        Pause {
            length,
            reason: format!("{server}: {error}"),
        }
    }

    /// Records the result of a message.
    async fn finish(&self, id: &MessageId, result: &DeliveryResult) -> Result<(), StoreError> {
        let mut finished = Ok(());
        for _ in 0..FINISH_ATTEMPTS_MAX {
            let results = vec![result.clone()];
            finished = self.confirmation.list.finish_deliveries(id, results).await;
            if matches!(finished, Ok(()) | Err(StoreError::Superseded)) {
                break;
            }
            sleep(STORE_PAUSE).await;
        }
        finished
    }

    /// Writes the message for a person.
    fn write(
        &self,
        email: &Email,
        id: &MessageId,
        number: u8,
    ) -> Result<WrittenMessage, ComposeError> {
        let settings = &self.confirmation.sender.settings;
        let mail = &settings.mail;
        let keys = locked(&self.confirmation.state).keys.clone();
        let key = keys.first().ok_or(ComposeError::NoToken)?;
        let tokens = PersonTokens::new(&keys, TokenPurpose::Confirm);
        let token = tokens.token(email).ok_or(ComposeError::NoToken)?;
        let code = confirmation_code(key, email, number);
        let message = confirmation_message(
            &settings.product,
            mail.postal_address.as_deref(),
            &code,
            &format!("{}/confirm/{token}", settings.origin.as_str()),
        )?;
        let headers = MessageHeaders {
            from: &mail.from,
            to: email,
            message_id: &message_id(key, id, email, &mail.from),
            date: SystemTime::now(),
            host: settings.origin.host(),
            unsubscribe: None,
            signer: self.confirmation.sender.signer.as_ref(),
        };
        Ok(WrittenMessage {
            bytes: compose(&headers, &message)?,
            secrets: [token, code],
        })
    }
}

impl From<StoreError> for Pause {
    fn from(error: StoreError) -> Self {
        Self {
            length: STORE_PAUSE,
            reason: error.to_string(),
        }
    }
}

/// Returns a status as of now.
fn now(status: DeliveryStatus) -> DeliveryStatus {
    DeliveryStatus {
        since: Some(SystemTime::now()),
        ..status
    }
}
