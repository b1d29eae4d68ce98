//! The log: lines on standard error, for people or for programs.

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
use queue::Queue;

/// Between two writes. With none, the thread that writes was woken for each line: its `sched_yield` alone was
/// a tenth of all system calls under load.
const WRITE_INTERVAL: Duration = Duration::from_millis(10);

/// How long the process waits at its end for the remaining lines. It must also end if nobody reads standard
/// error.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(400);

/// The log while it is written. What waits is written when this is dropped.
pub(crate) struct LogGuard {
    queue: Arc<Queue>,
    /// Disconnected once every line is written.
    writer_done: Receiver<()>,
}

/// Starts logging. A separate thread writes the lines, many in one write when there are many, so requests do not
/// wait. Lines that come faster than they can be written are dropped, and their number is logged.
///
/// # Errors
/// When that thread cannot be started.
pub(crate) fn start(format: LogFormat) -> io::Result<LogGuard> {
    let queue = Arc::new(Queue::default());
    let (done, writer_done) = sync_channel(0);
    let writer_queue = Arc::clone(&queue);
    thread::Builder::new().name("log".into()).spawn(move || {
        write_queued(&writer_queue);
        drop(done);
    })?;
    // Of ours alone: libraries may log what a stranger has sent.
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

/// Writes lines as they come, until the log is closed and every line is written.
fn write_queued(queue: &Queue) {
    let mut lines = Vec::new();
    // Lines that were lost and not reported, and those that the warning on its way to the reader reports.
    let (mut lost, mut reported) = (0, 0);
    while let Some(dropped) = queue.take(&mut lines) {
        lost += dropped;
        let all = count_lines(&lines);
        let failed = write_lines(&lines);
        if failed == all {
            // The warning is among them.
            lost += failed - u64::from(reported > 0) + mem::take(&mut reported);
        } else {
            lost += failed;
            reported = 0;
        }
        // Not before a line could be written again: the next warning would be lost as well.
        if failed == 0 && lost > 0 {
            reported = mem::take(&mut lost);
            tracing::warn!("{reported} lines of the log were dropped: the log could not keep up");
        }
        lines.clear();
        thread::sleep(WRITE_INTERVAL);
    }
}

fn count_lines(lines: &[u8]) -> u64 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Writes lines to standard error, also to one that is non-blocking and full. Returns how many were lost,
/// because the disk is full, for example.
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

/// Has each panic logged once: where, and not in its words, which may quote what was being worked on,
/// an address included.
pub fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        tracing::error!(
            "a fault of this program at {}",
            location.as_deref().unwrap_or("a place unknown")
        );
    }));
}
