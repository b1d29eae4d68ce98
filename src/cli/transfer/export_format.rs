//! The formats that `export` writes: CSV, or one JSON object per line.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use serde::Serialize;

use super::column_names::EXPORT_COLUMNS;
use crate::{
    cli::time::rfc3339,
    waitlist::{Source, WaitlistEntry},
};

/// Starts a CSV file, because spreadsheets recognize UTF-8 by it.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// An entry in JSON. `ListedEntry` of `list` has these fields and more, in another order. Scripts may rely on either
/// order.
#[derive(Serialize)]
struct JsonLine<'a> {
    email: &'a str,
    joined_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_at: Option<&'a str>,
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
            writeln!(out, "{BYTE_ORDER_MARK}{}", EXPORT_COLUMNS.join(","))?;
        }
        Ok(Self {
            json,
            out,
            entries: 0,
        })
    }

    pub(crate) fn write(&mut self, entry: &WaitlistEntry) -> io::Result<()> {
        let (email, joined_at) = (entry.email.as_typed(), &*rfc3339(entry.joined_at));
        let source = entry.source.as_ref().map(Source::as_str);
        let confirmed_at = entry.confirmed_at.map(rfc3339);
        let confirmed_at = confirmed_at.as_deref();
        self.entries += 1;
        if self.json {
            let line = JsonLine {
                email,
                joined_at,
                source,
                confirmed_at,
            };
            serde_json::to_writer(&mut self.out, &line)?;
            return self.out.write_all(b"\n");
        }
        // No quoting is needed: `Email::parse` and `Source::parse` reject commas, quotation marks and line breaks.
        writeln!(
            self.out,
            "{},{joined_at},{},{}",
            escape_formula(email),
            escape_formula(source.unwrap_or_default()),
            confirmed_at.unwrap_or_default(),
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
