//! Prints lines to standard error, and ends the process.
//!
//! If nobody reads standard error, a write to it blocks. One by std holds a lock, so all others by std wait too. The process
//! must end anyway: it must not continue after a failed sync.

use std::{
    io, process,
    sync::{OnceLock, mpsc::sync_channel},
    thread,
    time::Duration,
};

use rustix::io::Errno;

/// Exit code after a failure, when the program can be started again.
pub(crate) const EXIT_FAILURE: u8 = 1;
/// Exit code for an invalid command line or setting.
pub(crate) const EXIT_INVALID: u8 = 2;
/// Exit code when the list is lost or damaged. Another start does not help.
pub(crate) const EXIT_LIST_LOST: u8 = 3;

/// Maximum time to print a message.
const PRINT_TIMEOUT: Duration = Duration::from_millis(400);
/// Pause before a retry when standard error is non-blocking and full.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Turns a message into a line, without its line break.
static LINE_FORMAT: OnceLock<fn(&str) -> String> = OnceLock::new();

/// Prints a message, and ends the process.
pub(crate) fn print_and_exit(message: &str, code: u8) -> ! {
    print_stderr(message);
    process::exit(code.into())
}

/// Prints a message to standard error, like `eprintln!`, but gives up after [`PRINT_TIMEOUT`]. The line is
/// `landing: message`, unless [`set_line_format`] changed that.
pub(crate) fn print_stderr(message: &str) {
    let line = match LINE_FORMAT.get() {
        Some(format) => format(message),
        None => format!("landing: {message}"),
    };
    print_line(line);
}

/// Sets the format of the lines that [`print_stderr`] prints. Only the first call has an effect.
pub(crate) fn set_line_format(format: fn(&str) -> String) {
    let _ = LINE_FORMAT.set(format);
}

fn print_line(mut line: String) {
    line.push('\n');
    let (done, completion) = sync_channel(1);
    // This thread holds no lock, so it can be abandoned. If it cannot start, nothing is printed.
    let writer = thread::Builder::new().spawn(move || {
        write_stderr(line.as_bytes());
        done.send(())
    });
    if writer.is_ok() {
        let _ = completion.recv_timeout(PRINT_TIMEOUT);
    }
}

/// Writes to standard error without std's lock, which a blocked writer may hold. Waits if it is non-blocking and full. Returns
/// the number of bytes that were written: fewer than all if a write failed.
pub(crate) fn write_stderr(bytes: &[u8]) -> usize {
    let mut written = 0;
    while written < bytes.len() {
        match rustix::io::write(io::stderr(), &bytes[written..]) {
            Ok(more) if more > 0 => written += more,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => thread::sleep(RETRY_INTERVAL),
            _ => break,
        }
    }
    written
}
