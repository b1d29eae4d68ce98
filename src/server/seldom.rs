//! Warnings that strangers can bring about, which must not fill the log.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use super::limits::WARNING_PAUSE;

/// When something was last warned of.
#[derive(Debug, Default)]
pub(super) struct Seldom(Mutex<Option<Instant>>);

impl Seldom {
    /// Whether it may be warned of now, and then not for a while.
    pub(super) fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= WARNING_PAUSE);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}
