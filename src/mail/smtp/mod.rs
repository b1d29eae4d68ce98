//! The connection to the mail server, with mail-send.
//!
//! - `client`: connects step by step. `timeouts`: the time limit of each step. `raw_client`: the client of mail-send.
//! - `connection`: sends messages over a connection. `outcome`: the outcome of a message.
//! - `reply`: the replies of the server.
//! - `error`: why a connection fails.

mod client;
mod connection;
mod error;
mod outcome;
mod raw_client;
mod reply;
mod timeouts;

pub use client::SmtpClient;
pub use connection::SmtpConnection;
pub use error::{ConnectError, ConnectStep};
pub use outcome::{NotSent, SendOutcome};
pub use reply::MessagePart;
pub use timeouts::SmtpTimeouts;
