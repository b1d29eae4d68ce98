//! Messages: their text, and the connection to the mail server.

mod link_check;
#[cfg(target_os = "linux")]
mod postfix;
mod smtp_addresses;
mod smtp_faults;
mod smtp_limits;
pub(crate) mod smtp_server;
mod templates;
mod unsubscribe;
