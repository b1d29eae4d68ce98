//! The log: lines on standard error, as text or as JSON. `writer` has the queue of lines, and writes them.

mod writer;

use std::{
    io, panic,
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use serde_json::json;
use tracing::Level;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    config::{LogFormat, LogLevel},
    exit::{print_stderr, set_line_format},
};
use writer::LineQueue;

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
pub(crate) fn start(format: LogFormat, level: LogLevel) -> io::Result<LogGuard> {
    writer::append_to_file();
    let queue = Arc::<LineQueue>::default();
    let (done, writer_done) = sync_channel(0);
    let writer_queue = Arc::clone(&queue);
    thread::Builder::new().name("log".into()).spawn(move || {
        writer::write_queued(&writer_queue, |warning| match format {
            LogFormat::Human => format!("{}  WARN {warning}", now()),
            LogFormat::Json => json_line(Level::WARN, warning),
        });
        drop(done);
    })?;
    let level = match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
    };
    // Only this program's own lines: libraries may log what clients send.
    let own_targets = Targets::new().with_target(env!("CARGO_CRATE_NAME"), level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(Arc::clone(&queue))
        .with_target(false);
    let log = tracing_subscriber::registry().with(own_targets);
    match format {
        LogFormat::Human => log.with(lines).init(),
        LogFormat::Json => {
            // Of the error that ends the server.
            set_line_format(|message| json_line(Level::ERROR, message));
            log.with(lines.json().flatten_event(true)).init();
        }
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

/// Returns a line of the log as JSON.
fn json_line(level: Level, message: &str) -> String {
    // In the order of the other lines.
    let (now, level, message) = (now(), level.as_str(), json!(message));
    format!(r#"{{"timestamp":"{now}","level":"{level}","message":{message}}}"#)
}

fn now() -> String {
    // A clock that jiff cannot represent is itself an error that is printed here.
    let now = Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    format!("{now:.6}")
}

/// Logs the location of each panic. The panic message is omitted, because it may contain an address.
pub fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        tracing::error!("{}", describe_panic(panic));
    }));
}

/// Prints the location of each panic, for commands without a log. Like [`log_panics`], it omits the message; std's own
/// hook also prints a stack trace if `RUST_BACKTRACE` is set.
pub(crate) fn print_panics() {
    panic::set_hook(Box::new(|panic| print_stderr(&describe_panic(panic))));
}

fn describe_panic(panic: &panic::PanicHookInfo<'_>) -> String {
    let location = panic.location().map(ToString::to_string);
    format!(
        "internal error at {}",
        location.as_deref().unwrap_or("an unknown location")
    )
}
