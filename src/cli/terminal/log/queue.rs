//! The queue of log lines to be written.

use std::{
    io::{self, Write},
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Maximum size of the waiting lines, in bytes: about 10,000 lines.
const QUEUE_MAX_BYTES: usize = 1 << 20;

/// A queue of whole lines with one reader.
#[derive(Default)]
pub(crate) struct LineQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    lines: Vec<u8>,
    /// Lines dropped since the last call of [`LineQueue::take`].
    dropped: u64,
    /// Whether the writing thread is waiting for a line and must be woken.
    is_idle: bool,
    is_closed: bool,
}

impl LineQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line, or counts it as dropped when the queue is full.
    fn push(&self, line: &[u8]) {
        let mut state = self.state();
        if state.lines.len() + line.len() > QUEUE_MAX_BYTES {
            state.dropped += 1;
            return;
        }
        state.lines.extend_from_slice(line);
        if mem::take(&mut state.is_idle) {
            self.changed.notify_one();
        }
    }

    /// Waits for lines and moves them all into `lines`, which must be empty. Returns how many lines were dropped
    /// after them, or `None` once the queue is closed and empty.
    pub(crate) fn take(&self, lines: &mut Vec<u8>) -> Option<u64> {
        let mut state = self.state();
        while state.lines.is_empty() {
            if state.is_closed {
                return None;
            }
            state.is_idle = true;
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        mem::swap(&mut state.lines, lines);
        Some(mem::take(&mut state.dropped))
    }

    /// Makes [`take`](Self::take) return `None` once the queue is empty.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }
}

/// Each write must be one whole line. The log's formatter writes this way.
impl Write for &LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
