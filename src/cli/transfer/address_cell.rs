//! The addresses in a cell or a line: the one that is imported, and others that nobody may lose.

use std::collections::HashSet;

use super::{columns::Columns, csv_reader::CsvRow, text::comparison_key};
use crate::{cli::address::without_name, waitlist::Email};

/// The marks before the lines of a list.
const BULLETS: [char; 3] = ['-', '*', '•'];

const SEVERAL_ON_LINE: &str = "more than one address on the line; write one address per line";
const SEVERAL_IN_CELL: &str =
    "more than one address in the column of addresses; write one address per line";
const OTHER_TEXT: &str = "text beside the address; write one address per line";

/// Removes the bullet before an address. It ends with a space: an address may begin with the same character.
pub(super) fn without_bullet(text: &str) -> &str {
    let text = text.trim();
    let rest = text.strip_prefix(BULLETS).unwrap_or_default();
    if rest.starts_with(char::is_whitespace) {
        rest.trim_start()
    } else {
        text
    }
}

/// Whether a cell holds an address, perhaps with a bullet or a name before it.
pub(super) fn is_address(cell: &[u8]) -> bool {
    let cell = String::from_utf8_lossy(cell);
    Email::parse(without_name(without_bullet(&cell))).is_ok()
}

/// Whether a cell holds an address without a name.
pub(super) fn is_plain_address(cell: &[u8]) -> bool {
    Email::parse(without_bullet(&String::from_utf8_lossy(cell))).is_ok()
}

/// Whether a row is a comment of a list that a person wrote. A row with an @ may name somebody, so it counts as
/// text.
pub(super) fn is_comment(row: &CsvRow) -> bool {
    row.get(0).trim_ascii_start().starts_with(b"#") && count_at_signs(row, |_| true) == 0
}

/// Returns why somebody in a row would be lost: it has other addresses than the one that is imported. In a file with a
/// header row only the column of addresses counts, because the report names the others as ignored.
pub(super) fn lost_addresses_problem(
    columns: &Columns,
    row: &CsvRow,
    ignored: &[String],
) -> Option<&'static str> {
    let is_list = !columns.has_names();
    let is_ignored = |at: usize| {
        ignored
            .iter()
            .any(|it| comparison_key(it) == (at + 1).to_string())
    };
    let is_read = |at: usize| at == columns.email || is_list && !is_ignored(at);
    // Nearly all rows.
    let count = count_at_signs(row, is_read);
    if count == 0 || count == 1 && !is_list {
        return None;
    }
    let cell = String::from_utf8_lossy(row.get(columns.email));
    let imported = Email::parse(columns.address(cell.trim())).ok();
    let read = (0..row.len()).filter(|at| is_read(*at));
    let mut others: HashSet<_> = read.flat_map(|at| addresses_in(row.get(at))).collect();
    if let Some(imported) = &imported {
        others.remove(&imported.key());
    }
    match (imported, others.len()) {
        (_, 0) => None,
        (None, 1) => (is_list && !addresses_in(cell.as_bytes()).is_empty()).then_some(OTHER_TEXT),
        _ if is_list => Some(SEVERAL_ON_LINE),
        _ => Some(SEVERAL_IN_CELL),
    }
}

/// Returns how many @ the selected cells of a row have.
fn count_at_signs(row: &CsvRow, is_selected: impl Fn(usize) -> bool) -> usize {
    let cells = row.iter().enumerate().filter(|(at, _)| is_selected(*at));
    cells
        .map(|(_, cell)| cell.iter().filter(|byte| **byte == b'@').count())
        .sum()
}

/// Returns the keys of the addresses in a text. The separators are characters that no address has.
fn addresses_in(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let words = text.split(|c: char| c.is_whitespace() || ",;:<>()[]\"\\".contains(c));
    let words = words.map(|word| word.trim_matches(['.', '\'']));
    let emails = words.filter_map(|word| Email::parse(word).ok());
    emails.map(|email| email.key()).collect()
}
