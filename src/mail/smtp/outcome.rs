//! The outcome of sending a message.

use super::reply::MessagePart;
use crate::waitlist::ServerReply;

/// The outcome of sending a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SendOutcome {
    /// The server has accepted the message.
    Accepted(ServerReply),
    /// The server rejects a part of the message, for now (4xx) or for good (5xx).
    Rejected(MessagePart, ServerReply),
    /// The server has certainly not accepted the message.
    NotSent(NotSent),
    /// The connection broke, or the time limit ended, after the whole message was written. The server may have
    /// accepted it.
    Unknown,
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotSent {
    /// The connection broke before the message itself was written, or the server was too slow or replied with something else than
    /// SMTP.
    BeforeContent,
    /// The connection broke or was too slow while the message itself was written.
    InContent,
    /// The program ends, and the server was slow.
    Stopped,
}
