//! Writes the queued lines to standard error.

use std::{
    io::{self, Write},
    mem, thread,
    time::Duration,
};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};

use super::queue::LineQueue;

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

/// Writes lines as they arrive, until the log is closed and every line is written.
pub(super) fn write_queued(queue: &LineQueue) {
    let mut writer = LineWriter::default();
    let mut lines = Vec::new();
    while let Some(dropped) = queue.take(&mut lines) {
        writer.lost += dropped;
        // Only after a successful write: otherwise the warning would be lost as well.
        if writer.write_counted(&lines) && writer.lost > 0 {
            writer.warn_of_lost_lines();
        }
        lines.clear();
        thread::sleep(WRITE_INTERVAL);
    }
    // The last chance to report them, even if it fails.
    if writer.lost > 0 {
        writer.warn_of_lost_lines();
        if queue.take(&mut lines).is_some() {
            writer.write(&lines);
        }
    }
}

/// Writes lines, and counts those that are lost.
#[derive(Default)]
struct LineWriter {
    /// Lines that were lost and are not reported yet.
    lost: u64,
    /// Lost lines that a warning in the queue reports.
    reported: u64,
    /// Whether the last line was cut by a failed write.
    is_in_line: bool,
}

impl LineWriter {
    /// Puts a warning about the lost lines into the queue.
    fn warn_of_lost_lines(&mut self) {
        self.reported = mem::take(&mut self.lost);
        let reported = self.reported;
        tracing::warn!(
            "{reported} log lines were dropped: standard error was too slow, full or closed"
        );
    }

    /// Writes lines and counts those that are lost. Returns whether all were written.
    fn write_counted(&mut self, lines: &[u8]) -> bool {
        let total = count_lines(lines);
        let failed = self.write(lines);
        if failed == total {
            // The warning was lost too.
            self.lost += failed - u64::from(self.reported > 0) + mem::take(&mut self.reported);
        } else {
            self.lost += failed;
            self.reported = 0;
        }
        failed == 0
    }

    /// Writes lines to standard error. Returns how many were lost, for example because the disk is full.
    fn write(&mut self, lines: &[u8]) -> u64 {
        // After a cut line, the next one must not continue it.
        if self.is_in_line {
            match write_all(b"\n") {
                Ok(()) => self.is_in_line = false,
                Err(_) => return count_lines(lines),
            }
        }
        match write_all(lines) {
            Ok(()) => 0,
            Err(written) => {
                let (written, rest) = lines.split_at(written);
                self.is_in_line = written.last().is_some_and(|byte| *byte != b'\n');
                count_lines(rest)
            }
        }
    }
}

/// Writes to standard error, and waits if it is non-blocking and full. If a write fails, returns the number of bytes
/// that were written before.
fn write_all(bytes: &[u8]) -> Result<(), usize> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match io::stderr().write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(WRITE_INTERVAL)
            }
            Err(_) => return Err(bytes.len() - rest.len()),
        }
    }
    Ok(())
}

fn count_lines(lines: &[u8]) -> u64 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}
