//! The log: lines on standard error, for people or for programs.

use std::{
    io::{self, BufWriter, IsTerminal, Stderr, Write},
    panic, thread,
    time::Duration,
};

use tracing::Level;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::LogFormat;

/// Lines that may wait to be written.
const WAITING_MAX: usize = 10_000;

/// Between two writes. With none, the thread that writes was woken for each line: its `sched_yield` alone was
/// a tenth of all system calls under load.
const PAUSE: Duration = Duration::from_millis(10);

/// The log while it is written. What waits is written when this is dropped.
pub(super) struct Log {
    left_out: ErrorCounter,
    _thread: WorkerGuard,
}

/// Begins to log. What is logged is written by a thread of its own, many lines at once when there are
/// many: a request does not wait for it, and when lines come faster than they can be written some are
/// left out.
pub(super) fn start(format: LogFormat) -> Log {
    let (writer, thread) = NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING_MAX)
        .finish(InBulk(BufWriter::new(io::stderr())));
    let left_out = writer.error_counter();
    // Of ours alone: libraries may log what a stranger has sent.
    let ours = Targets::new().with_target(env!("CARGO_CRATE_NAME"), Level::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false);
    let log = tracing_subscriber::registry().with(ours);
    match format {
        LogFormat::Human => log.with(lines).init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).init(),
    }
    log_panics();
    Log {
        left_out,
        _thread: thread,
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let left_out = self.left_out.dropped_lines();
        if left_out > 0 {
            eprintln!("landing: {left_out} lines of the log were left out: they came too fast");
        }
    }
}

/// Standard error, written to once for many lines.
struct InBulk(BufWriter<Stderr>);

impl Write for InBulk {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write(line)
    }

    /// When no more lines wait. Who logs while this sleeps need not wake it.
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()?;
        thread::sleep(PAUSE);
        Ok(())
    }
}

/// Has each panic logged once: where, and not in its words, which may quote what was being worked on,
/// an address included.
pub fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(
            "a fault of this program at {}",
            place.as_deref().unwrap_or("a place unknown")
        );
    }));
}
