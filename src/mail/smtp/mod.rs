//! The connection to the mail server, with mail-send.
//!
//! - `client`: connects step by step. `timeouts`: the time limit of each step. `raw_client`: the client of mail-send.
//! - `connection`: sends messages over a connection, and the outcome of each.
//! - `reply`: the replies of the server.
//! - `error`: why a connection fails.

mod client;
mod connection;
mod error;
mod raw_client;
mod reply;
mod timeouts;

pub use client::SmtpClient;
pub use connection::{NotSent, SendOutcome, SmtpConnection};
pub use error::{ConnectError, ConnectStep};
pub use reply::MessagePart;
pub use timeouts::SmtpTimeouts;
