//! Reads the rows of a file: a list of addresses, a table (CSV), or JSON lines.

use super::{
    csv_rows::CsvRows,
    error::FileError,
    json_rows::JsonRows,
    row::{Lines, Row},
};
use crate::{cli::address::without_name, waitlist::Email};

/// The marks before the lines of a list.
const BULLETS: [&str; 3] = ["- ", "* ", "• "];

/// The rows of a text that are not empty.
pub(super) enum Rows<'a> {
    /// One address per line.
    List(Lines<'a>),
    Table(Box<CsvRows<'a>>),
    Objects(JsonRows<'a>),
}

impl<'a> Rows<'a> {
    /// Finds out what a text is.
    ///
    /// # Errors
    /// [`FileError`].
    pub(super) fn open(text: &'a str) -> Result<Self, FileError> {
        let mut lines = text.lines();
        let first = lines
            .find(|line| !line.trim().is_empty() && !is_comment(line))
            .unwrap_or_default();
        let numbered = (1..).zip(text.lines());
        Ok(match first.trim_start().chars().next() {
            Some('{') => Self::Objects(JsonRows::new(numbered)),
            Some('[') => return Err(FileError::JsonArray),
            Some(_) if Email::parse(list_item(first)).is_err() => {
                Self::Table(Box::new(CsvRows::open(text, first)?))
            }
            _ => Self::List(numbered),
        })
    }

    /// Returns the names of the columns that were read so far: all columns of a table, and none for a list.
    pub(super) fn columns(&self) -> &[String] {
        match self {
            Self::List(_) => &[],
            Self::Table(rows) => rows.columns(),
            Self::Objects(rows) => rows.columns(),
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        loop {
            let row = match self {
                Self::List(lines) => next_item(lines)?,
                Self::Table(rows) => rows.next_row()?,
                Self::Objects(rows) => rows.next_row()?,
            };
            let is_empty = |cells: &Vec<String>| cells.iter().all(|it| it.trim().is_empty());
            if !row.cells.as_ref().is_ok_and(is_empty) {
                return Some(row);
            }
        }
    }
}

/// Returns the next line of a list that is not a comment.
fn next_item(lines: &mut Lines) -> Option<Row> {
    let (line, text) = lines.find(|(_, text)| !is_comment(text))?;
    let cells = match text.trim_start().starts_with('#') {
        // Somebody may have taken the address off the list like this.
        true => Err("the line begins with # and has an address; remove one of the two"),
        false => Ok(vec![list_item(text).to_owned()]),
    };
    Some(Row { line, cells })
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
pub(in crate::cli) fn read_addresses(text: &str) -> anyhow::Result<Vec<(u64, String)>> {
    let mut addresses = Vec::new();
    let mut column = None;
    for Row { line, cells } in Rows::open(text)? {
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
