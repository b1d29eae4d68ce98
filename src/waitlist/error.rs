//! Errors of a running store, and the future that may return them.

use std::pin::Pin;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The future of a store's response.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// An error of a running store.
#[derive(Clone, Debug, Deserialize, Eq, Error, PartialEq, Serialize)]
pub enum StoreError {
    /// The queue of requests is full. A retry in a moment may succeed.
    #[error("the queue of sign-ups is full")]
    Busy,
    /// The store did not respond in time. The request may be done all the same.
    #[error("the store did not respond in time")]
    TimedOut,
    /// The store has stopped.
    #[error("the store has stopped")]
    Stopped,
    /// The stored data cannot be read.
    #[error("the store cannot be read")]
    Unreadable,
    /// The database does not respond.
    #[error("the database does not respond")]
    Unreachable,
    /// The database responds with an error. The text is the database's and contains no address.
    #[error("the database reports an error: {0}")]
    Database(Box<str>),
    /// The store could not be rewritten, for this reason. No entry is lost.
    #[error("the waitlist was not compacted: {0}")]
    NotCompacted(Box<str>),
    /// The result of a delivery is not recorded, because another process has begun or finished the delivery.
    #[error("another process has begun or finished the same deliveries")]
    Superseded,
    /// The call has more than [`CALL_MAX`](super::CALL_MAX) items. It has changed nothing.
    #[error("a call with more than {max} items", max = super::CALL_MAX)]
    CallTooLarge,
    /// A list in a directory has as many messages as its records can number. Nothing was added.
    #[error("the list has 65,536 messages, which is the maximum in a directory")]
    TooManyMessages,
    /// The server that holds the list does not respond, for this reason.
    #[error("the server does not respond: {0}")]
    ServerNotResponding(Box<str>),
    /// The server that holds the list does not understand this program.
    #[error("the running server and this command are different versions")]
    OtherVersion,
    /// The reader of the list paused for too long.
    #[error("reading was paused for too long")]
    CallerTimedOut,
}
