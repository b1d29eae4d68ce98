//! Reads lines of bounded length, so a file without line ends does not fill the memory.

use std::io::{self, BufRead};

/// Maximum length of a line, in bytes.
pub(crate) const LINE_MAX_BYTES: usize = 1 << 20;

/// Why a longer line is rejected.
pub(crate) const TOO_LONG: &str = "it is longer than a megabyte";

/// A line without its end.
pub(crate) enum Line {
    Text(Vec<u8>),
    /// Longer than [`LINE_MAX_BYTES`]; its text was skipped.
    TooLong,
}

/// Reads the next line, however it ends: by `\n`, by `\r\n`, or by `\r` as on an old Mac.
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
        let is_first_of_two = end.is_some_and(|end| read[end] == b'\r');
        let (consumed, is_over) = (end.map_or(read.len(), |end| end + 1), read.is_empty());
        file.consume(consumed);
        if is_first_of_two && file.fill_buf()?.first() == Some(&b'\n') {
            file.consume(1);
        }
        if end.is_some() || is_over {
            return Ok(Some(if is_too_long {
                Line::TooLong
            } else {
                Line::Text(line)
            }));
        }
    }
}
