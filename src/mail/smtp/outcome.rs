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
    /// Returns the outcome with a reply that has none of these words.
    pub fn without(self, secrets: &[String]) -> Self {
        self.with_reply(|reply| reply.without(secrets))
    }

    /// The ledger keeps the words of the server after a person has left, so they must not name the person.
    pub(super) fn without_address(self, address: &str) -> Self {
        self.with_reply(|reply| reply.without_address(address))
    }

    fn with_reply(self, change: impl Fn(&SmtpReply) -> SmtpReply) -> Self {
        match self {
            Self::Accepted(reply) => Self::Accepted(change(&reply)),
            Self::Rejected(part, reply) => Self::Rejected(part, change(&reply)),
            Self::NotSent(_) | Self::Unknown => self,
        }
    }
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotSent {
    /// The connection broke.
    #[error("the connection broke")]
    Broken,
    /// The server took too long.
    #[error("the server did not respond in time")]
    Timeout,
    /// The server closed the connection, or its reply is not SMTP or too long.
    #[error("the server closed the connection, or its reply is invalid or too long")]
    Protocol,
    /// The program ends, and the server was slow.
    #[error("the program was stopped")]
    Stopped,
}
