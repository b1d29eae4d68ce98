//! The site from outside: over HTTP, through the public types, and as a program.
//!
//! One binary, because each would link the whole program again.

mod architecture;
mod email;
mod pages;
mod program;
mod store;
mod support;
mod waitlist_api;
