//! Corrects the count: somebody may have changed it by hand, or restored a part of the tables.

use super::{
    super::StoreError,
    connector::Connector,
    error::{Failure, Outage, OutageKind},
    sql,
};

/// Another correction, or an erasure, makes a correction void.
const TRIES: usize = 5;

/// Makes the count the number of entries, and returns by how much it has changed. What is counted too much or too
/// little stays the same while people join and are erased, so nobody waits for this.
pub(super) async fn recount(connector: &Connector) -> Result<i64, StoreError> {
    for _ in 0..TRIES {
        match correct(connector).await {
            Ok(Some(difference)) => return Ok(difference),
            Ok(None) | Err(Failure::Conflict) => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Err(StoreError::Busy)
}

/// `None` if something else has changed the count in between.
async fn correct(connector: &Connector) -> Result<Option<i64>, Failure> {
    let mut connection = connector.connect().await?;
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
    // It reads every entry.
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let recount = connection.named(sql::RECOUNT);
    let row = connection.client().query_typed_one(&recount, &[]).await;
    let row = row.map_err(told)?;
    let counted: i64 = row.try_get(0).map_err(told)?;
    let listed: i64 = row.try_get(1).map_err(told)?;
    let difference = listed - counted;
    if difference == 0 {
        return Ok(Some(0));
    }
    let correct = connection.named(sql::CORRECT_COUNT);
    let corrected = connection
        .client()
        .execute(&correct, &[&difference, &slot, &epoch])
        .await;
    Ok((corrected.map_err(told)? == 1).then_some(difference))
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflict => Self::Busy,
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
