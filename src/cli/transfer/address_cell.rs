//! Recognizes addresses in cells.

use super::csv_reader::CsvRow;
use crate::{cli::address::without_name, waitlist::Email};

/// The marks before the lines of a list.
const BULLETS: [char; 3] = ['-', '*', '•'];

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

/// Returns how many @ the selected cells of a row have.
pub(super) fn count_at_signs(row: &CsvRow, is_selected: impl Fn(usize) -> bool) -> usize {
    let cells = row.iter().enumerate().filter(|(at, _)| is_selected(*at));
    cells
        .map(|(_, cell)| cell.iter().filter(|byte| **byte == b'@').count())
        .sum()
}
