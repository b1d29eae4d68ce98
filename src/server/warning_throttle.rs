//! Warnings that strangers can bring about, which must not fill the log.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use super::limits::WARNING_INTERVAL;

/// When something was last warned of.
#[derive(Debug, Default)]
pub(super) struct WarningThrottle(Mutex<Option<Instant>>);

impl WarningThrottle {
    /// Whether it may be warned of now, and then not for a while.
    pub(super) fn try_acquire(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_allowed = last.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL);
        if is_allowed {
            *last = Some(Instant::now());
        }
        is_allowed
    }
}
