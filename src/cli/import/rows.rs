//! Reads the rows of a file: a list of addresses, a table (CSV), or JSON lines.

use std::io::{self, BufRead, BufReader, Cursor, Read, Split};

use encoding_rs_io::DecodeReaderBytesBuilder;

use super::{csv_rows::CsvRows, error::FileError, json_rows::JsonRows, row::Row};
use crate::{cli::address::without_name, waitlist::Email};

/// How much of a file shows what it is, in bytes.
const BEGINNING_BYTES: u64 = 1 << 16;
/// The number of bytes in which null bytes are searched for. Text in UTF-16 has one at least at each separator.
const NULL_SEARCH_BYTES: usize = 1 << 10;
/// The files of Excel and LibreOffice are ZIP archives. Old ones of Excel are compound files. The third is gzip.
const ARCHIVES: [&[u8]; 3] = [b"PK", b"\xd0\xcf\x11\xe0", b"\x1f\x8b"];
/// The beginning of every backup.
const BACKUP: &[u8] = b"{\"backup\":";
/// The marks before the lines of a list.
const BULLETS: [&str; 3] = ["- ", "* ", "• "];

/// The file to read. It is read several times, each time from its beginning.
pub(super) type Source<'a> = &'a dyn Fn() -> io::Result<Box<dyn Read>>;

/// The rows of a file.
pub(super) enum Rows {
    /// One address per line.
    List {
        lines: Split<Box<dyn BufRead>>,
        line: u64,
    },
    Table(Box<CsvRows>),
    Objects(JsonRows),
}

impl Rows {
    /// Opens a file, and finds out what it is. UTF-16 is recognized by its byte order mark.
    ///
    /// # Errors
    /// [`FileError`].
    pub(super) fn open(source: Source) -> Result<Self, FileError> {
        let mut file = DecodeReaderBytesBuilder::new()
            .strip_bom(true)
            .build(source()?);
        let mut beginning = Vec::new();
        file.by_ref()
            .take(BEGINNING_BYTES)
            .read_to_end(&mut beginning)?;
        if ARCHIVES.iter().any(|it| beginning.starts_with(it)) {
            return Err(FileError::Archive);
        }
        if beginning.iter().take(NULL_SEARCH_BYTES).any(|it| *it == 0) {
            return Err(FileError::NullBytes);
        }
        if beginning.starts_with(BACKUP) {
            return Err(FileError::Backup);
        }
        let text = String::from_utf8_lossy(&beginning).into_owned();
        let file: Box<dyn BufRead> = Box::new(BufReader::new(Cursor::new(beginning).chain(file)));
        let mut lines = text.lines();
        let first = lines
            .find(|line| !line.trim().is_empty() && !is_comment(line))
            .unwrap_or_default();
        Ok(match first.trim_start().chars().next() {
            Some('{') => Self::Objects(JsonRows::new(file)),
            Some('[') => return Err(FileError::JsonArray),
            Some(_) if Email::parse(list_item(first)).is_err() => {
                Self::Table(Box::new(CsvRows::open(file, first)?))
            }
            _ => Self::List {
                lines: file.split(b'\n'),
                line: 0,
            },
        })
    }

    /// Returns the names of the columns that were read so far: all columns of a table, and none for a list.
    pub(super) fn columns(&self) -> &[String] {
        match self {
            Self::List { .. } => &[],
            Self::Table(rows) => rows.columns(),
            Self::Objects(rows) => rows.columns(),
        }
    }

    /// Returns the next row that is not empty.
    ///
    /// # Errors
    /// [`FileError`], if nothing after this row can be read.
    pub(super) fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        loop {
            let row = match self {
                Self::List { lines, line } => next_item(lines, line)?,
                Self::Table(rows) => rows.next_row()?,
                Self::Objects(rows) => rows.next_row()?,
            };
            let Some(row) = row else { return Ok(None) };
            match &row.cells {
                Ok(cells) if cells.iter().all(|it| it.trim().is_empty()) => {}
                _ => return Ok(Some(row)),
            }
        }
    }
}

/// Returns the next line of a list that is not a comment.
fn next_item(lines: &mut Split<Box<dyn BufRead>>, line: &mut u64) -> io::Result<Option<Row>> {
    for text in lines {
        let text = text?;
        let text = String::from_utf8_lossy(&text);
        *line += 1;
        if is_comment(&text) {
            continue;
        }
        let cells = match text.trim_start().starts_with('#') {
            // Somebody may have taken the address off the list like this.
            true => Err("the line begins with # and has an address; remove one of the two"),
            false => Ok(vec![list_item(&text).to_owned()]),
        };
        return Ok(Some(Row { line: *line, cells }));
    }
    Ok(None)
}

/// Returns what a line of a list says, without a bullet, and without what a spreadsheet writes around it.
fn list_item(line: &str) -> &str {
    let line = line.trim().trim_end_matches([',', ';', '\t']);
    let line = line
        .strip_prefix('"')
        .and_then(|it| it.strip_suffix('"'))
        .unwrap_or(line);
    let bullet = BULLETS.iter().find_map(|bullet| line.strip_prefix(bullet));
    without_name(bullet.unwrap_or(line))
}

/// Returns whether a line is a comment of a list. A line with an @ may name somebody. The name of a column may be `#`.
fn is_comment(line: &str) -> bool {
    let text = line.trim_start().strip_prefix('#');
    text.is_some_and(|text| !text.contains('@') && !text.starts_with([',', ';', '\t']))
}

/// Reads a file of people, whatever it says about them: one address per line, or a table or JSON lines in which one
/// column has addresses. Returns the text of each address, and its line.
///
/// # Errors
/// [`FileError`], and the number of a row that cannot be read, or that has several addresses.
pub(in crate::cli) fn read_addresses(source: Source) -> anyhow::Result<Vec<(u64, String)>> {
    let mut rows = Rows::open(source)?;
    let mut addresses = Vec::new();
    let mut column = None;
    while let Some(Row { line, cells }) = rows.next_row()? {
        let cells = cells.map_err(|reason| anyhow::anyhow!("line {line}: {reason}"))?;
        let address = |at: usize| without_name(cells.get(at).map_or("", String::as_str));
        let is_address = |at: &usize| Email::parse(address(*at)).is_ok();
        let found: Vec<_> = (0..cells.len()).filter(is_address).collect();
        let at = *column.get_or_insert(found.first().copied().unwrap_or_default());
        anyhow::ensure!(
            found.iter().all(|other| *other == at),
            "line {line}: more than one address or column; write one address per line, or remove the other columns"
        );
        addresses.push((line, address(at).to_owned()));
    }
    Ok(addresses)
}
