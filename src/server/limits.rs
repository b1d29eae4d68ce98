//! The limits of a request and of a shutdown.

use std::time::Duration;

/// Largest body of a sign-up, in bytes. The longest address that is one needs 270.
pub(super) const BODY_MAX_BYTES: usize = 4096;

/// What a client is told to wait, in seconds, when the store can't answer.
pub(super) const RETRY_AFTER_SECONDS: u32 = 1;

/// How long requests under way may take to finish after SIGTERM or Ctrl-C.
pub(super) const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// How old the count in the page may be.
pub(super) const COUNT_MAX_AGE: Duration = Duration::from_secs(1);
