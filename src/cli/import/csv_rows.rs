//! Reads the rows of a table: cells that commas, semicolons or tabs separate, below a header row.

use std::io::{Chain, Read};

use csv::{Reader, ReaderBuilder, StringRecord};

use super::{error::FileError, row::Row};
use crate::{
    cli::{address::without_name, export_format::unescape_formula},
    waitlist::Email,
};

/// Between the cells, by preference.
const SEPARATORS: [u8; 3] = *b",;\t";
/// A row after the last one. If it is missing, the last row has an unclosed quotation mark. No text has this character.
const END: &str = "\n\u{1e}end of the file\u{1e}\n";

/// The rows of a table.
pub(super) struct CsvRows<'a> {
    reader: Reader<Chain<&'a [u8], &'static [u8]>>,
    separator: char,
    columns: Vec<String>,
}

impl<'a> CsvRows<'a> {
    /// Reads the header row. `first` is the first line.
    ///
    /// # Errors
    /// [`FileError`].
    pub(super) fn open(text: &'a str, first: &str) -> Result<Self, FileError> {
        let cells = |separator: &u8| {
            let mut reader = builder(*separator).from_reader(first.as_bytes());
            let header = reader.byte_records().next();
            header.map_or(0, |it| it.map_or(0, |it| it.len()))
        };
        // The last of several maxima would win.
        let separators = SEPARATORS.iter().rev();
        let separator = *separators
            .max_by_key(|it| cells(it))
            .unwrap_or(&SEPARATORS[0]);
        let lines = text.as_bytes().chain(END.as_bytes());
        let mut rows = Self {
            reader: builder(separator).from_reader(lines),
            separator: separator.into(),
            columns: Vec::new(),
        };
        let Some(Row { line, cells }) = rows.next_row() else {
            return Ok(rows);
        };
        let header = cells.map_err(|reason| FileError::InvalidHeaderRow { line, reason })?;
        if header
            .iter()
            .any(|cell| Email::parse(without_name(cell)).is_ok())
        {
            return Err(FileError::NoHeaderRow { line });
        }
        if header
            .iter()
            .any(|cell| cell.contains(char::REPLACEMENT_CHARACTER))
        {
            let reason = "invalid UTF-8; save the file as UTF-8";
            return Err(FileError::InvalidHeaderRow { line, reason });
        }
        for (name, number) in header.iter().zip(1..) {
            let name = match name.trim() {
                "" => format!("column {number}"),
                name if rows.columns.iter().any(|it| it == name) => format!("{name} ({number})"),
                name => name.to_owned(),
            };
            rows.columns.push(name);
        }
        Ok(rows)
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the next row. The one with the names of the columns comes first.
    pub(super) fn next_row(&mut self) -> Option<Row> {
        let mut record = StringRecord::new();
        // A text in memory can always be read.
        self.reader.read_record(&mut record).ok().filter(|it| *it)?;
        let cells: Vec<String> = record
            .iter()
            .map(|cell| unescape_formula(cell).to_owned())
            .collect();
        let end = END.trim_matches('\n');
        if cells == [end] {
            return None;
        }
        // The position is after the line break of the row, if that is outside quotation marks. Empty lines may precede
        // the row.
        let breaks: usize = cells.iter().map(|cell| cell.matches('\n').count()).sum();
        let is_cut = cells.iter().any(|cell| cell.contains(end));
        let after = self.reader.position().line() + u64::from(is_cut);
        let line = after.saturating_sub(1 + breaks as u64);
        let cells = self.check(cells);
        Some(Row { line, cells })
    }

    /// Returns the cells, or why the row cannot be read. Those at the end may be missing.
    fn check(&self, mut cells: Vec<String>) -> Result<Vec<String>, &'static str> {
        if cells
            .iter()
            .any(|cell| cell.contains(END.trim_matches('\n')) || self.has_swallowed_rows(cell))
        {
            return Err("a quotation mark is not closed, so the rows below it are in its cell");
        }
        if self.columns.is_empty() {
            return Ok(cells);
        }
        let mut extra = cells.iter().skip(self.columns.len());
        if extra.any(|cell| !cell.trim().is_empty()) {
            return Err(
                "more cells than in the header row, so they may be in the wrong columns; quote the cells that contain \
                 a separator",
            );
        }
        cells.truncate(self.columns.len());
        Ok(cells)
    }

    /// Whether a cell has a line that looks like a row: with as many cells, and an address in one of them.
    fn has_swallowed_rows(&self, cell: &str) -> bool {
        let is_address = |cell: &str| Email::parse(cell.trim_matches(['"', ' '])).is_ok();
        let is_row = |line: &str| {
            let mut cells = line.split(self.separator);
            cells.clone().count() == self.columns.len() && cells.any(is_address)
        };
        cell.split('\n').skip(1).any(is_row)
    }
}

fn builder(separator: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder
        .delimiter(separator)
        .has_headers(false)
        .flexible(true);
    builder
}
