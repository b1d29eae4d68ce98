//! The control socket: how a command reaches the list that a running server holds.
//!
//! It is a Unix socket in the data directory that only its owner can use (mode 0600). It is never exposed over the
//! network. A client sends one request as a line of JSON, and receives the response as lines of JSON.
//!
//! - `calls`: the messages, and the calls that they make.
//! - `client`: the command's side.
//! - `server`: the server's side.
//! - `socket`: the socket file.

mod calls;
mod client;
mod server;
mod socket;

pub(crate) use client::ControlClient;
pub(crate) use server::{ControlServer, listen};
