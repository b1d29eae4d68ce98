//! The messages on the control socket: a request is a line of JSON, and so is each part of a response.

use serde::{Deserialize, Serialize};

use crate::waitlist::{
    Delivery, DeliveryResult, DeliveryStart, Email, Erasure, Message, MessageId, Selection,
    StoreError, WaitlistEntry,
};

/// Version of the protocol. A server and a command differ when the program was replaced while the server runs.
pub(super) const PROTOCOL_VERSION: u32 = 10;

/// A request.
#[derive(Deserialize, Serialize)]
pub(super) struct Request {
    pub(super) protocol: u32,
    pub(super) call: Call,
}

/// A call of a method of [`OwnerList`](crate::waitlist::OwnerList) or of [`Ledger`](crate::waitlist::Ledger). The
/// response is what the method returns, as a [`Reply`].
///
/// The response to [`Entries`](Self::Entries) takes several lines: the number of entries, at most
/// [`CALL_MAX`](crate::waitlist::CALL_MAX) entries in each line, and a line without entries.
#[derive(Deserialize, Serialize)]
pub(super) enum Call {
    JoinAll(Vec<WaitlistEntry>),
    Erase(Vec<Email>, Erasure),
    AreListed(Vec<Email>),
    ListKey,
    Suppress(Vec<Email>),
    Lift(Vec<Email>),
    Suppressions,
    IsSuppressed(Email),
    Correct(Email, Email),
    Compact,
    Recount,
    Entries(Selection),
    Messages,
    AddMessage(Message),
    Deliveries(MessageId),
    AddDeliveries(MessageId, u32, Vec<Delivery>),
    BeginDeliveries(MessageId, Vec<DeliveryStart>),
    FinishDeliveries(MessageId, Vec<DeliveryResult>),
}

/// The result of a call, or a part of it.
pub(super) type Reply<T> = Result<T, StoreError>;
