//! The time limits of a connection.

use std::time::Duration;

/// The time limits of a connection. RFC 5321, section 4.5.3.2, has minutes, for servers that pass mail on. A person
/// waits for this program, and what takes too long is tried again.
#[derive(Clone, Copy, Debug)]
pub struct SmtpTimeouts {
    /// For connecting, with the lookup of the host.
    pub connect: Duration,
    /// For each other step.
    pub step: Duration,
    /// For the response to the whole message. Some servers scan it first.
    pub accept: Duration,
}

impl Default for SmtpTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            step: Duration::from_secs(30),
            accept: Duration::from_secs(120),
        }
    }
}
