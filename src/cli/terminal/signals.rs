//! Signals: SIGTERM and Ctrl-C, SIGHUP, SIGXFSZ.

use std::{io, process, thread};

use rustix::process::Signal as SignalNumber;
use tokio::{
    runtime::{self, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use crate::waitlist::print_stderr;

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

/// Ends the program when it is interrupted or its terminal is closed. First removes an incomplete file by calling
/// `remove`.
pub(crate) fn on_interrupt(
    remove: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    let listen = || Ok((Signals::new()?, signal(SignalKind::hangup())?));
    let (runtime, (mut signals, mut hangup)) = runtime_with(listen)?;
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = signals.next() => {}
                _ = hangup.recv() => {}
            }
        });
        // Removing fails if the file is complete and has its final name.
        match remove() {
            Ok(()) => print_stderr("interrupted; nothing was written"),
            Err(_) => print_stderr("interrupted"),
        }
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
