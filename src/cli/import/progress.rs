//! How far an import is, so that it can say so when it is interrupted.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indicatif::ProgressBar;

use crate::waitlist::JoinOutcome;

/// How long an interrupted import waits for the entries that are being added.
const BATCH_TIMEOUT: Duration = Duration::from_secs(2);

/// The progress of an import. Another thread reads it when the program is interrupted.
#[derive(Default)]
pub(super) struct ImportProgress {
    state: Mutex<ProgressState>,
    changed: Condvar,
}

#[derive(Default)]
struct ProgressState {
    /// The number of new entries that the list has acknowledged.
    added: usize,
    /// The number of entries that are being added.
    in_flight: usize,
    is_interrupted: bool,
    bar: Option<ProgressBar>,
}

impl ImportProgress {
    /// Sets the bar to remove from the terminal when the import is interrupted.
    pub(super) fn set_bar(&self, bar: &ProgressBar) {
        self.lock().bar = Some(bar.clone());
    }

    /// Removes the bar from the terminal.
    pub(super) fn hide_bar(&self) {
        if let Some(bar) = &self.lock().bar {
            bar.finish_and_clear();
        }
    }

    /// Adds entries with `join`. Does not return after an interruption,
    /// which ends the program.
    pub(super) fn track<E>(
        &self,
        entries: usize,
        join: impl FnOnce() -> Result<Vec<JoinOutcome>, E>,
    ) -> Result<Vec<JoinOutcome>, E> {
        self.lock_uninterrupted().in_flight = entries;
        let joined = join();
        let mut state = self.lock();
        if let Ok(joined) = &joined {
            let new = joined.iter().filter(|it| **it == JoinOutcome::New);
            state.added += new.count();
        }
        state.in_flight = 0;
        drop(state);
        self.changed.notify_all();
        drop(self.lock_uninterrupted());
        joined
    }

    /// Stops the import after the entries that are being added, and returns a message with the number of added ones.
    pub(super) fn interrupt(&self) -> String {
        let mut state = self.lock();
        state.is_interrupted = true;
        let waited = self
            .changed
            .wait_timeout_while(state, BATCH_TIMEOUT, |state| state.in_flight > 0);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = &state.bar {
            bar.finish_and_clear();
        }
        match (state.added, state.in_flight) {
            (0, 0) => "interrupted; nothing was imported".to_owned(),
            (added, in_flight) => format!("interrupted: {}", describe(added, in_flight)),
        }
    }

    /// Returns a message with the number of added entries.
    pub(super) fn describe(&self) -> String {
        let state = self.lock();
        describe(state.added, state.in_flight)
    }

    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`lock`](Self::lock), but blocks for good once the import is interrupted.
    fn lock_uninterrupted(&self) -> MutexGuard<'_, ProgressState> {
        let unblocked = self
            .changed
            .wait_while(self.lock(), |state| state.is_interrupted);
        unblocked.unwrap_or_else(PoisonError::into_inner)
    }
}

fn describe(added: usize, in_flight: usize) -> String {
    let more = match in_flight {
        0 => String::new(),
        in_flight => format!(", and perhaps up to {in_flight} more"),
    };
    format!("{added} added{more}; import the file again: existing entries are not changed")
}
