//! Signals: SIGTERM and Ctrl-C, SIGXFSZ.

use std::{io, process, thread};

use rustix::process::Signal as SignalNumber;
use tokio::{
    runtime,
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
    // tokio's handler stays when its runtime is gone.
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let _entered = runtime.enter();
    signal(SignalKind::from_raw(SignalNumber::XFSZ.as_raw())).map(drop)
}

/// Calls a function at each signal that interrupts the program. The message that it returns is printed, and the program ends
/// with exit code 1, even if other threads are blocked.
pub(crate) fn on_interrupt(
    mut interrupt: impl FnMut() -> Option<String> + Send + 'static,
) -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut signals = {
        let _entered = runtime.enter();
        Signals::new()?
    };
    thread::Builder::new().spawn(move || {
        loop {
            runtime.block_on(signals.next());
            if let Some(message) = interrupt() {
                print_stderr(&message);
                process::exit(1)
            }
        }
    })?;
    Ok(())
}
