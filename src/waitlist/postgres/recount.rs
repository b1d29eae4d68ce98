//! Corrects the count: somebody may have changed it by hand, or restored a part of the tables.

use std::time::Duration;

use super::{
    super::StoreError,
    connector::Connector,
    error::{DatabaseFailure, Failure, FailureKind},
    sql,
};

/// Another correction, or an erasure, makes a correction void.
const MAX_ATTEMPTS: usize = 5;

/// Maximum time in which the database counts the entries.
const RECOUNT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Makes the count the number of entries, and returns by how much it has changed. Sign-ups and erasures do not
/// change the error, so they go on while the entries are counted.
pub(super) async fn recount(connector: &Connector) -> Result<i64, StoreError> {
    for _ in 0..MAX_ATTEMPTS {
        match correct(connector).await {
            Ok(Some(difference)) => return Ok(difference),
            Ok(None) | Err(Failure::Conflict) => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Err(StoreError::Database(
        "others change the count at the same time".into(),
    ))
}

/// `None` if something else has changed the count in between.
async fn correct(connector: &Connector) -> Result<Option<i64>, Failure> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::BRIEF_LOCKS).await?;
    let mut guard = connection.query_opt(sql::GUARD_COUNT, &[]).await?;
    if guard.is_none() {
        connection.execute(sql::CREATE_MISSING_SLOTS).await?;
        guard = connection.query_opt(sql::GUARD_COUNT, &[]).await?;
    }
    // Any of the rows.
    let guard = guard.ok_or(Failure::StaleSlot)?;
    let to_failure = |error| Failure::from(&error);
    let (slot, epoch): (i64, i64) = (
        guard.try_get(0).map_err(to_failure)?,
        guard.try_get(1).map_err(to_failure)?,
    );
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let rows = connection.query_within(RECOUNT_TIMEOUT, sql::RECOUNT, &[]);
    let row = rows.await?.pop().ok_or(Failure::StaleSlot)?;
    let counted: i64 = row.try_get(0).map_err(to_failure)?;
    let listed: i64 = row.try_get(1).map_err(to_failure)?;
    let difference = listed - counted;
    if difference == 0 {
        return Ok(Some(0));
    }
    let corrected = connection
        .query_opt(sql::CORRECT_COUNT, &[&difference, &slot, &epoch])
        .await?;
    Ok(corrected.map(|_| difference))
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflict => Self::Database("others change the same rows".into()),
            Failure::StaleSlot => Self::Database("rows of waitlist_count are missing".into()),
            Failure::RowRejected(reason) => Self::Database(reason.into()),
            Failure::Database(DatabaseFailure { reason, kind }) if kind.is_database_response() => {
                Self::Database(reason.into())
            }
            Failure::Database(DatabaseFailure { kind, .. }) => match kind {
                FailureKind::NoResponse => Self::TimedOut,
                _ => Self::Unreachable,
            },
        }
    }
}
