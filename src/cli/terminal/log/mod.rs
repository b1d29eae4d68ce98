//! The log: lines on standard error, as text or as JSON.

mod queue;

use std::{
    io::{self, IsTerminal, Write},
    mem, panic,
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread,
    time::Duration,
};

use tracing::Level;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::LogFormat;
use queue::LineQueue;

/// Pause between two writes. Without it, each line would wake the writing thread. Its `sched_yield` alone was then a
/// tenth of all system calls under load.
const WRITE_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum time to write the remaining lines before the process ends. It must end even if nobody reads standard
/// error.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(400);

/// The running log. Dropping it writes the waiting lines.
pub(crate) struct LogGuard {
    queue: Arc<LineQueue>,
    /// Disconnected once every line is written.
    writer_done: Receiver<()>,
}

/// Starts logging. A separate thread writes the lines in batches, so requests do not wait for it. Lines that arrive
/// faster than they can be written are dropped, and their number is logged.
///
/// # Errors
/// When that thread cannot be started.
pub(crate) fn start(format: LogFormat) -> io::Result<LogGuard> {
    let queue = Arc::new(LineQueue::default());
    let (done, writer_done) = sync_channel(0);
    let writer_queue = Arc::clone(&queue);
    thread::Builder::new().name("log".into()).spawn(move || {
        write_queued(&writer_queue);
        drop(done);
    })?;
    // Only this program's own lines: libraries may log what clients send.
    let own_target = Targets::new().with_target(env!("CARGO_CRATE_NAME"), Level::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(Arc::clone(&queue))
        .with_ansi(io::stderr().is_terminal())
        .with_target(false);
    let log = tracing_subscriber::registry().with(own_target);
    match format {
        LogFormat::Human => log.with(lines).init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).init(),
    }
    log_panics();
    Ok(LogGuard { queue, writer_done })
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.queue.close();
        let _ = self.writer_done.recv_timeout(FLUSH_TIMEOUT);
    }
}

/// Writes lines as they arrive, until the log is closed and every line is written.
fn write_queued(queue: &LineQueue) {
    let mut lines = Vec::new();
    // Lost lines that are not reported yet, and those that a warning still in the queue reports.
    let (mut lost, mut reported) = (0, 0);
    while let Some(dropped) = queue.take(&mut lines) {
        lost += dropped;
        let total = count_lines(&lines);
        let failed = write_lines(&lines);
        if failed == total {
            // The warning was lost too.
            lost += failed - u64::from(reported > 0) + mem::take(&mut reported);
        } else {
            lost += failed;
            reported = 0;
        }
        // Only after a successful write: otherwise the next warning would be lost as well.
        if failed == 0 && lost > 0 {
            reported = mem::take(&mut lost);
            tracing::warn!("{reported} log lines were dropped: the log could not keep up");
        }
        lines.clear();
        thread::sleep(WRITE_INTERVAL);
    }
}

fn count_lines(lines: &[u8]) -> u64 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Writes lines to standard error, and waits if it is non-blocking and full. Returns how many lines were lost, for
/// example because the disk is full.
fn write_lines(mut lines: &[u8]) -> u64 {
    while !lines.is_empty() {
        match io::stderr().write(lines) {
            Ok(written) => lines = &lines[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(WRITE_INTERVAL)
            }
            Err(_) => return count_lines(lines),
        }
    }
    0
}

/// Logs the location of each panic. The panic message is omitted, because it may contain an address.
pub fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        tracing::error!(
            "internal error at {}",
            location.as_deref().unwrap_or("an unknown location")
        );
    }));
}
