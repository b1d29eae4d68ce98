//! A row of a file, whatever the file is.

use std::{iter::Zip, ops::RangeFrom, str};

/// Lines and their numbers.
pub(super) type Lines<'a> = Zip<RangeFrom<u64>, str::Lines<'a>>;

/// A row, and the number of its first line.
pub(super) struct Row {
    pub(super) line: u64,
    /// The cells in the order of the columns, or why the row cannot be read. Missing cells at its end are empty.
    pub(super) cells: Result<Vec<String>, &'static str>,
}
