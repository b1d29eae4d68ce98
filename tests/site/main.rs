//! Tests of the site from outside: over HTTP, through the public types, and as a program.
//!
//! One binary holds all of them, because each binary would link the whole program again.
//!
//! These modules have no tests. They run what the tests use:
//!
//! - `test_site`: the site inside the test process. `fixtures` has its parts.
//! - `process`: the program as a process. `ended`: one that has ended.
//! - `mail::smtp_server`: a mail server that does what a test says.
//! - `postgres_server`: a PostgreSQL server. `fault_proxy` disturbs the connection to it.
//! - `raw_store`: the files of a list, read with sled. `set_clock` changes the time of a program.

mod architecture;
mod bindings;
mod cli;
mod delivery;
mod documentation_links;
#[cfg(target_os = "linux")]
mod durability;
mod email;
mod ended;
mod fault_proxy;
mod fixtures;
mod fuzz_corpus;
mod http;
mod http_rules;
#[cfg(target_os = "linux")]
mod instances;
#[cfg(target_os = "linux")]
mod lifecycle;
mod mail;
mod options;
mod postgres_server;
mod process;
mod raw_store;
#[cfg(target_os = "linux")]
mod reverse_proxies;
mod security;
#[cfg(target_os = "linux")]
mod set_clock;
#[cfg(target_os = "linux")]
mod socket_activation;
mod store;
mod style_sheets;
mod test_site;
mod waitlist_api;
mod webhook;
