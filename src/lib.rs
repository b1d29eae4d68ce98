//! Steward's site: a one-page marketing site and its early-access waitlist.
//!
//! Leptos renders the page on the server. In the browser, a small WebAssembly module mounts the React islands.
//! Sign-ups are stored in an embedded store, or in a database that several instances share.
//!
//! These are the layers of the code, from the top down. A module may use the modules of the same layer and of the
//! layers below. `tests/site/architecture.rs` enforces this.
//!
//! | layer | module | holds |
//! |---|---|---|
//! | 5 | [`cli`] | the commands, and the socket by which they reach a running server |
//! | 4 | [`server`] | the HTTP server: connections, routes, server functions, cached pages, files, limits, errors; confirmations and the webhook |
//! | 3 | [`page`] | what the server renders: the pages with their sections, islands and metadata |
//! | 3 | [`mail`] | messages to the people on the list: their text, and the connection to the mail server |
//! | 2 | [`waitlist`] | the list: e-mail addresses, the trait of a store, and the two stores, sled and PostgreSQL |
//! | 1 | [`copy`] | every text and link that a visitor reads |
//! | 1 | [`wire`] | every type that the server shares with TypeScript, as JSON |
//! | 1 | [`config`] | the server's command-line options |
//! | 1 | `exit` | lines on standard error, the end of the process, and its exit codes |
//!
//! In the browser, the WebAssembly module of `islands/host` mounts the islands.
#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod copy;
mod exit;
pub mod mail;
pub mod page;
pub mod server;
pub mod waitlist;
pub mod wire;
