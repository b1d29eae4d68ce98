//! The site from outside: over HTTP, through the public types, and as a program.

mod architecture;
mod cli;
mod delivery;
#[cfg(target_os = "linux")]
mod durability;
mod email;
mod fixtures;
mod fuzz_corpus;
#[cfg(target_os = "linux")]
mod instances;
mod lifecycle;
mod metadata;
mod pages;
mod postgres_server;
mod process;
#[cfg(target_os = "linux")]
mod reverse_proxies;
mod security;
mod store;
mod style_sheets;
mod test_site;
mod text_files;
mod waitlist_api;
