//! The formats that `export` writes and `import` reads: CSV, or one JSON object per line, with a trailer.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use clap::ValueEnum;
use ring::digest::{Context, SHA256};
use serde::Serialize;

use super::{
    column_names::EXPORT_COLUMNS,
    list_lines::{self, ListLine},
    trailer::{BYTE_ORDER_MARK, Trailer},
};
use crate::{
    cli::time::rfc3339,
    waitlist::{Source, WaitlistEntry},
};

/// The format of an export.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For spreadsheets
    Csv,
    /// One JSON object per line, for programs
    Jsonl,
}

/// An entry in JSON. `ListedEntry` of `list` has these fields but the last, in another order. Scripts may rely on either order.
#[derive(Serialize)]
struct JsonLine<'a> {
    email: &'a str,
    joined_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_at: Option<&'a str>,
}

/// Writes entries, then the other lines of the list, then the trailer.
pub(crate) struct ExportWriter<W: Write> {
    format: ExportFormat,
    out: W,
    hash: Context,
    /// The last line, which is not written yet.
    pending_line: Vec<u8>,
    entries: u64,
}

impl<W: Write> ExportWriter<W> {
    pub(crate) fn new(format: ExportFormat, out: W) -> Self {
        let mut writer = Self {
            format,
            out,
            hash: Context::new(&SHA256),
            pending_line: Vec::new(),
            entries: 0,
        };
        if format == ExportFormat::Csv {
            writer.pending_line = format!("{BYTE_ORDER_MARK}{}\n", EXPORT_COLUMNS.join(",")).into();
        }
        writer
    }

    pub(crate) fn write(&mut self, entry: &WaitlistEntry) -> io::Result<()> {
        self.write_pending_line()?;
        let (email, joined_at) = (entry.email.as_typed(), &*rfc3339(entry.joined_at));
        let source = entry.source.as_ref().map(Source::as_str);
        let confirmed_at = entry.confirmed_at.map(rfc3339);
        let confirmed_at = confirmed_at.as_deref();
        let asked_at = entry.asked_at.map(rfc3339);
        let asked_at = asked_at.as_deref();
        match self.format {
            // No quoting is needed: `Email::parse` and `Source::parse` reject commas, quotation marks and line breaks.
            ExportFormat::Csv => write!(
                self.pending_line,
                "{},{joined_at},{},{},{}",
                escape_formula(email),
                escape_formula(source.unwrap_or_default()),
                confirmed_at.unwrap_or_default(),
                asked_at.unwrap_or_default()
            )?,
            ExportFormat::Jsonl => {
                let line = JsonLine {
                    email,
                    joined_at,
                    source,
                    confirmed_at,
                    asked_at,
                };
                serde_json::to_writer(&mut self.pending_line, &line)?;
            }
        }
        self.pending_line.push(b'\n');
        self.entries += 1;
        Ok(())
    }

    /// Writes a line that is not an entry.
    pub(crate) fn write_list_line(&mut self, line: &ListLine) -> io::Result<()> {
        self.write_pending_line()?;
        let line = match self.format {
            ExportFormat::Csv => list_lines::to_csv(line),
            ExportFormat::Jsonl => list_lines::to_json(line),
        };
        writeln!(self.pending_line, "{line}")
    }

    /// Writes the trailer and returns it.
    pub(crate) fn finish(mut self) -> io::Result<Trailer> {
        self.write_pending_line()?;
        let trailer = Trailer::new(self.entries, self.hash);
        let line = match self.format {
            ExportFormat::Csv => trailer.to_csv(),
            ExportFormat::Jsonl => trailer.to_json(),
        };
        writeln!(self.out, "{line}")?;
        self.out.flush()?;
        Ok(trailer)
    }

    fn write_pending_line(&mut self) -> io::Result<()> {
        self.hash.update(&self.pending_line);
        self.out.write_all(&self.pending_line)?;
        self.pending_line.clear();
        Ok(())
    }
}

/// The first characters by which a spreadsheet recognizes a formula (OWASP, CSV Injection), most of which an
/// address can begin with. `'` is added, so that escaping can be undone.
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
