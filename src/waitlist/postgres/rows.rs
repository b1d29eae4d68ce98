//! Reads the values of rows.

use tokio_postgres::{Row, types::FromSql};

use super::error::Failure;

/// Returns a value of a row.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Failure> {
    row.try_get(index).map_err(|error| Failure::from(&error))
}

/// Returns a column of all rows.
pub(super) fn column<'a, T: FromSql<'a>>(rows: &'a [Row], index: usize) -> Result<Vec<T>, Failure> {
    rows.iter().map(|row| get(row, index)).collect()
}
