//! Opens a store on a separate thread with a deadline: sled can hang or panic on a damaged log.

use std::{
    any::Any,
    io,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use super::{SledOpenError, describe};

/// Maximum time to open a log. A million entries open in a second.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// The deadline is a second later for each of these bytes, which a slow disk reads in a second.
const BYTES_PER_SECOND: u64 = 1 << 20;
/// Time is counted in ticks, so the time in which this process is stopped (SIGSTOP, a suspended machine)
/// does not count.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// The name of the thread.
const THREAD_NAME: &str = "opening";

/// Why opening failed.
#[derive(Debug)]
pub(super) enum OpenFailure {
    Io(io::Error),
    /// The store is unusable, for this reason.
    Unusable(String),
    /// The program is to stop.
    Interrupted,
}

/// Runs `work`, which opens a log of `bytes` bytes. Gives up when `stop` becomes true.
pub(super) fn run_with_deadline<T: Send + 'static>(
    bytes: u64,
    stop: &AtomicBool,
    work: impl FnOnce() -> Result<T, OpenFailure> + Send + 'static,
) -> Result<T, OpenFailure> {
    silence_panics();
    let (sender, result) = mpsc::channel();
    thread::Builder::new()
        .name(THREAD_NAME.into())
        .spawn(move || {
            let done = panic::catch_unwind(AssertUnwindSafe(work));
            // Nobody listens any more once the time is up.
            let _ = sender.send(done.unwrap_or_else(|panic| Err(OpenFailure::from_panic(&*panic))));
        })?;
    let limit = OPEN_TIMEOUT + Duration::from_secs(bytes / BYTES_PER_SECOND);
    for _ in 0..limit.as_millis() / TICK_INTERVAL.as_millis() {
        match result.recv_timeout(TICK_INTERVAL) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Err(OpenFailure::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Err(OpenFailure::Unusable(format!(
        "opening it took more than {} s",
        limit.as_secs()
    )))
}

/// Silences the panic hook for that thread: the panic is reported as damage.
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

impl OpenFailure {
    /// What made sled panic: damage, or an error of the disk that it unwraps.
    fn from_panic(panic: &(dyn Any + Send)) -> Self {
        let message = panic.downcast_ref::<String>().map_or("", String::as_str);
        let code = message.split_once("Os { code: ").and_then(|(_, rest)| {
            let (code, _) = rest.split_once(',')?;
            code.parse().ok()
        });
        match code {
            Some(code) => Self::Io(io::Error::from_raw_os_error(code)),
            None => Self::Unusable("its files are damaged, or belong to another program".into()),
        }
    }

    /// The error for the owner.
    pub(super) fn into_open_error(self, data: &Path, store: &Path) -> SledOpenError {
        match self {
            Self::Io(error) => SledOpenError::Io(data.to_owned(), error),
            Self::Unusable(what) => SledOpenError::Unusable(store.to_owned(), what),
            Self::Interrupted => SledOpenError::Interrupted,
        }
    }
}

impl From<io::Error> for OpenFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<::sled::Error> for OpenFailure {
    fn from(error: ::sled::Error) -> Self {
        match error {
            ::sled::Error::Io(error) => Self::Io(error),
            other => Self::Unusable(describe(other)),
        }
    }
}
