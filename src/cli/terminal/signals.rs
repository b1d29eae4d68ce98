//! SIGTERM and Ctrl-C.

use std::{io, process, thread};

use tokio::{
    runtime,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::waitlist::print_stderr;

/// What tells a program to stop.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to listen. Needs a runtime.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Resolves at the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Ends the program when it is told to stop, or its terminal is closed, and first removes what is not
/// complete.
pub(crate) fn on_interrupt(
    remove: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    let mut runtime = runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let (mut signals, mut hangup) = {
        let _entered = runtime.enter();
        (Signals::new()?, signal(SignalKind::hangup())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = signals.next() => {}
                _ = hangup.recv() => {}
            }
        });
        // When it has got its name it is not there.
        match remove() {
            Ok(()) => print_stderr("interrupted; nothing was written"),
            Err(_) => print_stderr("interrupted"),
        }
        process::exit(1)
    });
    Ok(())
}

/// Ends the program with exit code 1 at the next signal to stop, whatever its other threads wait for.
pub(crate) fn exit_on_next_signal(message: &'static str) -> io::Result<()> {
    let mut runtime = runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let mut signals = {
        let _entered = runtime.enter();
        Signals::new()?
    };
    thread::Builder::new().spawn(move || {
        runtime.block_on(signals.next());
        print_stderr(message);
        process::exit(1)
    })?;
    Ok(())
}
