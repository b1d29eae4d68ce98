//! The formats that `export` writes and `import` reads: CSV, or one JSON object per line, with a trailer.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use clap::ValueEnum;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::trailer::{BYTE_ORDER_MARK, HEADER, Trailer};
use crate::{cli::time::rfc3339, waitlist::WaitlistEntry};

/// The format of an export.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For spreadsheets
    Csv,
    /// One JSON object per line, for programs
    Jsonl,
}

/// An entry in JSON. `ListedEntry` of `list` has the same fields in another order, and both orders are output.
#[derive(Serialize)]
struct JsonLine<'a> {
    email: &'a str,
    joined_at: &'a str,
}

/// Writes entries, then the trailer.
pub(crate) struct ExportWriter<W: Write> {
    format: ExportFormat,
    out: W,
    hash: Sha256,
    line: Vec<u8>,
    entries: u64,
}

impl<W: Write> ExportWriter<W> {
    pub(crate) fn new(format: ExportFormat, out: W) -> Self {
        let mut writer = Self {
            format,
            out,
            hash: Sha256::new(),
            line: Vec::new(),
            entries: 0,
        };
        if format == ExportFormat::Csv {
            writer.line = format!("{BYTE_ORDER_MARK}{HEADER}\n").into();
        }
        writer
    }

    pub(crate) fn write(&mut self, entry: &WaitlistEntry) -> io::Result<()> {
        self.write_line()?;
        let (email, joined_at) = (entry.email.as_typed(), &*rfc3339(entry.joined_at));
        match self.format {
            // No quoting is needed: `Email::parse` rejects commas, quotation marks and line breaks.
            ExportFormat::Csv => write!(self.line, "{},{joined_at}", escape_formula(email))?,
            ExportFormat::Jsonl => {
                serde_json::to_writer(&mut self.line, &JsonLine { email, joined_at })?
            }
        }
        self.line.push(b'\n');
        self.entries += 1;
        Ok(())
    }

    /// Writes the trailer and returns it.
    pub(crate) fn finish(mut self) -> io::Result<Trailer> {
        self.write_line()?;
        let trailer = Trailer::new(self.entries, self.hash);
        let line = match self.format {
            ExportFormat::Csv => trailer.to_csv(),
            ExportFormat::Jsonl => trailer.to_json(),
        };
        writeln!(self.out, "{line}")?;
        self.out.flush()?;
        Ok(trailer)
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.hash.update(&self.line);
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

/// The first characters by which a spreadsheet recognizes a formula (OWASP, CSV Injection), most of which an
/// address can begin with. `'` is one of them, so that escaping can be undone.
const FORMULA_PREFIXES: [char; 5] = ['=', '+', '-', '@', '\''];

/// Puts a `'` before a text that a spreadsheet would run as a formula.
fn escape_formula(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA_PREFIXES) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Undoes [`escape_formula`].
pub(crate) fn unescape_formula(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if text.starts_with(FORMULA_PREFIXES) => text,
        _ => cell,
    }
}
