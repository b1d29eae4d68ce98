//! Signals: SIGTERM and Ctrl-C, SIGHUP, SIGXFSZ.

use std::{fs, io, process, thread};

use rustix::process::Signal as SignalNumber;
use tokio::{
    runtime::{self, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use crate::exit::print_stderr;

/// The signals that stop the program: SIGTERM and SIGINT (Ctrl-C).
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Starts to listen. Needs a runtime.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail like any other failed write. Without a handler for
/// SIGXFSZ the process would end without a message.
pub(crate) fn handle_file_size_signal() -> io::Result<()> {
    let listen = || signal(SignalKind::from_raw(SignalNumber::XFSZ.as_raw()));
    runtime_with(listen).map(drop)
}

/// Ends the program with exit code 1 when it is interrupted or its terminal is closed. First calls `clean_up`, and
/// prints the message that it returns.
pub(crate) fn on_interrupt(clean_up: impl FnOnce() -> String + Send + 'static) -> io::Result<()> {
    let ignores_hangup = is_ignored(SignalNumber::HUP);
    let listen = || Ok((Signals::new()?, signal(SignalKind::hangup())?));
    let (runtime, (mut signals, mut hangup)) = runtime_with(listen)?;
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = signals.next() => {}
                _ = hangup.recv(), if !ignores_hangup => {}
            }
        });
        print_stderr(&clean_up());
        process::exit(1)
    });
    Ok(())
}

/// Ends the program with exit code 1 at the next signal, even if other threads are blocked.
pub(crate) fn exit_on_next_signal(message: &'static str) -> io::Result<()> {
    let (runtime, mut signals) = runtime_with(Signals::new)?;
    thread::Builder::new().spawn(move || {
        runtime.block_on(signals.next());
        print_stderr(message);
        process::exit(1)
    })?;
    Ok(())
}

/// Whether the parent process asked to ignore a signal, as `nohup` does. Without `/proc` this is unknown, and the
/// signal counts.
fn is_ignored(signal: SignalNumber) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

/// Returns a single-threaded runtime, and the result of `listen`, which runs in it.
fn runtime_with<T>(listen: impl FnOnce() -> io::Result<T>) -> io::Result<(Runtime, T)> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listening = {
        let _entered = runtime.enter();
        listen()?
    };
    Ok((runtime, listening))
}

/// Calls a function at the first signal that interrupts the program, or when its terminal is closed. The second one
/// ends the program with exit code 1.
pub(crate) fn on_interrupt_flag(interrupt: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let ignores_hangup = is_ignored(SignalNumber::HUP);
    let listen = || Ok((Signals::new()?, signal(SignalKind::hangup())?));
    let (runtime, (mut signals, mut hangup)) = runtime_with(listen)?;
    thread::spawn(move || {
        let mut next = || {
            runtime.block_on(async {
                tokio::select! {
                    () = signals.next() => {}
                    _ = hangup.recv(), if !ignores_hangup => {}
                }
            });
        };
        next();
        interrupt();
        next();
        print_stderr("interrupted again; messages under way are unknown");
        process::exit(1)
    });
    Ok(())
}
