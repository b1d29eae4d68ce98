//! Writes the queued lines to standard error.

use std::{
    io::{self, Write},
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};

use crate::{exit::write_stderr, waitlist::locked};

/// Maximum size of the lines that wait, in bytes. They are about 8,000.
const QUEUE_MAX_BYTES: usize = 1 << 20;
/// Pause between two writes. Without it, each line would wake the writing thread. Its `sched_yield` alone was then a
/// tenth of all system calls under load.
const WRITE_INTERVAL: Duration = Duration::from_millis(10);

/// Makes each write go to the end of the file, if standard error is a file. Otherwise the first line after logrotate
/// has truncated the file (`copytruncate`) would be written at the old offset, after a gap of zeros.
pub(super) fn append_to_file() {
    let stderr = io::stderr();
    let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
    if fstat(&stderr).is_ok_and(|stat| is_file(stat.st_mode))
        && let Ok(flags) = fcntl_getfl(&stderr)
    {
        // Without it, only a truncated log suffers.
        let _ = fcntl_setfl(&stderr, flags | OFlags::APPEND);
    }
}

/// The way of a line to the thread that writes it. Whoever logs does not wait for it.
#[derive(Default)]
pub(super) struct LineQueue {
    queued: Mutex<Queued>,
    changed: Condvar,
}

#[derive(Default)]
struct Queued {
    lines: Vec<u8>,
    /// Lines that found the queue full.
    dropped: u64,
    is_closed: bool,
}

impl LineQueue {
    /// Ends the thread once it has written the lines before.
    pub(super) fn close(&self) {
        locked(&self.queued).is_closed = true;
        self.changed.notify_one();
    }

    /// Waits for lines, or for the end, and takes them.
    fn take(&self) -> Queued {
        let is_empty = |queued: &mut Queued| queued.lines.is_empty() && !queued.is_closed;
        let queued = self.changed.wait_while(locked(&self.queued), is_empty);
        std::mem::take(&mut *queued.unwrap_or_else(PoisonError::into_inner))
    }
}

/// Each write must be one whole line. The log's formatter writes this way.
impl Write for &LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut queued = locked(&self.queued);
        if queued.lines.len() + line.len() > QUEUE_MAX_BYTES {
            queued.dropped += 1;
        } else {
            // The thread waits only while there is no line. To notify it of each one cost every request a system call.
            if queued.lines.is_empty() {
                self.changed.notify_one();
            }
            queued.lines.extend(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes lines as they arrive, until the log is closed and every line is written. `warn` returns the line that reports lost
/// ones.
pub(super) fn write_queued(queue: &LineQueue, warn: impl Fn(&str) -> String) {
    let mut writer = LineWriter {
        warn,
        lost: 0,
        is_in_line: false,
    };
    loop {
        let queued = queue.take();
        writer.lost += queued.dropped;
        writer.write(&queued.lines);
        if queued.is_closed {
            // The last chance to report lost lines.
            writer.write(b"");
            return;
        }
        thread::sleep(WRITE_INTERVAL);
    }
}

/// Writes lines, and counts those that are lost.
struct LineWriter<W> {
    warn: W,
    /// Lines that were lost and are not reported yet.
    lost: u64,
    /// Whether the last line was cut by a failed write.
    is_in_line: bool,
}

impl<W: Fn(&str) -> String> LineWriter<W> {
    /// Reports the lost lines, and writes others. They are lost if the disk is full, for example.
    fn write(&mut self, lines: &[u8]) {
        if self.lost > 0 {
            // After a cut line, the next one must not continue it.
            let line_break = if self.is_in_line { "\n" } else { "" };
            let warning = (self.warn)(&format!(
                "{} log lines were dropped: standard error was too slow, full or closed",
                self.lost
            ));
            let report = format!("{line_break}{warning}\n");
            if self.try_write(report.as_bytes()) < report.len() {
                self.lost += count_lines(lines);
                return;
            }
            self.lost = 0;
        }
        let written = self.try_write(lines);
        self.lost = count_lines(&lines[written..]);
    }

    /// Writes to standard error. Returns the number of bytes that were written.
    fn try_write(&mut self, bytes: &[u8]) -> usize {
        let written = write_stderr(bytes);
        if let Some(last) = bytes[..written].last() {
            self.is_in_line = *last != b'\n';
        }
        written
    }
}

fn count_lines(lines: &[u8]) -> u64 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}
