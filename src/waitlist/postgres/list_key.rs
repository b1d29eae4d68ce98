//! Reads the key of the list.

use tokio_postgres::Row;

use super::{
    super::suppression::ListKey,
    connection::Connection,
    error::{Failure, FailureKind, database_failure},
    rows::get,
    suppression_sql,
};

/// Reads the key of the list.
pub(super) async fn read_key(connection: &mut Connection) -> Result<ListKey, Failure> {
    let row = connection.query_opt(suppression_sql::READ_KEY, &[]).await?;
    parse_key(row.as_ref())
}

/// Parses the row of [`suppression_sql::READ_KEY`].
pub(super) fn parse_key(row: Option<&Row>) -> Result<ListKey, Failure> {
    let bytes = row.map(|row| get::<&[u8]>(row, 0)).transpose()?;
    bytes.and_then(ListKey::from_slice).ok_or_else(|| {
        let reason = "the table waitlist_key has no key; restore a backup into a new database";
        database_failure(FailureKind::Permanent, reason.into())
    })
}
