//! The formats that `export` writes: CSV, or one JSON object per line.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use serde::Serialize;

use crate::{
    cli::time::rfc3339,
    waitlist::{Source, WaitlistEntry},
};

/// The columns, in their order.
const COLUMNS: [&str; 4] = ["email", "joined_at", "source", "confirmed_at"];
/// Starts a CSV file, because spreadsheets recognize UTF-8 by it.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A person as `list` and `export` print them. In JSON, unknown fields are absent.
#[derive(Serialize)]
pub(crate) struct EntryFields<'a> {
    pub(crate) email: &'a str,
    pub(crate) joined_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confirmed_at: Option<String>,
}

impl<'a> From<&'a WaitlistEntry> for EntryFields<'a> {
    fn from(entry: &'a WaitlistEntry) -> Self {
        Self {
            email: entry.email.as_typed(),
            joined_at: rfc3339(entry.joined_at),
            source: entry.source.as_ref().map(Source::as_str),
            confirmed_at: entry.confirmed_at.map(rfc3339),
        }
    }
}

/// Writes entries.
pub(crate) struct ExportWriter<W: Write> {
    json: bool,
    out: W,
    entries: u64,
}

impl<W: Write> ExportWriter<W> {
    /// Begins a CSV file with its header row. Spreadsheets recognize UTF-8 by the byte order mark.
    pub(crate) fn new(json: bool, mut out: W) -> io::Result<Self> {
        if !json {
            writeln!(out, "{BYTE_ORDER_MARK}{}", COLUMNS.join(","))?;
        }
        Ok(Self {
            json,
            out,
            entries: 0,
        })
    }

    pub(crate) fn write(&mut self, entry: &WaitlistEntry) -> io::Result<()> {
        let fields = EntryFields::from(entry);
        self.entries += 1;
        if self.json {
            serde_json::to_writer(&mut self.out, &fields)?;
            return self.out.write_all(b"\n");
        }
        // No quoting is needed: `Email` and `Source` reject commas, quotation marks and line breaks.
        writeln!(
            self.out,
            "{},{},{},{}",
            escape_formula(fields.email),
            fields.joined_at,
            escape_formula(fields.source.unwrap_or_default()),
            fields.confirmed_at.unwrap_or_default(),
        )
    }

    /// Returns the number of entries.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.entries)
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
