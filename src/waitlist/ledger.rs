//! The ledger: the deliveries of each message, and their results.
//!
//! A message has one delivery for each recipient. A delivery is [`Sending`](DeliveryState::Sending), durably, before
//! the message goes out. So after a crash the ledger names every message that may have gone out without a result:
//! nothing is sent twice.
//!
//! The ledger knows people only by the keyed hashes of their addresses. It keeps them after the people have left, so
//! that a person who joins again does not get the same message again.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{error::StoreFuture, suppression::AddressHash};

/// The ledger of a list. Its deliveries are numbered from 0, in each message. A call has at most
/// [`CALL_MAX`](super::CALL_MAX) deliveries.
pub trait Ledger: Send + Sync + 'static {
    /// Returns the messages, the oldest first.
    ///
    /// # Errors
    /// Like [`OwnerList::entries`](super::OwnerList::entries).
    fn messages(&self) -> StoreFuture<'_, Vec<Message>>;

    /// Adds a message, unless there is one with this id. Once the future resolves, it is durable.
    ///
    /// # Errors
    /// Like [`Waitlist::join`](super::Waitlist::join). [`StoreError::TooManyMessages`](super::StoreError::TooManyMessages) if
    /// a list in a directory has 65,536 messages.
    fn add_message(&self, message: Message) -> StoreFuture<'_, ()>;

    /// Returns the deliveries of a message, in the order of their numbers, from the number `from` on. After a crash of the
    /// process that sent them, deliveries that had begun are [`Unknown`](DeliveryState::Unknown). It may read the whole list.
    ///
    /// # Errors
    /// Like [`OwnerList::entries`](super::OwnerList::entries).
    fn deliveries(&self, message: &MessageId, from: u32) -> StoreFuture<'_, Vec<Delivery>>;

    /// Adds deliveries to a message, if it has exactly `known` deliveries: the caller has seen all of them, so nobody
    /// is added twice. Returns whether all were added. Then they are durable. It returns false if the message is unknown, or
    /// if others have added deliveries. Those that are [`Sending`](DeliveryState::Sending) become
    /// [`Unknown`](DeliveryState::Unknown), and nothing has begun any of them here.
    ///
    /// # Errors
    /// Like [`Waitlist::join`](super::Waitlist::join). They may have been added.
    fn add_deliveries(
        &self,
        message: &MessageId,
        known: u32,
        deliveries: Vec<Delivery>,
    ) -> StoreFuture<'_, bool>;

    /// Begins deliveries. A call names each at most once. Each becomes [`Sending`](DeliveryState::Sending), if it is
    /// as the caller knows it. Returns for each whether it is the caller's to send. Once the future resolves, that is
    /// durable.
    ///
    /// # Errors
    /// Like [`Waitlist::join`](super::Waitlist::join). Some deliveries may have begun. They become
    /// [`Unknown`](DeliveryState::Unknown) unless they are finished.
    fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: Vec<DeliveryStart>,
    ) -> StoreFuture<'_, Vec<bool>>;

    /// Sets the results of attempts that the caller has begun, or [skips](DeliveryState::Skipped) deliveries that wait or were
    /// deferred. Once the future resolves, they are durable. Repeating the call is safe.
    ///
    /// # Errors
    /// Like [`Waitlist::join`](super::Waitlist::join). [`StoreError::Superseded`](super::StoreError::Superseded) if a
    /// result is not recorded, because the delivery has another result, or was begun again. The others are recorded.
    fn finish_deliveries(
        &self,
        message: &MessageId,
        results: Vec<DeliveryResult>,
    ) -> StoreFuture<'_, ()>;
}

/// Time after which a delivery that has begun is unknown, because the process that began it must have ended. It is longer
/// than a delivery takes with all its timeouts, which is 19 minutes: nine to connect again and write
/// (`src/cli/send/sender.rs`), and ten for the reply (`src/mail/smtp/timeouts.rs`).
pub(super) const DELIVERY_LEASE: Duration = Duration::from_secs(20 * 60);
/// Maximum length of the subject that the ledger keeps, in bytes. A longer one is cut.
const SUBJECT_MAX_BYTES: usize = 200;
/// Maximum length of a server's reply that the ledger keeps, in bytes. A longer one is cut.
const REPLY_MAX_BYTES: usize = 200;

/// A message to the people on the list.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Message {
    /// The id.
    pub id: MessageId,
    /// When it was first sent to somebody. Stores keep it to the millisecond.
    pub begun_at: SystemTime,
    /// The subject, or the beginning of it.
    subject: Box<str>,
    /// The SHA-256 of its text in Markdown. `None` if a server sends it, whose text may change.
    pub text_digest: Option<[u8; 32]>,
}

impl Message {
    /// Creates a message without the digest of a text.
    pub fn new(id: MessageId, begun_at: SystemTime, subject: &str) -> Self {
        Self {
            id,
            begun_at,
            subject: cut(subject, SUBJECT_MAX_BYTES).into(),
            text_digest: None,
        }
    }

    /// Returns the message with this digest.
    pub fn with_text_digest(mut self, text_digest: Option<[u8; 32]>) -> Self {
        self.text_digest = text_digest;
        self
    }

    /// Returns the subject, or the first 200 bytes of it.
    pub fn subject(&self) -> &str {
        &self.subject
    }
}

/// The states of a delivery. Their numbers are part of the format of a list in a data directory.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum DeliveryState {
    /// It has not begun.
    Waiting = 0,
    /// It has begun. It may have been sent.
    Sending = 1,
    /// The mail server accepted the message.
    Accepted = 2,
    /// The mail server asked to try again later (4xx).
    Deferred = 3,
    /// The mail server refused the message for good (5xx).
    Refused = 4,
    /// It had begun when the process was killed or the connection broke. The person may have the message.
    Unknown = 5,
    /// It was not sent: the person had left the list before, the owner gave it up, or the server was stopped.
    Skipped = 6,
}

impl DeliveryState {
    /// All states, in the order in which they are reported.
    pub const ALL: [Self; 7] = [
        Self::Accepted,
        Self::Refused,
        Self::Deferred,
        Self::Unknown,
        Self::Skipped,
        Self::Sending,
        Self::Waiting,
    ];

    /// Returns the name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Sending => "sending",
            Self::Accepted => "accepted",
            Self::Deferred => "deferred",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Skipped => "skipped",
        }
    }

    /// Returns the state with this number.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state as u8 == number)
    }

    /// Returns the state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// The reply of a mail server. `Debug` hides its text. What it means is in `src/mail/smtp/reply.rs`.
#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
pub struct ServerReply {
    /// The code, such as 550 (RFC 5321).
    pub code: u16,
    text: Box<str>,
}

impl ServerReply {
    /// Creates a reply. The text must not contain the address of the recipient.
    pub fn new(code: u16, text: &str) -> Self {
        Self {
            code,
            text: cut(text, REPLY_MAX_BYTES).into(),
        }
    }

    /// Returns the text after the code, or the first 200 bytes of it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for ServerReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerReply({}, …)", self.code)
    }
}

impl fmt::Display for ServerReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.text)
    }
}

/// A message to one person.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Delivery {
    /// The address, as a hash under the list's key.
    pub recipient: AddressHash,
    /// How far it is, and since when.
    pub status: DeliveryStatus,
    /// How often it was begun.
    pub attempts: u32,
}

impl Delivery {
    /// Creates a delivery that has not begun.
    pub fn waiting(recipient: AddressHash) -> Self {
        Self {
            recipient,
            status: DeliveryStatus::new(DeliveryState::Waiting),
            attempts: 0,
        }
    }

    /// Returns what a caller passes who begins the delivery with this number.
    pub fn start(&self, number: u32) -> DeliveryStart {
        DeliveryStart {
            number,
            recipient: self.recipient,
            state: self.status.state,
            attempts: self.attempts,
        }
    }

    /// Returns the delivery as a list has it that gets it from elsewhere: from a caller who adds it, or from a backup. If it
    /// had begun, it is unknown, because nobody finishes it here.
    pub(super) fn taken_over(mut self) -> Self {
        if self.status.state == DeliveryState::Sending {
            self.status.state = DeliveryState::Unknown;
        }
        self
    }
}

/// A delivery that a caller wants to begin, as the caller knows it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DeliveryStart {
    /// The number of the delivery.
    pub number: u32,
    /// Its recipient. A database that has lost its last changes may have given the number to somebody else.
    pub recipient: AddressHash,
    /// Its state.
    pub state: DeliveryState,
    /// How often it was begun. The caller's attempt has the next number.
    pub attempts: u32,
}

impl DeliveryStart {
    /// Returns the result of the attempt that the caller has begun with this.
    pub fn result(self, status: DeliveryStatus) -> DeliveryResult {
        DeliveryResult {
            number: self.number,
            recipient: self.recipient,
            attempt: self.attempts + 1,
            status,
        }
    }
}

/// The result of an attempt.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DeliveryResult {
    /// The number of the delivery.
    pub number: u32,
    /// Its recipient, as for [`DeliveryStart`].
    pub recipient: AddressHash,
    /// The number of the attempt, from 1. A late result of an earlier attempt must change nothing.
    pub attempt: u32,
    /// What became of it. [`Waiting`](DeliveryState::Waiting) gives it back.
    pub status: DeliveryStatus,
}

/// The state of a delivery.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DeliveryStatus {
    /// The state.
    pub state: DeliveryState,
    /// When the delivery got into the state. Stores keep it to the millisecond. A sending delivery has none, nor has one
    /// that has never begun.
    pub since: Option<SystemTime>,
    /// What the mail server replied, if it has. A deferred delivery without a reply was not sent, because the connection broke
    /// before. If a delivery is refused without one, this program has refused the address.
    pub reply: Option<ServerReply>,
}

impl DeliveryStatus {
    /// Creates a status without a time and a reply.
    pub fn new(state: DeliveryState) -> Self {
        Self {
            state,
            since: None,
            reply: None,
        }
    }
}

/// Maximum length of an id, in bytes.
const MAX_BYTES: usize = 64;

/// The id of a message, by which the ledger knows who has had it: 1 to 64 characters of `a-z`, `0-9` and `-`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String")]
pub struct MessageId(Box<str>);

/// A text that cannot be an id of a message.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("an id has 1 to {MAX_BYTES} lower-case letters (a-z), digits and hyphens")]
pub struct InvalidMessageId;

impl MessageId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the message that asks people to confirm their address. It has a delivery for each time that a
    /// person is asked.
    pub fn confirmation() -> Self {
        Self("confirmation".into())
    }

    /// Returns the id under which the ledger has the days on which a server has asked people: a delivery to nobody for each.
    pub fn confirmation_days() -> Self {
        Self("confirmation-days".into())
    }

    /// Returns the id of the message to people who have confirmed their address. It has a delivery for each.
    pub fn welcome() -> Self {
        Self("confirmation-welcome".into())
    }

    /// Returns whether a server uses this id. The owner cannot.
    pub fn is_reserved(&self) -> bool {
        let (code, days) = (Self::confirmation(), Self::confirmation_days());
        [code, days, Self::welcome()].contains(self)
    }

    /// Wraps an id that was parsed before it was stored.
    pub(super) fn from_stored(id: &str) -> Self {
        Self(id.into())
    }
}

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        let is_valid = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        if text.is_empty() || text.len() > MAX_BYTES || !text.bytes().all(is_valid) {
            return Err(InvalidMessageId);
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for MessageId {
    type Error = InvalidMessageId;

    fn try_from(text: String) -> Result<Self, InvalidMessageId> {
        text.parse()
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns the first `max_bytes` of a text, or less, so that no character is cut.
fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}
