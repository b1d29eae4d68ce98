//! Throttles warnings that any client can cause, so that they cannot fill the log.

use std::{sync::Mutex, time::Instant};

use super::limits::WARNING_INTERVAL;
use crate::waitlist::locked;

/// The time at which a warning was last logged.
#[derive(Debug, Default)]
pub(super) struct WarningThrottle(Mutex<Option<Instant>>);

impl WarningThrottle {
    /// Returns whether the warning may be logged now. If so, the next one may follow after [`WARNING_INTERVAL`].
    pub(super) fn try_acquire(&self) -> bool {
        let mut last = locked(&self.0);
        let is_allowed = last.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL);
        if is_allowed {
            *last = Some(Instant::now());
        }
        is_allowed
    }
}
