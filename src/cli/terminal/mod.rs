//! The program's side of the terminal.
//!
//! - `log`: the log of the server, on standard error.
//! - `output`: what a command prints, as text or as JSON. A slow reader does not keep the list open.
//! - `progress`: progress bars.
//! - `question`: questions on a terminal.
//! - `signals`: SIGTERM, Ctrl-C, and other signals.

pub(super) mod log;
pub(super) mod output;
pub(super) mod progress;
pub(super) mod question;
pub(super) mod signals;
