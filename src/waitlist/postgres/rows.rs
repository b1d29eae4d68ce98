//! Converts rows to values, and times to the precision in which they are stored.

use std::{collections::HashMap, time::SystemTime};

use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

use super::{
    super::{
        email::Email,
        entry::{Source, WaitlistEntry, from_unix_millis, unix_millis},
    },
    error::Failure,
};

/// An entry in the database, with the id of its sign-up.
pub(super) struct ListedEntry {
    pub(super) id: Uuid,
    pub(super) entry: WaitlistEntry,
}

/// Truncates a time to milliseconds, as every store does.
pub(super) fn truncate_to_millis(time: SystemTime) -> SystemTime {
    from_unix_millis(unix_millis(time))
}

/// Returns a value of a row.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Failure> {
    row.try_get(index).map_err(|error| Failure::from(&error))
}

/// Returns a column of all rows.
pub(super) fn column<'a, T: FromSql<'a>>(rows: &'a [Row], index: usize) -> Result<Vec<T>, Failure> {
    rows.iter().map(|row| get(row, index)).collect()
}

/// Returns the entry in the first five columns of a row.
pub(super) fn entry_from_row(row: &Row) -> Result<WaitlistEntry, Failure> {
    let source: Option<&str> = get(row, 2)?;
    Ok(WaitlistEntry {
        email: Email::from_stored(get(row, 0)?),
        joined_at: get(row, 1)?,
        source: source.map(Source::from_stored),
        asked_at: get(row, 3)?,
        confirmed_at: get(row, 4)?,
    })
}

/// Returns the entries in the rows of [`FIND_LISTED`](super::sql::FIND_LISTED), by their keys.
pub(super) fn listed_entries(rows: &[Row]) -> Result<HashMap<Vec<u8>, ListedEntry>, Failure> {
    let listed = |row| {
        let (id, entry) = (get(row, 6)?, entry_from_row(row)?);
        Ok((get(row, 5)?, ListedEntry { id, entry }))
    };
    rows.iter().map(listed).collect()
}
