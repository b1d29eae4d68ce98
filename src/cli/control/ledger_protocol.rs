//! The messages on the control socket about the ledger.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use serde::{Deserialize, Serialize};

use crate::waitlist::{
    AddressHash, Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Message,
    MessageId, ServerReply, from_unix_millis, unix_millis,
};

/// Deliveries per line, in both directions. Each takes at most 1.5 KB, because JSON needs up to six bytes for a byte.
pub(super) const DELIVERIES_BATCH_SIZE: usize = 512;

/// A request about the ledger. The response is a [`Reply`](super::protocol::Reply) of the type named here.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum LedgerCommand {
    /// `Vec<String>`, a list key in base64url each.
    Keys,
    /// `Vec<bool>`: whether each address is on the list.
    AreListed(Vec<String>),
    /// `Vec<WireMessage>`.
    Messages,
    /// `()`.
    AddMessage(WireMessage),
    /// One `Vec<WireDelivery>` per line. An empty one ends the response.
    Deliveries(String),
    /// `bool`, see [`Ledger::add_deliveries`](crate::waitlist::Ledger::add_deliveries).
    Add {
        message: String,
        known: u32,
        deliveries: Vec<WireDelivery>,
    },
    /// `Vec<bool>`, see [`Ledger::begin_deliveries`](crate::waitlist::Ledger::begin_deliveries).
    Begin {
        message: String,
        deliveries: Vec<WireStart>,
    },
    /// `()`, see [`Ledger::finish_deliveries`](crate::waitlist::Ledger::finish_deliveries).
    Finish {
        message: String,
        results: Vec<WireResult>,
    },
}

/// A message: its id, milliseconds since 1970, and the subject.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WireMessage(String, u64, String);

impl From<&Message> for WireMessage {
    fn from(message: &Message) -> Self {
        Self(
            message.id.to_string(),
            unix_millis(message.begun_at),
            message.subject().to_owned(),
        )
    }
}

impl WireMessage {
    /// Returns `None` if the id is invalid.
    pub(super) fn parse(self) -> Option<Message> {
        let Self(id, begun_at, subject) = self;
        Some(Message::new(
            parse_id(&id)?,
            from_unix_millis(begun_at),
            &subject,
        ))
    }
}

/// A delivery: the recipient in base64url, its status, and how often it was begun.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WireDelivery(String, WireStatus, u32);

impl From<&Delivery> for WireDelivery {
    fn from(delivery: &Delivery) -> Self {
        Self(
            BASE64.encode(delivery.recipient.as_bytes()),
            WireStatus::from(&delivery.status),
            delivery.attempts,
        )
    }
}

impl WireDelivery {
    /// Returns `None` if it is malformed.
    pub(super) fn parse(self) -> Option<Delivery> {
        let Self(recipient, status, attempts) = self;
        Some(Delivery {
            recipient: AddressHash::from_slice(&BASE64.decode(recipient).ok()?)?,
            status: status.parse()?,
            attempts,
        })
    }
}

/// A status: the name of the state, milliseconds since 1970, and the code and text of the server's reply.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WireStatus(String, Option<u64>, Option<(u16, String)>);

impl From<&DeliveryStatus> for WireStatus {
    fn from(status: &DeliveryStatus) -> Self {
        let reply = status.reply.as_ref();
        Self(
            status.state.as_str().to_owned(),
            status.since.map(unix_millis),
            reply.map(|reply| (reply.code, reply.text().to_owned())),
        )
    }
}

impl WireStatus {
    /// Returns `None` if there is no such state.
    pub(super) fn parse(self) -> Option<DeliveryStatus> {
        let Self(state, since, reply) = self;
        Some(DeliveryStatus {
            state: DeliveryState::from_name(&state)?,
            since: since.map(from_unix_millis),
            reply: reply.map(|(code, text)| ServerReply::new(code, &text)),
        })
    }
}

/// A delivery to begin: its number, the name of its state, and how often it was begun.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WireStart(u32, String, u32);

impl From<&DeliveryStart> for WireStart {
    fn from(start: &DeliveryStart) -> Self {
        Self(
            start.number,
            start.state.as_str().to_owned(),
            start.attempts,
        )
    }
}

impl WireStart {
    /// Returns `None` if there is no such state.
    pub(super) fn parse(self) -> Option<DeliveryStart> {
        let Self(number, state, attempts) = self;
        Some(DeliveryStart {
            number,
            state: DeliveryState::from_name(&state)?,
            attempts,
        })
    }
}

/// A result: the number of the delivery, that of the attempt, and the status.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WireResult(u32, u32, WireStatus);

impl From<&DeliveryResult> for WireResult {
    fn from(result: &DeliveryResult) -> Self {
        Self(
            result.number,
            result.attempt,
            WireStatus::from(&result.status),
        )
    }
}

impl WireResult {
    /// Returns `None` if there is no such state.
    pub(super) fn parse(self) -> Option<DeliveryResult> {
        let Self(number, attempt, status) = self;
        Some(DeliveryResult {
            number,
            attempt,
            status: status.parse()?,
        })
    }
}

/// Returns the id of a message of a request, or `None` if it is invalid.
pub(super) fn parse_id(id: &str) -> Option<MessageId> {
    id.parse().ok()
}
