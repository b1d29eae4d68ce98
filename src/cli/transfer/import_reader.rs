//! What `import` reads: the rows of a file, whatever program wrote it.

use std::{
    borrow::Cow,
    fmt,
    io::{self, BufRead, BufReader, Read},
    sync::Arc,
    time::SystemTime,
};

use serde::{Deserialize, Serialize, Serializer};

use super::{
    columns::{Columns, parse_entry},
    csv_reader::{CsvReader, CsvRow},
    export_format::{BYTE_ORDER_MARK, Trailer},
    json_lines::read_json_lines,
    scan::ImportRules,
};
use crate::waitlist::{InvalidEmail, WaitlistEntry};

/// A line of a file, and who stands in it, or why nobody does.
pub(crate) struct ImportRow {
    pub(crate) line: u64,
    pub(crate) result: Result<ParsedEntry, Reason>,
}

pub(crate) type ImportRows = Box<dyn Iterator<Item = io::Result<ImportRow>> + Send>;

/// Who stands in a row.
pub(crate) struct ParsedEntry {
    pub(crate) entry: WaitlistEntry,
    /// Whether the row says when; else they join now.
    pub(crate) has_time: bool,
    /// Whether that can be: an intact export may have other times.
    pub(crate) is_time_valid: bool,
}

/// Why a row is rejected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reason {
    InvalidEmail(InvalidEmail),
    /// It is right, and says that who stands there is on the list no more that it comes from.
    Unsubscribed,
    Malformed(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidEmail(why) => why.fmt(f),
            Self::Unsubscribed => f.write_str("has left the list that this comes from"),
            Self::Malformed(why) => f.write_str(why),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A file whose beginning was read.
pub(crate) struct ImportReader {
    /// Of a table; objects of JSON have columns of their own.
    pub(crate) columns: Option<Arc<Columns>>,
    pub(crate) records: Box<dyn Iterator<Item = io::Result<Record>> + Send>,
}

/// A row as it stands in the file.
pub(crate) struct Record {
    pub(crate) line: u64,
    pub(crate) content: Result<Content, Reason>,
}

pub(crate) enum Content {
    /// An object that `export` could have written.
    Exported(ExportedEntry),
    Object(Columns, Vec<String>),
    CsvRow(Arc<Columns>, CsvRow),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportedEntry {
    email: String,
    joined_at: String,
}

impl Content {
    /// Its columns, unless they are those of `export`.
    pub(crate) fn columns(&self) -> Option<&Columns> {
        match self {
            Self::Exported(_) => None,
            Self::Object(columns, _) => Some(columns),
            Self::CsvRow(columns, _) => Some(columns),
        }
    }

    /// A cell without the white space around it; what is beyond the last one is empty.
    pub(crate) fn cell(&self, at: usize) -> Result<&str, Reason> {
        let text = match self {
            Self::Exported(_) => "",
            // What was not UTF-8 was replaced.
            Self::Object(_, cells) => {
                let text = cells.get(at).map_or("", String::as_str);
                if text.contains(char::REPLACEMENT_CHARACTER) {
                    return Err(NOT_UTF_8);
                }
                text
            }
            Self::CsvRow(_, cells) => str::from_utf8(cells.get(at)).map_err(|_| NOT_UTF_8)?,
        };
        Ok(text.trim())
    }

    /// The same of a cell that may hold bytes that are not UTF-8, because it is only looked through.
    pub(crate) fn cell_lossy(&self, at: usize) -> Cow<'_, str> {
        match self {
            Self::Exported(_) => Cow::Borrowed(""),
            Self::Object(_, cells) => Cow::Borrowed(cells.get(at).map_or("", |it| it.trim())),
            Self::CsvRow(_, cells) => String::from_utf8_lossy(cells.get(at).trim_ascii()),
        }
    }

    /// The cells behind the last column that have a text.
    pub(crate) fn extra_cells(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let extra = match self {
            Self::CsvRow(columns, cells) => columns.width()..cells.len(),
            Self::Exported(_) | Self::Object(..) => 0..0,
        };
        let cells = extra.map(|at| self.cell_lossy(at));
        cells.filter(|cell| !cell.trim().is_empty())
    }

    /// The text where the address should be.
    pub(crate) fn email(&self) -> &str {
        match (self, self.columns()) {
            (Self::Exported(exported), _) => exported.email.trim(),
            (_, Some(columns)) => columns.address(self.cell(columns.email).unwrap_or_default()),
            (_, None) => "",
        }
    }

    fn parse(&self, rules: &ImportRules, now: SystemTime) -> Result<ParsedEntry, Reason> {
        match self {
            Self::Exported(ExportedEntry { email, joined_at }) => {
                parse_entry(email, joined_at, rules, now)
            }
            Self::Object(columns, _) => columns.parse_row(self, rules, now),
            Self::CsvRow(columns, _) => columns.parse_row(self, rules, now),
        }
    }
}

impl ImportReader {
    /// The rows. Who has no time joined `now`.
    pub(crate) fn into_rows(self, rules: ImportRules, now: SystemTime) -> ImportRows {
        Box::new(self.records.map(move |record| {
            let Record { line, content } = record?;
            let result = content.and_then(|content| content.parse(&rules, now));
            Ok(ImportRow { line, result })
        }))
    }
}

/// Reads the beginning of a file.
///
/// # Errors
/// A sentence for the owner, when it is not seen where the addresses stand.
pub(crate) fn open(
    file: impl Read + Send + 'static,
    ignored: &[String],
) -> io::Result<ImportReader> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let beginning = file.fill_buf()?;
    if beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff") {
        return Err(io::Error::other("it is in UTF-16: save it as CSV in UTF-8"));
    }
    if beginning.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        file.consume(BYTE_ORDER_MARK.len());
    }
    let first = file.fill_buf()?.trim_ascii_start().first();
    match first {
        Some(b'{') => Ok(ImportReader {
            columns: None,
            records: Box::new(read_json_lines(file, ignored.to_owned())),
        }),
        Some(b'[') => Err(io::Error::other(
            "it is an array of JSON: write its objects one a line, as `jq -c '.[]'` does",
        )),
        _ => read_csv(file, ignored),
    }
}

/// The rows of a CSV.
fn read_csv(file: impl BufRead + Send + 'static, ignored: &[String]) -> io::Result<ImportReader> {
    let mut rows = CsvReader::new(file)?;
    // Excel's "sep=;" stands before the header row.
    let is_blank = |cells: &CsvRow| {
        let is_blank_cell = |cell: &[u8]| cell.is_empty() || cell.starts_with(b"sep=");
        cells.iter().all(|cell| is_blank_cell(cell.trim_ascii()))
    };
    let header = loop {
        match rows.next().transpose()? {
            None => break None,
            // Without it nobody knows what the others mean.
            Some(Err((line, why))) => {
                return Err(io::Error::other(format!("line {line}: {why}")));
            }
            Some(Ok(cells)) if is_blank(&cells) => {}
            Some(Ok(cells)) => break Some(cells),
        }
    };
    let Some(header) = header else {
        return Ok(ImportReader {
            columns: None,
            records: Box::new(std::iter::empty()),
        });
    };
    let (columns, first) = Columns::from_first_row(header, ignored).ok_or_else(|| {
        io::Error::other(
            "it is not seen where its addresses stand: name their column \"email\" in the first line",
        )
    })?;
    let columns = Arc::new(columns);
    let rows = first.into_iter().map(|cells| Ok(Ok(cells))).chain(rows);
    let row_columns = Arc::clone(&columns);
    let records = rows.filter_map(move |row| match row {
        Ok(Ok(cells)) if is_trailer(&cells) => None,
        Ok(Ok(cells)) => Some(Ok(Record {
            line: cells.line,
            content: Ok(Content::CsvRow(Arc::clone(&row_columns), cells)),
        })),
        Ok(Err((line, why))) => Some(Ok(Record {
            line,
            content: Err(Reason::Malformed(why)),
        })),
        Err(error) => Some(Err(error)),
    });
    Ok(ImportReader {
        columns: Some(columns),
        records: Box::new(records),
    })
}

fn is_trailer(cells: &CsvRow) -> bool {
    let cell = |at| String::from_utf8_lossy(cells.get(at));
    cell(0).starts_with("# ") && Trailer::parse(&format!("{},{}", cell(0), cell(1))).is_some()
}

const NOT_UTF_8: Reason = Reason::Malformed("it is not UTF-8");
