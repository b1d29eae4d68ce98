//! The control socket: how a command reaches the list that a running server holds.
//!
//! It is a Unix socket in the data directory that only its owner can use (mode 0600). It is never exposed over the
//! network. A client sends one request as a line of JSON, and receives the response as lines of JSON.
//!
//! - `protocol`: the messages.
//! - `client`: the command's side.
//! - `server`: the server's side.
//! - `ledger_protocol`, `ledger_client`, `ledger_handler`: the same for the ledger.
//! - `reply_line`: the lines of a response.
//! - `socket`: the socket file.

mod client;
mod ledger_client;
mod ledger_handler;
mod ledger_protocol;
mod protocol;
mod reply_line;
mod server;
mod socket;

pub(crate) use client::ControlClient;
pub(crate) use protocol::BATCH_SIZE;
pub(crate) use server::listen;
