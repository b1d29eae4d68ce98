//! Reads lines of bounded length, so a file without line breaks does not fill the memory.

use std::io::{self, BufRead};

/// Maximum length of a line, in bytes.
pub(crate) const LINE_MAX_BYTES: usize = 1 << 20;

/// Why a longer line is rejected.
pub(crate) const TOO_LONG: &str = "the line is longer than 1 MiB";

/// A line without its line break.
pub(crate) enum Line {
    Text(Vec<u8>),
    /// A line longer than [`LINE_MAX_BYTES`]. Its text was skipped.
    TooLong,
}

/// Reads the next line. It may end with `\n`, `\r\n`, or `\r` as on early Macs.
pub(crate) fn next_line(file: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let (mut is_too_long, mut is_empty) = (false, true);
    loop {
        let read = file.fill_buf()?;
        if read.is_empty() && is_empty {
            return Ok(None);
        }
        is_empty = false;
        let end = read.iter().position(|byte| b"\r\n".contains(byte));
        let text = &read[..end.unwrap_or(read.len())];
        is_too_long |= line.len() + text.len() > LINE_MAX_BYTES;
        if !is_too_long {
            line.extend_from_slice(text);
        }
        let is_carriage_return = end.is_some_and(|end| read[end] == b'\r');
        let (consumed, is_file_end) = (end.map_or(read.len(), |end| end + 1), read.is_empty());
        file.consume(consumed);
        if is_carriage_return && file.fill_buf()?.first() == Some(&b'\n') {
            file.consume(1);
        }
        if end.is_some() || is_file_end {
            return Ok(Some(if is_too_long {
                Line::TooLong
            } else {
                Line::Text(line)
            }));
        }
    }
}
