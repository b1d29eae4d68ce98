//! Finds the header row of a CSV file. Other programs may write a title, a date and empty lines before it.

use std::{borrow::Cow, io};

use super::{
    address_cell::{is_address, is_comment, is_plain_address},
    column_kind::ColumnKind,
    columns::Columns,
    csv_reader::{CsvReader, CsvRow},
    error::ImportError,
    line_reader::next_line,
    separator::{declared_separator, detect_separator, is_separator_cell},
    status_values::{Meaning, classify},
};

/// Number of lines in which the header row is looked for.
const HEADER_LINES_MAX: usize = 20;
/// Number of rows below a header row in which an address is looked for.
const ROWS_BELOW_MAX: usize = 20;

/// Where the rows of a CSV file begin, and how their cells are separated.
#[derive(Clone, Copy)]
pub(crate) struct FirstRow {
    /// The number of bytes before the row.
    pub(crate) offset: usize,
    /// The number of its first line.
    pub(crate) line: u64,
    pub(crate) separator: u8,
    /// The lines that are skipped, if there is text before the row.
    pub(crate) skipped: Option<SkippedLines>,
}

/// The lines before a header row, such as a title, or the comments before the first address.
#[derive(Clone, Copy)]
pub(crate) struct SkippedLines {
    /// The line of the header row. After comments, a file may have none.
    pub(crate) header_line: Option<u64>,
    /// The first of them that may say that the people in the file have unsubscribed.
    pub(crate) unsubscribed_line: Option<u64>,
}

/// Finds the header row of a file by its beginning, or the first row of a file without a header row.
///
/// Lines before the header row are skipped only if that loses nobody: neither they nor the header row have an `@`, and
/// the first address below the header row is in the column that it names. Without such a row, returns the first row
/// with text, which may be malformed or have no address.
///
/// # Errors
/// [`ImportError::AddressBeforeHeader`] and [`ImportError::UncertainHeader`].
pub(crate) fn find_first_row(
    beginning: &[u8],
    ignored: &[String],
) -> Result<FirstRow, ImportError> {
    let declared = declared_separator(beginning);
    let separator_of = |text: &[u8]| declared.unwrap_or_else(|| detect_separator(text));
    let offsets = line_offsets(beginning)?;
    let offset_of = |line: u64| offsets.get(usize::try_from(line - 1).ok()?).copied();
    let mut first: Option<FirstRow> = None;
    let (mut address_line, mut unsubscribed_line, mut possible_header) = (None, None, None);
    let (mut has_text, mut named_address) = (false, None);
    let mut next_line = 1;
    while let Some(offset) = offset_of(next_line) {
        let separator = separator_of(&beginning[offset..]);
        let mut rows = CsvReader::new(&beginning[offset..], separator, next_line);
        let Some(Ok(row)) = rows.next().transpose()? else {
            break;
        };
        let line = row.line;
        let Some(offset) = offset_of(line) else {
            break;
        };
        next_line = rows.next_line_number();
        if is_blank(&row) {
            continue;
        }
        let skipped = first.map(|_| SkippedLines {
            header_line: Some(line),
            unsubscribed_line,
        });
        let found = FirstRow {
            offset,
            line,
            separator,
            skipped,
        };
        first = first.or(Some(found));
        let is_first = skipped.is_none();
        let is_comment = is_comment(&row);
        let is_first_text = !has_text;
        has_text |= !is_comment;
        let has = |matches: fn(&str) -> bool| row.iter().any(|cell| matches(&text(cell)));
        let has_at = has(|cell| cell.contains(['@', '＠']));
        let is_unsubscribed = has(|cell| classify(ColumnKind::Other, cell) == Meaning::Unknown);
        match Columns::from_first_row(row, ignored) {
            // Below other text, a row with an @ may be a person.
            Some((columns, None)) if is_first || !has_at => {
                if is_first && columns.has_plain_email_name() {
                    return Ok(found);
                }
                if names_column_of_addresses(&columns, rows)? {
                    return match address_line {
                        None => Ok(found),
                        Some(address_line) => Err(ImportError::AddressBeforeHeader {
                            address_line,
                            header_line: line,
                        }),
                    };
                }
                if address_line.is_none() {
                    possible_header = possible_header.or(Some(line));
                }
            }
            Some((_, Some(first_record))) if is_first_text => {
                let skipped = skipped.map(|skipped| SkippedLines {
                    header_line: None,
                    ..skipped
                });
                let found = FirstRow { skipped, ..found };
                if first_record.iter().any(is_plain_address) {
                    return Ok(found);
                }
                // A person, or a title such as "Exported by Ann <ann@example.com>".
                named_address = Some(found);
            }
            _ => {}
        }
        address_line = address_line.or(has_at.then_some(line));
        unsubscribed_line = unsubscribed_line.or(is_unsubscribed.then_some(line));
    }
    match (named_address.or(first), possible_header) {
        (Some(first), Some(line)) if line != first.line => {
            Err(ImportError::UncertainHeader { line })
        }
        (Some(first), _) => Ok(first),
        // The first lines are blank or malformed.
        (None, _) => Ok(FirstRow {
            offset: 0,
            line: 1,
            separator: separator_of(beginning),
            skipped: None,
        }),
    }
}

/// Whether a row has no text, or only that of a line that sets the separator.
pub(crate) fn is_blank(row: &CsvRow) -> bool {
    let mut cells = row.iter().map(<[u8]>::trim_ascii);
    cells.all(|cell| cell.is_empty() || is_separator_cell(cell))
}

/// Whether the first address below a header row is in the column of addresses.
fn names_column_of_addresses(columns: &Columns, rows_below: CsvReader<&[u8]>) -> io::Result<bool> {
    for row in rows_below.take(ROWS_BELOW_MAX) {
        if let Ok(row) = row?
            && row.iter().any(is_address)
        {
            let mut extra = row.iter().skip(columns.width());
            let has_extra = extra.any(|cell| !cell.trim_ascii().is_empty());
            return Ok(!has_extra && is_address(row.get(columns.email)));
        }
    }
    Ok(false)
}

/// Returns where each of the first lines begins.
fn line_offsets(beginning: &[u8]) -> io::Result<Vec<usize>> {
    let mut offsets = Vec::new();
    let mut rest = beginning;
    while !rest.is_empty() && offsets.len() < HEADER_LINES_MAX {
        offsets.push(beginning.len() - rest.len());
        next_line(&mut rest)?;
    }
    Ok(offsets)
}

fn text(cell: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(cell)
}
