//! Steward's site: a one-page marketing site and its early-access waitlist.
//!
//! Leptos renders the page on the server, a small wasm host mounts React islands in it, and an
//! embedded store keeps the sign-ups, or a database that several copies share. The map, from the bottom up: a module uses modules of its own
//! layer and of those above it in this table, and `tests/architecture.rs` holds it to that.
//!
//! | layer | module | holds |
//! |---|---|---|
//! | words | [`copy`] | every sentence and link that a visitor reads |
//! | | [`wire`] | every type that crosses the network or the border to TypeScript |
//! | | `config` | command-line flags and environment of the server |
//! | list | `waitlist` | an address, the trait of a store, the stores: sled's and PostgreSQL's |
//! | page | `page` | what a page is made of |
//! | | `metadata` | what search engines and previews read |
//! | | `island` | what the server writes for an island |
//! | | `sections` | one component for each section |
//! | | `app` | the pages: the head, and the sections in their order |
//! | site | `server` | connections, routes, pages in memory, assets, limits, errors |
//! | | `api` | the server functions of `/api/waitlist` |
//! | owner | `control` | the socket by which the owner's commands reach a running server |
//! | program | `cli` | the commands |
//! | browser | `host` | finds islands, decides when each starts, mounts it |
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
pub mod control;
#[cfg(feature = "ssr")]
pub mod island;
#[cfg(feature = "ssr")]
pub mod metadata;
#[cfg(feature = "ssr")]
pub mod page;
#[cfg(feature = "ssr")]
pub mod sections;
#[cfg(feature = "ssr")]
pub mod server;
#[cfg(feature = "ssr")]
pub mod waitlist;

#[cfg(feature = "hydrate")]
pub mod host;
