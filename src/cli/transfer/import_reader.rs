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
    columns::{Columns, found},
    csv_reader::{Cells, Table},
    export_format::{BYTE_ORDER_MARK, Seal},
    json_lines::objects,
    scan::Rules,
};
use crate::waitlist::{Entry, InvalidEmail};

/// A line of a file, and who stands in it, or why nobody does.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) found: Result<Found, Reason>,
}

pub(crate) type Rows = Box<dyn Iterator<Item = io::Result<Row>> + Send>;

/// Who stands in a row.
pub(crate) struct Found {
    pub(crate) entry: Entry,
    /// Whether the row says when; else they join now.
    pub(crate) has_time: bool,
    /// Whether that can be: an intact export may have other times.
    pub(crate) is_plausible: bool,
}

/// Why a row is rejected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reason {
    NoAddress(InvalidEmail),
    /// It is right, and says that who stands there is on the list no more that it comes from.
    Left,
    Broken(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress(why) => why.fmt(f),
            Self::Left => f.write_str("has left the list that this comes from"),
            Self::Broken(why) => f.write_str(why),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A file whose beginning was read.
pub(crate) struct Opened {
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
    Person(Person),
    Object(Columns, Vec<String>),
    Cells(Arc<Columns>, Cells),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Person {
    email: String,
    joined_at: String,
}

impl Content {
    /// Its columns, unless they are those of `export`.
    pub(crate) fn columns(&self) -> Option<&Columns> {
        match self {
            Self::Person(_) => None,
            Self::Object(columns, _) => Some(columns),
            Self::Cells(columns, _) => Some(columns),
        }
    }

    /// A cell without the white space around it; what is beyond the last one is empty.
    pub(crate) fn cell(&self, at: usize) -> Result<&str, Reason> {
        let text = match self {
            Self::Person(_) => "",
            // What was not UTF-8 was replaced.
            Self::Object(_, cells) => {
                let text = cells.get(at).map_or("", String::as_str);
                if text.contains(char::REPLACEMENT_CHARACTER) {
                    return Err(NOT_UTF_8);
                }
                text
            }
            Self::Cells(_, cells) => str::from_utf8(cells.get(at)).map_err(|_| NOT_UTF_8)?,
        };
        Ok(text.trim())
    }

    /// The same of a cell that may hold bytes that are not UTF-8, because it is only looked through.
    pub(crate) fn loose_cell(&self, at: usize) -> Cow<'_, str> {
        match self {
            Self::Person(_) => Cow::Borrowed(""),
            Self::Object(_, cells) => Cow::Borrowed(cells.get(at).map_or("", |it| it.trim())),
            Self::Cells(_, cells) => String::from_utf8_lossy(cells.get(at).trim_ascii()),
        }
    }

    /// The cells behind the last column that have a text.
    pub(crate) fn extra_cells(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let extra = match self {
            Self::Cells(columns, cells) => columns.width()..cells.len(),
            Self::Person(_) | Self::Object(..) => 0..0,
        };
        let cells = extra.map(|at| self.loose_cell(at));
        cells.filter(|cell| !cell.trim().is_empty())
    }

    /// The text where the address should be.
    pub(crate) fn email(&self) -> &str {
        match (self, self.columns()) {
            (Self::Person(person), _) => person.email.trim(),
            (_, Some(columns)) => columns.address(self.cell(columns.email).unwrap_or_default()),
            (_, None) => "",
        }
    }

    fn read(&self, rules: &Rules, now: SystemTime) -> Result<Found, Reason> {
        match self {
            Self::Person(Person { email, joined_at }) => found(email, joined_at, rules, now),
            Self::Object(columns, _) => columns.read(self, rules, now),
            Self::Cells(columns, _) => columns.read(self, rules, now),
        }
    }
}

impl Opened {
    /// The rows. Who has no time joined `now`.
    pub(crate) fn read(self, rules: Rules, now: SystemTime) -> Rows {
        Box::new(self.records.map(move |record| {
            let Record { line, content } = record?;
            let found = content.and_then(|content| content.read(&rules, now));
            Ok(Row { line, found })
        }))
    }
}

/// Reads the beginning of a file.
///
/// # Errors
/// A sentence for the owner, when it is not seen where the addresses stand.
pub(crate) fn open(file: impl Read + Send + 'static, ignored: &[String]) -> io::Result<Opened> {
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
        Some(b'{') => Ok(Opened {
            columns: None,
            records: Box::new(objects(file, ignored.to_owned())),
        }),
        Some(b'[') => Err(io::Error::other(
            "it is an array of JSON: write its objects one a line, as `jq -c '.[]'` does",
        )),
        _ => table(file, ignored),
    }
}

/// The rows of a CSV.
fn table(file: impl BufRead + Send + 'static, ignored: &[String]) -> io::Result<Opened> {
    let mut rows = Table::new(file)?;
    // Excel's "sep=;" stands before the header row.
    let is_blank = |cells: &Cells| {
        let is_said = |cell: &[u8]| cell.is_empty() || cell.starts_with(b"sep=");
        cells.iter().all(|cell| is_said(cell.trim_ascii()))
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
        return Ok(Opened {
            columns: None,
            records: Box::new(std::iter::empty()),
        });
    };
    let (columns, first) = Columns::find(header, ignored).ok_or_else(|| {
        io::Error::other(
            "it is not seen where its addresses stand: name their column \"email\" in the first line",
        )
    })?;
    let columns = Arc::new(columns);
    let rows = first.into_iter().map(|cells| Ok(Ok(cells))).chain(rows);
    let of_rows = Arc::clone(&columns);
    let records = rows.filter_map(move |row| match row {
        Ok(Ok(cells)) if is_seal(&cells) => None,
        Ok(Ok(cells)) => Some(Ok(Record {
            line: cells.line,
            content: Ok(Content::Cells(Arc::clone(&of_rows), cells)),
        })),
        Ok(Err((line, why))) => Some(Ok(Record {
            line,
            content: Err(Reason::Broken(why)),
        })),
        Err(error) => Some(Err(error)),
    });
    Ok(Opened {
        columns: Some(columns),
        records: Box::new(records),
    })
}

fn is_seal(cells: &Cells) -> bool {
    let cell = |at| String::from_utf8_lossy(cells.get(at));
    cell(0).starts_with("# ") && Seal::parse(&format!("{},{}", cell(0), cell(1))).is_some()
}

const NOT_UTF_8: Reason = Reason::Broken("it is not UTF-8");
