//! Reads the rows of a file: a list of addresses, CSV below a header row, or JSON lines.

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
};

use csv::{ReaderBuilder, StringRecord};
use serde_json::{Map, Value};

use super::{column::Column, input_file::FileError, text::fold};
use crate::{
    cli::{address::without_name, export_format::unescape_formula},
    waitlist::Email,
};

/// The rows of a file that are not empty.
pub(super) struct Table {
    /// A list of addresses, one per line, has none.
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
}

/// A row.
pub(super) struct Row {
    /// The number of its first line.
    pub(super) line: u64,
    /// The cells, or why the row cannot be read.
    pub(super) cells: Result<Cells, &'static str>,
}

/// The cells of a row. Missing ones at its end are empty.
pub(super) struct Cells {
    texts: StringRecord,
    /// The column of each cell, in ascending order, if the row is an object: it lacks what is empty. Objects with different
    /// keys would otherwise need as much memory as all rows with all columns.
    columns: Option<Vec<usize>>,
}

impl Cells {
    /// Returns the cell of a column, or `None` if the row ends before.
    pub(super) fn get(&self, column: usize) -> Option<&str> {
        match &self.columns {
            None => self.texts.get(column),
            Some(columns) => {
                let at = columns.binary_search(&column).ok();
                Some(at.map_or("", |at| &self.texts[at]))
            }
        }
    }

    /// Returns the cells with their columns.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        let column = |at| self.columns.as_ref().map_or(at, |columns| columns[at]);
        let texts = self.texts.iter().enumerate();
        texts.map(move |(at, text)| (column(at), text))
    }
}

impl From<StringRecord> for Cells {
    fn from(texts: StringRecord) -> Self {
        Self {
            texts,
            columns: None,
        }
    }
}

/// Between the cells, by preference.
const SEPARATORS: [u8; 3] = *b",;\t";
/// A row after the last one. If it is missing, the last row has an unclosed quotation mark. No text has this character.
const END: &str = "\u{1e}";
const UNCLOSED: &str = "a quotation mark is not closed, so the rows below it are in its cell";

impl Table {
    /// Finds out what a text is, and reads it.
    ///
    /// # Errors
    /// [`FileError`].
    pub(super) fn read(text: &str) -> Result<Self, FileError> {
        let first = text.lines().find(|line| !line.trim().is_empty());
        let first = first.unwrap_or_default();
        let (names, mut rows) = match first.trim_start().chars().next() {
            Some('{') => read_json_lines(text),
            Some('[') => return Err(FileError::JsonArray),
            Some(_) if Email::parse(without_name(first)).is_err() => read_csv(text, first)?,
            _ => (Vec::new(), read_list(text)),
        };
        let is_empty = |cells: &Cells| cells.iter().all(|(_, it)| it.trim().is_empty());
        rows.retain(|row| !row.cells.as_ref().is_ok_and(is_empty));
        let mut columns: Vec<_> = names.into_iter().map(Column::new).collect();
        let readable = || rows.iter().filter_map(|row| row.cells.as_ref().ok());
        for (at, text) in readable().flat_map(Cells::iter) {
            if let Some(column) = columns.get_mut(at) {
                column.add(text);
            }
        }
        for column in &mut columns {
            column.empty = readable().count() as u64 - column.filled;
        }
        Ok(Self { columns, rows })
    }

    /// Returns the position of a column by its name, in any case. An exact name comes first.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let exact = self.columns.iter().position(|it| it.name == name.trim());
        let folded = fold(name);
        exact.or_else(|| self.columns.iter().position(|it| fold(&it.name) == folded))
    }
}

fn read_list(text: &str) -> Vec<Row> {
    let row = |(line, text): (u64, &str)| Row {
        line,
        // Somebody may have taken the address off the list like this.
        cells: match text.trim_start().starts_with('#') {
            true => Err("the line begins with #; remove the line, or the #"),
            false => Ok(StringRecord::from(vec![without_name(text)]).into()),
        },
    };
    (1..).zip(text.lines()).map(row).collect()
}

/// Returns the names of the columns, and the rows.
fn read_json_lines(text: &str) -> (Vec<String>, Vec<Row>) {
    let mut columns = HashMap::new();
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, text)| !text.trim().is_empty());
    let rows = lines.map(|(line, text)| Row {
        line,
        cells: match serde_json::from_str(text) {
            Ok(object) => Ok(cells_of(object, &mut columns)),
            Err(_) => Err("invalid JSON: each line must be one object"),
        },
    });
    let rows = rows.collect();
    let mut names: Vec<_> = columns.into_iter().collect();
    names.sort_unstable_by_key(|(_, at)| *at);
    (names.into_iter().map(|(name, _)| name).collect(), rows)
}

/// Returns the names of the columns, and the rows. `first` is the header row.
fn read_csv(text: &str, first: &str) -> Result<(Vec<String>, Vec<Row>), FileError> {
    let separator = find_separator(first);
    let lines = text.as_bytes().chain(b"\n".as_slice());
    let reader = builder(separator).from_reader(lines.chain(END.as_bytes()));
    let records = reader.into_records().map_while(Result::ok);
    let mut rows: Vec<_> = records.map(|record| csv_row(text, &record)).collect();
    if let Some(mut end) = rows.pop()
        && end
            .cells
            .as_ref()
            .is_ok_and(|cells| cells.texts != [END][..])
    {
        end.cells = Err(UNCLOSED);
        rows.push(end);
    }
    let names = column_names(rows.remove(0))?;
    for row in &mut rows {
        if let Ok(cells) = &mut row.cells
            && let Err(reason) = check_cells(&mut cells.texts, names.len(), separator.into())
        {
            row.cells = Err(reason);
        }
    }
    Ok((names, rows))
}

/// Returns the values of an object in the order of the columns, and adds its other keys to them. An inner object or array is
/// one value, its text.
fn cells_of(object: Map<String, Value>, columns: &mut HashMap<String, usize>) -> Cells {
    let mut cells = BTreeMap::new();
    for (key, value) in object {
        let next = columns.len();
        let column = *columns.entry(key).or_insert(next);
        let text = match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        cells.insert(column, text);
    }
    Cells {
        texts: cells.values().collect(),
        columns: Some(cells.into_keys().collect()),
    }
}

/// Returns the separator that divides the header row into the most cells.
fn find_separator(header: &str) -> u8 {
    let cells = |separator: &u8| {
        let mut reader = builder(*separator).from_reader(header.as_bytes());
        let header = reader.byte_records().next();
        header.map_or(0, |it| it.map_or(0, |it| it.len()))
    };
    // The last of several maxima would win.
    let separators = SEPARATORS.into_iter().rev();
    separators.max_by_key(cells).unwrap_or(SEPARATORS[0])
}

fn builder(separator: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder
        .delimiter(separator)
        .has_headers(false)
        .flexible(true);
    builder
}

fn csv_row(text: &str, record: &StringRecord) -> Row {
    let (line, byte) = record
        .position()
        .map_or((1, 0), |it| (it.line(), it.byte() as usize));
    // The position is before the empty lines that precede the row.
    let rest = text.as_bytes().get(byte..).unwrap_or_default();
    let empty = rest.iter().take_while(|byte| **byte == b'\n').count();
    Row {
        line: line + empty as u64,
        cells: Ok(record
            .iter()
            .map(unescape_formula)
            .collect::<StringRecord>()
            .into()),
    }
}

fn column_names(header: Row) -> Result<Vec<String>, FileError> {
    let line = header.line;
    let invalid = |reason| FileError::InvalidHeaderRow { line, reason };
    let cells = header.cells.map_err(invalid)?.texts;
    let is_address = |cell: &str| Email::parse(without_name(cell)).is_ok();
    if cells.iter().any(is_address) {
        return Err(FileError::NoHeaderRow { line });
    }
    if cells
        .iter()
        .any(|cell| cell.contains(char::REPLACEMENT_CHARACTER))
    {
        return Err(invalid("invalid UTF-8; save the file as UTF-8"));
    }
    let mut columns: Vec<String> = Vec::new();
    for (name, number) in cells.iter().zip(1..) {
        columns.push(match name.trim() {
            "" => format!("column {number}"),
            name if columns.iter().any(|it| it == name) => format!("{name} ({number})"),
            name => name.to_owned(),
        });
    }
    Ok(columns)
}

/// Checks the cells of a row. Those at the end may be missing, and empty ones may follow.
fn check_cells(
    cells: &mut StringRecord,
    columns: usize,
    separator: char,
) -> Result<(), &'static str> {
    // A cell with a line that looks like a row: with as many cells, and an address in one of them.
    let is_address = |cell: &str| Email::parse(cell.trim_matches(['"', ' '])).is_ok();
    let is_row = |line: &str| {
        let mut cells = line.split(separator);
        cells.clone().count() == columns && cells.any(is_address)
    };
    if cells
        .iter()
        .any(|cell| cell.split('\n').skip(1).any(is_row))
    {
        return Err(UNCLOSED);
    }
    if cells
        .iter()
        .skip(columns)
        .any(|cell| !cell.trim().is_empty())
    {
        return Err(
            "more cells than in the header row, so they may be in the wrong columns; quote the cells that contain a \
             separator",
        );
    }
    cells.truncate(columns);
    Ok(())
}

/// Reads a file of people, whatever it says about them: one address per line, or a table or JSON lines in which one
/// column has addresses. Returns the text of each address, and its line.
///
/// # Errors
/// [`FileError`], and the number of a row that cannot be read, or that has several addresses.
pub(in crate::cli) fn read_addresses(text: &str) -> anyhow::Result<Vec<(u64, String)>> {
    let mut addresses = Vec::new();
    let mut column = None;
    for Row { line, cells } in Table::read(text)?.rows {
        let cells = cells.map_err(|reason| anyhow::anyhow!("line {line}: {reason}"))?;
        let is_address = |(_, text): &(usize, &str)| Email::parse(without_name(text)).is_ok();
        let found: Vec<_> = cells.iter().filter(is_address).collect();
        let at = *column.get_or_insert(found.first().map_or(0, |(at, _)| *at));
        anyhow::ensure!(
            found.iter().all(|(other, _)| *other == at),
            "line {line}: more than one address or column; write one address per line, or remove the other columns"
        );
        let address = without_name(cells.get(at).unwrap_or_default());
        addresses.push((line, address.to_owned()));
    }
    Ok(addresses)
}
