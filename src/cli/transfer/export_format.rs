//! The files that `export` writes and `import` reads: CSV or an object of JSON a line, with a trailer at
//! the end.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{cli::time::rfc3339, waitlist::WaitlistEntry};

/// How a list is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For spreadsheets
    Csv,
    /// An object a line, for programs
    Jsonl,
}

/// The header of a CSV.
pub(crate) const HEADER: &str = "email,joined_at";

/// Spreadsheets take a file that begins so for one in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// An entry in JSON.
#[derive(Serialize)]
struct JsonLine<'a> {
    email: &'a str,
    joined_at: &'a str,
}

/// Writes a file.
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
            // Neither has a comma, a quotation mark or a line's end: `Email::parse` sees to it.
            ExportFormat::Csv => write!(self.line, "{},{joined_at}", escape_formula(email))?,
            ExportFormat::Jsonl => {
                serde_json::to_writer(&mut self.line, &JsonLine { email, joined_at })?
            }
        }
        self.line.push(b'\n');
        self.entries += 1;
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> io::Result<Trailer> {
        self.write_line()?;
        let trailer = Trailer {
            entries: self.entries,
            sha256: hex(self.hash),
        };
        writeln!(self.out, "{}", trailer.to_line(self.format))?;
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

/// A cell that a spreadsheet takes for a formula when it begins so (OWASP, CSV Injection); and `'`, so
/// that one before it can be told from one that belongs there. An address can begin with most of them.
const FORMULA_PREFIXES: [char; 5] = ['=', '+', '-', '@', '\''];

/// A text that no spreadsheet runs.
fn escape_formula(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA_PREFIXES) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text that [`escape_formula`] was made of.
pub(crate) fn unescape_formula(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if text.starts_with(FORMULA_PREFIXES) => text,
        _ => cell,
    }
}

/// Whether a file that begins so was written here.
pub(crate) fn is_own_export(beginning: &[u8]) -> bool {
    let first = beginning.split(|byte| *byte == b'\n').next();
    let first = String::from_utf8_lossy(first.unwrap_or_default());
    let first = first.trim_end();
    first.strip_prefix(BYTE_ORDER_MARK) == Some(HEADER)
        || first.starts_with("{\"email\":\"") && first.contains("\",\"joined_at\":\"")
}

/// What ends a file: how many entries it has, and the SHA-256 of all bytes before this line.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Trailer {
    pub(crate) entries: u64,
    pub(crate) sha256: String,
}

impl Trailer {
    fn to_line(&self, format: ExportFormat) -> String {
        let Self { entries, sha256 } = self;
        match format {
            ExportFormat::Csv => format!("# {entries} entries,sha256:{sha256}"),
            ExportFormat::Jsonl => format!(r#"{{"entries":{entries},"sha256":"{sha256}"}}"#),
        }
    }

    /// The trailer that a line is. A spreadsheet may have written it anew, with marks of its own.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        if let Ok(trailer) = serde_json::from_str(line) {
            return Some(trailer);
        }
        let line = line.replace('"', "");
        let (entries, rest) = line.strip_prefix("# ")?.split_once(" entries")?;
        let rest = rest.trim_start_matches([',', ';', '\t']);
        Some(Self {
            entries: entries.parse().ok()?,
            sha256: rest.strip_prefix("sha256:")?.get(..64)?.to_owned(),
        })
    }
}

/// A hash as people compare it.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
