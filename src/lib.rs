//! Steward's site: a one-page marketing site and its early-access waitlist.
//!
//! Leptos renders the page on the server, a small wasm host mounts React islands in it, and an
//! embedded store keeps the sign-ups. The map, from the bottom up (a module uses only what stands
//! above it in this list; `tests/architecture.rs` holds it to that):
//!
//! | module | holds |
//! |---|---|
//! | [`copy`] | every sentence and link that a visitor reads |
//! | [`wire`] | every type that crosses the network or the border to TypeScript |
//! | `config` | command-line flags and environment |
//! | `waitlist` | the list: an address, the trait of a store, the sled store |
//! | `island` | what the server writes for an island |
//! | `sections` | one component for each section of the page |
//! | `app` | the pages: the head, and the sections in their order |
//! | `api` | the server functions of `/api/waitlist` |
//! | `server` | routes, pages in memory, assets, errors |
//! | `cli` | the program's commands |
//! | `host` | the browser's half: finds islands, decides when each starts, mounts it |
#![forbid(unsafe_code)]

pub mod copy;
pub mod wire;

#[cfg(feature = "ssr")]
pub mod api;
#[cfg(feature = "ssr")]
pub mod app;
#[cfg(feature = "ssr")]
pub mod cli;
#[cfg(feature = "ssr")]
pub mod config;
#[cfg(feature = "ssr")]
pub mod island;
#[cfg(feature = "ssr")]
pub mod sections;
#[cfg(feature = "ssr")]
pub mod server;
#[cfg(feature = "ssr")]
pub mod waitlist;

#[cfg(feature = "hydrate")]
pub mod host;
