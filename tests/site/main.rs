//! The site from outside: over HTTP, through the public types, and as a program.

mod architecture;
#[cfg(target_os = "linux")]
mod copies;
mod delivery;
#[cfg(target_os = "linux")]
mod durability;
mod email;
mod fuzz;
mod made;
mod metadata;
mod owner;
mod pages;
mod postgres;
mod program;
#[cfg(target_os = "linux")]
mod proxies;
mod running;
mod security;
mod store;
mod style;
mod support;
mod texts;
mod waitlist_api;
