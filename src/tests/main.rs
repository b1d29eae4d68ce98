//! The site from outside: over HTTP, through the public types, and as a program.

mod architecture;
mod delivery;
mod email;
mod metadata;
mod pages;
mod program;
mod store;
mod style;
mod support;
mod texts;
mod waitlist_api;
