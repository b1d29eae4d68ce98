//! Opens a store on a separate thread with a deadline, because sled can hang or panic on a damaged log.

use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    sync::{Once, mpsc},
    thread,
    time::Duration,
};

use super::error::{OpenFailure, UnusableReason, os_error_in_debug_output};

/// Maximum time to open a log. A million entries open in a second.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Speed of a slow disk. Each block of this size in the log extends the deadline by one second.
const BYTES_PER_SECOND: u64 = 1 << 20;

/// Name of the thread.
const THREAD_NAME: &str = "opening";

/// Runs `work`, which opens a log of `bytes` bytes.
pub(super) fn run_with_deadline<T: Send + 'static>(
    bytes: u64,
    work: impl FnOnce() -> Result<T, OpenFailure> + Send + 'static,
) -> Result<T, OpenFailure> {
    silence_panics();
    let (sender, result) = mpsc::channel();
    thread::Builder::new()
        .name(THREAD_NAME.into())
        .spawn(move || {
            let done = panic::catch_unwind(AssertUnwindSafe(work));
            // Sending fails once the deadline has passed.
            let _ = sender.send(done.unwrap_or_else(|panic| Err(panic_failure(&*panic))));
        })?;
    let limit = RECOVERY_TIMEOUT + Duration::from_secs(bytes / BYTES_PER_SECOND);
    let timed_out = |_| UnusableReason::Timeout(limit.as_secs());
    result.recv_timeout(limit).map_err(timed_out)?
}

/// Runs `work`, in which sled may panic, on another thread, without a deadline.
pub(super) fn catch_panic<T: Send>(
    work: impl FnOnce() -> Result<T, OpenFailure> + Send,
) -> Result<T, OpenFailure> {
    silence_panics();
    thread::scope(|scope| {
        let worker = thread::Builder::new().name(THREAD_NAME.into());
        let done = worker.spawn_scoped(scope, work)?.join();
        done.unwrap_or_else(|panic| Err(panic_failure(&*panic)))
    })
}

/// Silences the panic hook for the thread. Its panic is reported as damage instead.
fn silence_panics() {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        let previous_hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(THREAD_NAME) {
                previous_hook(panic);
            }
        }));
    });
}

/// Returns the cause of a panic of sled: a disk error that it unwraps, or damage.
fn panic_failure(panic: &(dyn Any + Send)) -> OpenFailure {
    let message = panic.downcast_ref::<String>().map_or("", String::as_str);
    match os_error_in_debug_output(message) {
        Some(error) => error.into(),
        None => UnusableReason::Panic.into(),
    }
}
