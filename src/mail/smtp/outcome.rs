//! The outcome of sending a message.

use super::reply::{MessagePart, SmtpReply};

/// The outcome of sending a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SendOutcome {
    /// The server has accepted the message.
    Accepted(SmtpReply),
    /// The server rejects a part of the message, for now (4xx) or for good (5xx).
    Rejected(MessagePart, SmtpReply),
    /// The server has certainly not accepted the message.
    NotSent(NotSent),
    /// The connection broke, or the time limit ended, after the whole message was written. The server may have
    /// accepted it.
    Unknown,
}

impl SendOutcome {
    /// Returns the outcome with another reply of the server.
    pub(in crate::mail) fn map_reply(self, change: impl Fn(&SmtpReply) -> SmtpReply) -> Self {
        match self {
            Self::Accepted(reply) => Self::Accepted(change(&reply)),
            Self::Rejected(part, reply) => Self::Rejected(part, change(&reply)),
            Self::NotSent(_) | Self::Unknown => self,
        }
    }
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
