//! Finds rows in which somebody would be lost: they have other addresses than the one that is imported.

use std::collections::HashSet;

use super::{
    address_cell::count_at_signs, columns::Columns, csv_reader::CsvRow, text::comparison_key,
};
use crate::waitlist::Email;

const SEVERAL_ON_LINE: &str = "more than one address on the line; write one address per line";
const SEVERAL_IN_CELL: &str =
    "more than one address in the column of addresses; write one address per line";
const OTHER_TEXT: &str = "text beside the address; write one address per line";

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

/// Returns the keys of the addresses in a text. The separators are characters that no address has.
fn addresses_in(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let words = text.split(|c: char| c.is_whitespace() || ",;:<>()[]\"\\".contains(c));
    let words = words.map(|word| word.trim_matches(['.', '\'']));
    let emails = words.filter_map(|word| Email::parse(word).ok());
    emails.map(|email| email.key()).collect()
}
