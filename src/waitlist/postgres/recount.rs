//! Corrects the count: somebody may have changed it by hand, or restored a part of the tables.

use std::time::Duration;

use super::{
    super::StoreError,
    connector::Connector,
    error::{Failure, Outage, OutageKind},
    sql,
};

/// Another correction, or an erasure, makes a correction void.
const TRIES: usize = 5;

/// Maximum time in which the database counts the entries.
const RECOUNT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Makes the count the number of entries, and returns by how much it has changed. Sign-ups and erasures do not
/// change the error, so they go on while the entries are counted.
pub(super) async fn recount(connector: &Connector) -> Result<i64, StoreError> {
    for _ in 0..TRIES {
        match correct(connector).await {
            Ok(Some(difference)) => return Ok(difference),
            Ok(None) | Err(Failure::Conflict) => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Err(StoreError::Refused(
        "others change the count at the same time".into(),
    ))
}

/// `None` if something else has changed the count in between.
async fn correct(connector: &Connector) -> Result<Option<i64>, Failure> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::BRIEF_LOCKS).await?;
    let mut guard = connection.query_opt(sql::GUARD_COUNT, &[]).await?;
    if guard.is_none() {
        connection.execute(sql::MAKE_SLOTS).await?;
        guard = connection.query_opt(sql::GUARD_COUNT, &[]).await?;
    }
    // Any of the rows.
    let guard = guard.ok_or(Failure::Slot)?;
    let told = |error| Failure::from(&error);
    let (slot, epoch): (i64, i64) = (
        guard.try_get(0).map_err(told)?,
        guard.try_get(1).map_err(told)?,
    );
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let rows = connection.query_within(RECOUNT_TIMEOUT, sql::RECOUNT, &[]);
    let row = rows.await?.pop().ok_or(Failure::Slot)?;
    let counted: i64 = row.try_get(0).map_err(told)?;
    let listed: i64 = row.try_get(1).map_err(told)?;
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
            Failure::Conflict => Self::Refused("others change the same rows".into()),
            Failure::Slot => Self::Refused("rows of waitlist_count are missing".into()),
            Failure::Rejected(why) => Self::Refused(why.into()),
            Failure::Outage(Outage { why, kind }) if kind.is_answer() => Self::Refused(why.into()),
            Failure::Outage(Outage { kind, .. }) => match kind {
                OutageKind::NoResponse => Self::TimedOut,
                _ => Self::Unreachable,
            },
        }
    }
}
