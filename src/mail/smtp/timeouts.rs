//! The time limits of a connection.

use std::time::Duration;

/// The time limits of a connection. Those for connecting and for commands are shorter than the minutes of RFC 5321, section
/// 4.5.3.2, because what takes too long is tried again.
#[derive(Clone, Copy, Debug)]
pub struct SmtpTimeouts {
    /// For connecting, with the lookup of the host.
    pub connect: Duration,
    /// For each other step, and for the reply to each command.
    pub step: Duration,
    /// For a message with its commands, until its end is written. Section 4.5.3.2.5 has three minutes for each block of it;
    /// here it is the whole message, which has at most a few hundred kilobytes.
    pub write: Duration,
    /// For the reply to the whole message. Some servers scan it first, and a limit that is too short leaves a message unknown
    /// that was accepted: section 4.5.3.2.6 has ten minutes.
    pub accept: Duration,
}

impl Default for SmtpTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            step: Duration::from_secs(30),
            write: Duration::from_secs(3 * 60),
            accept: Duration::from_secs(10 * 60),
        }
    }
}
