//! Reads the rows of a file: a list of addresses, CSV below a header row, or JSON lines.

use std::{collections::BTreeSet, io::Read};

use anyhow::{Context, anyhow, bail, ensure};
use csv::{Position, ReaderBuilder, StringRecord};
use serde_json::{Map, Value};

use super::{column::Column, text::fold};
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
    /// The cells, or why the row cannot be read. Missing ones at its end are empty.
    pub(super) cells: Result<StringRecord, &'static str>,
}

/// Maximum number of keys in JSON lines. Each row has a cell for each key.
const KEYS_MAX: usize = 200;
/// Between the cells, by preference.
const SEPARATORS: [u8; 3] = *b",;\t";
pub(super) const CROSSED_OUT: &str = "it begins with # or //; remove these marks, or the whole row";
/// A row after the last one. If it is missing, the last row has an unclosed quotation mark. No text has this character.
const END: &str = "\u{1e}";
pub(super) const UNCLOSED: &str = "a quotation mark is not closed, or text follows a closed one, so rows may be in a cell; write a quotation mark in a \
     quoted cell twice";

impl Table {
    /// Finds out what a text is, and reads it.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let first = text.lines().find(|line| !line.trim().is_empty());
        let first = first.context("the file has no addresses; write one address per line")?;
        let (names, mut rows) = match first.trim_start().chars().next() {
            Some('{') => read_json_lines(text)?,
            Some('[') => bail!(
                "the file is a JSON array; write one object per line, for example with `jq -c '.[]'`"
            ),
            Some(_) if Email::parse(without_name(first)).is_err() => read_csv(text, first)?,
            _ => (Vec::new(), read_list(text)),
        };
        let is_empty = |cells: &StringRecord| cells.iter().all(|it| it.trim().is_empty());
        rows.retain(|row| !row.cells.as_ref().is_ok_and(is_empty));
        let column = |name| Column {
            name,
            ..Column::default()
        };
        let mut columns: Vec<_> = names.into_iter().map(column).collect();
        let readable = || rows.iter().filter_map(|row| row.cells.as_ref().ok());
        for cells in readable() {
            for (column, cell) in columns.iter_mut().zip(cells) {
                column.add(cell);
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

/// Returns whether somebody may have taken an address off a list. Addresses may begin like this too.
pub(super) fn is_crossed_out(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('#') || text.starts_with("//")
}

fn read_list(text: &str) -> Vec<Row> {
    let row = |(line, text): (u64, &str)| Row {
        line,
        cells: match is_crossed_out(text) {
            true => Err(CROSSED_OUT),
            false => Ok(StringRecord::from(vec![without_name(text)])),
        },
    };
    (1..).zip(text.lines()).map(row).collect()
}

/// Returns the names of the columns, and the rows. An inner object or array is one value, its text.
fn read_json_lines(text: &str) -> anyhow::Result<(Vec<String>, Vec<Row>)> {
    let lines = || (1..).zip(text.lines());
    let lines = || lines().filter(|(_, text)| !text.trim().is_empty());
    let parse = |text| serde_json::from_str::<Map<String, Value>>(text);
    let objects = lines().filter_map(|(_, text)| parse(text).ok());
    let names: BTreeSet<_> = objects.flatten().map(|(key, _)| key).collect();
    ensure!(
        names.len() <= KEYS_MAX,
        "the objects have more than {KEYS_MAX} different keys; keep those that the import needs"
    );
    let cell = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let rows = lines().map(|(line, text)| Row {
        line,
        cells: match parse(text) {
            Ok(object) => Ok(names.iter().map(|name| cell(object.get(name))).collect()),
            Err(_) => Err("invalid JSON: each line must be one object"),
        },
    });
    let rows = rows.collect();
    Ok((names.into_iter().collect(), rows))
}

/// Returns the names of the columns, and the rows. `first` is the header row.
fn read_csv(text: &str, first: &str) -> anyhow::Result<(Vec<String>, Vec<Row>)> {
    let separator = find_separator(first);
    let lines = text.as_bytes().chain(b"\n".as_slice());
    let reader = builder(separator).from_reader(lines.chain(END.as_bytes()));
    let records = reader.into_records().map_while(Result::ok);
    let row = |record| csv_row(text, &record, separator.into());
    let mut rows: Vec<_> = records.map(row).collect();
    if let Some(mut end) = rows.pop()
        && !end.cells.as_ref().is_ok_and(|cells| *cells == [END][..])
    {
        end.cells = Err(UNCLOSED);
        rows.push(end);
    }
    let names = column_names(rows.remove(0))?;
    for row in &mut rows {
        if let Ok(cells) = &mut row.cells
            && let Err(reason) = check_cells(cells, names.len(), separator.into())
        {
            row.cells = Err(reason);
        }
    }
    Ok((names, rows))
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

/// Returns whether text follows a quoted cell of the row that a text begins with (RFC 4180, 2.5). The reader takes it for a part
/// of the cell, and a mark that was forgotten rows before would not be noticed.
fn has_text_after_quote(row: &str, separator: char) -> bool {
    let ends = [separator, '\r', '\n'];
    let mut rest = row;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted;
            // Two marks are one of the text.
            while let Some((_, after)) = rest.split_once('"')
                && let Some(more) = after.strip_prefix('"')
            {
                rest = more;
            }
            // It is not closed, or ends here.
            let after = rest.split_once('"').map_or("", |(_, after)| after);
            rest = after.trim_start_matches(' ');
            if !rest.is_empty() && !rest.starts_with(ends) {
                return true;
            }
        }
        match rest.split_once(ends) {
            Some((cell, after)) if rest[cell.len()..].starts_with(separator) => rest = after,
            _ => return false,
        }
    }
}

fn csv_row(text: &str, record: &StringRecord, separator: char) -> Row {
    let position = record.position().cloned();
    let position = position.unwrap_or_else(Position::new);
    // It is before the empty lines that precede the row.
    let rest = text.get(position.byte() as usize..).unwrap_or_default();
    let row = rest.trim_start_matches(['\r', '\n']);
    let empty = rest[..rest.len() - row.len()].matches('\n').count();
    Row {
        line: position.line() + empty as u64,
        cells: match has_text_after_quote(row, separator) {
            true => Err(UNCLOSED),
            false => Ok(record.iter().map(unescape_formula).collect()),
        },
    }
}

fn column_names(Row { line, cells }: Row) -> anyhow::Result<Vec<String>> {
    let unreadable = |reason| anyhow!("line {line}: the header row cannot be read: {reason}");
    let cells = cells.map_err(unreadable)?;
    let is_list = cells.len() == 1;
    // Also one with a mistake: the first person must not be lost.
    let is_inside = |(before, after): (&str, &str)| {
        before.ends_with(|it: char| !it.is_whitespace())
            && after.starts_with(|it: char| !it.is_whitespace())
    };
    let is_address =
        |cell: &str| cell.split_once('@').is_some_and(is_inside) || is_list && cell.contains('@');
    ensure!(
        !cells.iter().any(is_address),
        "line {line} has an address, or one with a mistake, so the file has no header row: add one that names the columns, such as \
         \"email,joined_at\"; or write one address per line, and nothing else"
    );
    let is_invalid = |cell: &str| cell.contains(char::REPLACEMENT_CHARACTER);
    if cells.iter().any(is_invalid) {
        return Err(unreadable("invalid UTF-8; save the file as UTF-8"));
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
    // A cell with a line that looks like a row, perhaps one that is cut: it has several cells, and an address in one of them.
    let is_address = |cell: &str| Email::parse(without_name(cell.trim_matches(['"', ' ']))).is_ok();
    let is_row = |line: &str| {
        let mut cells = line.split(separator);
        (columns == 1 || cells.clone().count() > 1) && cells.any(is_address)
    };
    let mut lines = cells.iter().flat_map(|cell| cell.split('\n').skip(1));
    if lines.any(is_row) {
        return Err(UNCLOSED);
    }
    let mut others = cells.iter().skip(columns);
    if others.any(|cell| !cell.trim().is_empty()) {
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
/// Also if a row cannot be read, or has several addresses.
pub(in crate::cli) fn read_addresses(text: &str) -> anyhow::Result<Vec<(u64, String)>> {
    let mut addresses = Vec::new();
    let mut column = None;
    for Row { line, cells } in Table::read(text)?.rows {
        let cells = cells.map_err(|reason| anyhow!("line {line}: {reason}"))?;
        let is_address = |(_, text): &(usize, &str)| Email::parse(without_name(text)).is_ok();
        let found: Vec<_> = cells.iter().enumerate().filter(is_address).collect();
        column = column.or(found.first().map(|(at, _)| *at));
        let at = column.unwrap_or(0);
        ensure!(
            found.iter().all(|(other, _)| *other == at),
            "line {line}: more than one address or column; write one address per line, or remove the other columns"
        );
        let address = without_name(cells.get(at).unwrap_or_default());
        addresses.push((line, address.to_owned()));
    }
    Ok(addresses)
}
