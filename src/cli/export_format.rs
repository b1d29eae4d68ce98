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

/// The header row of a CSV file. Spreadsheets recognise UTF-8 by the byte order mark.
pub(crate) const CSV_HEADER: &str = "\u{feff}email,joined_at,source,confirmed_at,asked_at";

/// A person as `list`, `export` and `show` print them. In JSON, unknown fields are absent.
#[derive(Default, Serialize)]
pub(crate) struct EntryFields<'a> {
    pub(crate) email: &'a str,
    /// `None` if the person is not on the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) joined_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confirmed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked_at: Option<String>,
    /// The number of people invited, if the command counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) invitations: Option<u64>,
}

impl<'a> From<&'a WaitlistEntry> for EntryFields<'a> {
    fn from(entry: &'a WaitlistEntry) -> Self {
        Self {
            email: entry.email.as_typed(),
            joined_at: Some(rfc3339(entry.joined_at)),
            source: entry.source.as_ref().map(Source::as_str),
            confirmed_at: entry.confirmed_at.map(rfc3339),
            asked_at: entry.asked_at.map(rfc3339),
            invitations: None,
        }
    }
}

impl EntryFields<'_> {
    /// Writes a line of JSON, or of CSV. No quoting is needed: `Email` and `Source` reject commas, quotation marks and line
    /// breaks.
    pub(crate) fn write(&self, mut out: &mut dyn Write, as_json: bool) -> io::Result<()> {
        if as_json {
            serde_json::to_writer(&mut out, self)?;
            return writeln!(out);
        }
        writeln!(
            out,
            "{},{},{},{},{}",
            escape_formula(self.email),
            self.joined_at.as_deref().unwrap_or_default(),
            escape_formula(self.source.unwrap_or_default()),
            self.confirmed_at.as_deref().unwrap_or_default(),
            self.asked_at.as_deref().unwrap_or_default(),
        )
    }
}

/// The first characters by which a spreadsheet recognises a formula (OWASP, CSV Injection), most of which an
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
