//! The order in which the hosts of a database are tried.

use std::sync::{Mutex, PoisonError};

/// The hosts that worked and failed last, by their positions in the URL, shared by everything that connects to them.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// The host that worked last. It is tried first.
    last: Mutex<Option<usize>>,
    /// The host that did not respond to a statement. It is tried last.
    suspect: Mutex<Option<usize>>,
}

impl Hosts {
    /// Records that a host did not respond.
    pub(super) fn mark_suspect(&self, host: usize) {
        *self.suspect.lock().unwrap_or_else(PoisonError::into_inner) = Some(host);
    }

    /// Records that a host works.
    pub(super) fn mark_working(&self, host: usize) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(host);
    }

    /// Returns whether another host has worked since this one was connected to.
    pub(super) fn prefers_another(&self, host: usize) -> bool {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last != host)
    }

    /// Returns the host to try first and the host to try last.
    pub(super) fn preference(&self) -> (Option<usize>, Option<usize>) {
        let suspect = *self.suspect.lock().unwrap_or_else(PoisonError::into_inner);
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        (last.filter(|last| suspect != Some(*last)), suspect)
    }
}
