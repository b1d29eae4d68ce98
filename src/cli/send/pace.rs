//! The messages per second.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Spreads messages evenly over time.
pub(super) struct Pace {
    /// The time between two messages.
    interval: Duration,
    /// When the next message may begin.
    next: Mutex<Instant>,
}

impl Pace {
    /// Allows this many messages per second. 0 allows any number.
    pub(super) fn per_second(rate: u32) -> Self {
        Self {
            interval: Duration::from_secs(1).checked_div(rate).unwrap_or_default(),
            next: Mutex::new(Instant::now()),
        }
    }

    /// Returns how long the caller must wait before its message.
    pub(super) fn reserve(&self) -> Duration {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let begin = (*next).max(now);
        *next = begin + self.interval;
        begin - now
    }
}
