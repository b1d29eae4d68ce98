//! Reads the rows of a CSV file with their line numbers. After an unclosed quotation mark, it continues with
//! the next line instead of reading the rest of the file as one cell.

use std::{
    collections::VecDeque,
    io::{self, BufRead},
};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::line_reader::{LINE_MAX_BYTES, Line, TOO_LONG, next_line};

/// Maximum number of lines in a row. A row also ends with the line that makes it longer than `LINE_MAX_BYTES`.
const ROW_LINES_MAX: usize = 100;
/// Maximum number of cells in a row.
const ROW_CELLS_MAX: usize = 1 << 10;

/// A row, and the number of its first line.
pub(crate) struct CsvRow {
    pub(crate) line: u64,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl CsvRow {
    /// Returns a cell, or an empty one beyond the end of the row.
    pub(crate) fn get(&self, at: usize) -> &[u8] {
        let from = at
            .checked_sub(1)
            .map_or(Some(0), |before| self.ends.get(before).copied());
        let to = self.ends.get(at).copied();
        let cell = from.zip(to).and_then(|(from, to)| self.text.get(from..to));
        cell.unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at))
    }
}

/// A row that cannot be read, by the number of its first line.
#[derive(Debug)]
pub(crate) struct MalformedRow {
    pub(crate) line: u64,
    pub(crate) reason: &'static str,
}

/// Reads the rows of a file.
pub(crate) struct CsvReader<R> {
    file: R,
    separator: u8,
    parser: Reader,
    /// Lines that were read in search of a closing quotation mark, and belong to later rows.
    pending_lines: VecDeque<Line>,
    /// The number of the next line.
    line: u64,
    /// Buffers for the row that is being parsed.
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl<R: BufRead> CsvReader<R> {
    /// Reads rows whose first line has the number `line`.
    pub(crate) fn new(file: R, separator: u8, line: u64) -> Self {
        Self {
            file,
            separator,
            parser: ReaderBuilder::new().delimiter(separator).build(),
            pending_lines: VecDeque::new(),
            line,
            text: Vec::new(),
            ends: vec![0; ROW_CELLS_MAX],
        }
    }

    /// Returns the number of the first line after the row that was read last.
    pub(crate) fn next_line_number(&self) -> u64 {
        self.line
    }

    fn next_line(&mut self) -> io::Result<Option<Line>> {
        match self.pending_lines.pop_front() {
            Some(line) => Ok(Some(line)),
            None => next_line(&mut self.file),
        }
    }

    fn next_row(&mut self) -> io::Result<Option<Result<CsvRow, MalformedRow>>> {
        let first = loop {
            match self.next_line()? {
                None => return Ok(None),
                Some(Line::TooLong) => {
                    self.line += 1;
                    return Ok(Some(Err(MalformedRow {
                        line: self.line - 1,
                        reason: TOO_LONG,
                    })));
                }
                Some(Line::Text(line)) if line.trim_ascii().is_empty() => self.line += 1,
                Some(Line::Text(line)) => break line,
            }
        };
        let first_line = self.line;
        let mut bytes = first.len();
        let mut lines = vec![with_newline(first)];
        self.parser.reset();
        let (mut text_len, mut cell_count) = (0, 0);
        while let Some(line) = lines.last() {
            // The parser never writes more than it reads.
            self.text.resize(text_len + line.len(), 0);
            let (text, ends) = (&mut self.text[text_len..], &mut self.ends[cell_count..]);
            let (result, _, written, cells) = self.parser.read_record(line, text, ends);
            (text_len, cell_count) = (text_len + written, cell_count + cells);
            match result {
                ReadRecordResult::Record
                    if lines.len() > 1 && !has_valid_quotes(&lines.concat(), self.separator) =>
                {
                    break;
                }
                ReadRecordResult::Record => {
                    self.line += lines.len() as u64;
                    return Ok(Some(Ok(CsvRow {
                        line: first_line,
                        text: self.text[..text_len].to_owned(),
                        ends: self.ends[..cell_count].to_owned(),
                    })));
                }
                ReadRecordResult::OutputEndsFull => {
                    self.line += lines.len() as u64;
                    return Ok(Some(Err(MalformedRow {
                        line: first_line,
                        reason: "the row has more than 1024 cells",
                    })));
                }
                // The row continues inside quotation marks.
                _ if lines.len() < ROW_LINES_MAX && bytes < LINE_MAX_BYTES => {
                    match self.next_line()? {
                        Some(Line::Text(line)) => {
                            bytes += line.len();
                            lines.push(with_newline(line));
                        }
                        Some(Line::TooLong) => {
                            self.pending_lines.push_front(Line::TooLong);
                            break;
                        }
                        None => break,
                    }
                }
                _ => break,
            }
        }
        // Continue with the next line as if this one had been complete.
        for mut line in lines.drain(1..).rev() {
            line.pop();
            self.pending_lines.push_front(Line::Text(line));
        }
        self.line += 1;
        Ok(Some(Err(MalformedRow {
            line: first_line,
            reason: "unclosed quotation mark",
        })))
    }
}

impl<R: BufRead> Iterator for CsvReader<R> {
    type Item = io::Result<Result<CsvRow, MalformedRow>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}

/// Appends the line break, which the parser needs.
fn with_newline(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

/// Whether all quotation marks are at valid positions (RFC 4180, 2): at both ends of a cell, and doubled
/// inside it. The parser accepts a mark at any position as the closing one.
fn has_valid_quotes(row: &[u8], separator: u8) -> bool {
    let mut bytes = row.iter().peekable();
    let (mut is_quoted, mut is_cell_start) = (false, true);
    while let Some(byte) = bytes.next() {
        if is_quoted {
            if *byte == b'"' && bytes.next_if_eq(&&b'"').is_none() {
                is_quoted = false;
                let next = bytes.peek().map_or(b'\n', |byte| **byte);
                if next != separator && next != b'\n' {
                    return false;
                }
            }
        } else {
            is_quoted = *byte == b'"' && is_cell_start;
            is_cell_start = *byte == separator;
        }
    }
    !is_quoted
}
