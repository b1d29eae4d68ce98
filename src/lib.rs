//! Steward's site: a one-page marketing site and its early-access waitlist.
//!
//! Leptos renders the page on the server, a small wasm host mounts React islands in it, and the sign-ups
//! are kept in an embedded store, or in a database that several instances share.
//!
//! The layers of the code, from the top down. A module uses modules of its own layer and of the layers
//! below it; `tests/site/architecture.rs` enforces this.
//!
//! | layer | module | holds |
//! |---|---|---|
//! | 5 | [`cli`] | the commands, and the socket through which they reach a running server |
//! | 4 | [`server`] | HTTP: connections, routes, server functions, cached pages, assets, limits, errors |
//! | 3 | [`page`] | what the server renders: the two pages, their sections, metadata and islands |
//! | 2 | [`waitlist`] | an address, the trait of a store, and the two stores: sled and PostgreSQL |
//! | 1 | [`copy`] | every sentence and link that a visitor reads |
//! | 1 | [`wire`] | every type that crosses the network or the border to TypeScript |
//! | 1 | [`config`] | command-line flags and environment of the server |
//!
//! In the browser, `island_host` finds the islands, decides when each starts, and mounts it. It uses
//! [`wire`] alone.
#![forbid(unsafe_code)]

#[cfg(feature = "ssr")]
pub mod cli;
#[cfg(feature = "ssr")]
pub mod config;
pub mod copy;
#[cfg(feature = "hydrate")]
pub mod island_host;
#[cfg(feature = "ssr")]
pub mod page;
#[cfg(feature = "ssr")]
pub mod server;
#[cfg(feature = "ssr")]
pub mod waitlist;
pub mod wire;
