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

use super::{OpenError, reason};

/// Maximum time to open a log. A million entries open in a second.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The deadline is a second later for each of these bytes, which a slow disk reads in a second.
const BYTES_PER_SECOND: u64 = 1 << 20;
/// Time is counted in ticks, so the time in which this process is stopped (SIGSTOP, a suspended machine)
/// does not count.
const TICK: Duration = Duration::from_millis(100);

/// The name of the thread.
const OPENING: &str = "opening";

/// Why opening failed.
#[derive(Debug)]
pub(super) enum Problem {
    Io(io::Error),
    /// The store is unusable, for this reason.
    Store(String),
    /// The program is to stop.
    Interrupted,
}

/// Runs `work`, which opens a log of `bytes` bytes. Gives up when `stop` becomes true.
pub(super) fn in_time<T: Send + 'static>(
    bytes: u64,
    stop: &AtomicBool,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    silence_panics();
    let (sender, result) = mpsc::channel();
    thread::Builder::new().name(OPENING.into()).spawn(move || {
        let done = panic::catch_unwind(AssertUnwindSafe(work));
        // Nobody listens any more once the time is up.
        let _ = sender.send(done.unwrap_or_else(|panic| Err(Problem::of_panic(&*panic))));
    })?;
    let limit = TIMEOUT + Duration::from_secs(bytes / BYTES_PER_SECOND);
    for _ in 0..limit.as_millis() / TICK.as_millis() {
        match result.recv_timeout(TICK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Err(Problem::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Err(Problem::Store(format!(
        "opening it took more than {} s",
        limit.as_secs()
    )))
}

/// Silences the panic hook for that thread: the panic is reported as damage.
fn silence_panics() {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(OPENING) {
                report(panic);
            }
        }));
    });
}

impl Problem {
    /// What made sled panic: damage, or an error of the disk that it unwraps.
    fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let message = panic.downcast_ref::<String>().map_or("", String::as_str);
        let code = message.split_once("Os { code: ").and_then(|(_, rest)| {
            let (code, _) = rest.split_once(',')?;
            code.parse().ok()
        });
        match code {
            Some(code) => Self::Io(io::Error::from_raw_os_error(code)),
            None => Self::Store("its files are damaged, or belong to another program".into()),
        }
    }

    /// The error for the owner.
    pub(super) fn at(self, data: &Path, store: &Path) -> OpenError {
        match self {
            Self::Io(error) => OpenError::Io(data.to_owned(), error),
            Self::Store(what) => OpenError::Store(store.to_owned(), what),
            Self::Interrupted => OpenError::Interrupted,
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<::sled::Error> for Problem {
    fn from(error: ::sled::Error) -> Self {
        match error {
            ::sled::Error::Io(error) => Self::Io(error),
            other => Self::Store(reason(other)),
        }
    }
}
