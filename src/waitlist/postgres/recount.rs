//! Corrects the count, which is wrong after somebody changed it by hand or restored only some of the tables.

use super::{
    super::error::StoreError,
    connector::Connector,
    error::{Failure, no_row},
    sql,
    timeouts::WHOLE_LIST_TIMEOUT,
};

/// Maximum number of attempts. A correction fails if another one, or an erasure, happens at the same time.
const ATTEMPTS_MAX: usize = 5;

/// Sets the count to the number of entries, and returns the difference. Sign-ups and erasures change both numbers
/// equally, so they continue while the entries are counted.
pub(super) async fn recount(connector: &Connector) -> Result<i64, StoreError> {
    for _ in 0..ATTEMPTS_MAX {
        match correct(connector).await {
            Ok(Some(difference)) => return Ok(difference),
            Ok(None) | Err(Failure::Conflict) => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Err(StoreError::Database(
        "other clients change the count at the same time".into(),
    ))
}

/// Returns `None` if something else changed the count in between.
async fn correct(connector: &Connector) -> Result<Option<i64>, Failure> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::BRIEF_LOCKS).await?;
    let mut guard = connection.query_opt(sql::GUARD_COUNT, &[]).await?;
    if guard.is_none() {
        connection.execute(sql::CREATE_MISSING_SLOTS).await?;
        guard = connection.query_opt(sql::GUARD_COUNT, &[]).await?;
    }
    // Any row of the count will do.
    let guard = guard.ok_or(Failure::NoSlot)?;
    let to_failure = |error| Failure::from(&error);
    let (slot, epoch): (i64, i64) = (
        guard.try_get(0).map_err(to_failure)?,
        guard.try_get(1).map_err(to_failure)?,
    );
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let rows = connection.query_within(WHOLE_LIST_TIMEOUT, sql::RECOUNT, &[]);
    let row = rows.await?.pop().ok_or_else(no_row)?;
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
