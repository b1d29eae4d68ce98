//! Rewrites the table of the entries, so that its files no longer contain erased addresses.

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{sleep, timeout},
};

use super::{
    super::{error::StoreError, store::Compaction, store_panic::store_task},
    connection::Connection,
    connector::Connector,
    error::{Failure, FailureKind, database_failure},
    sql,
};

/// Maximum time that the database takes to rewrite the table.
const COMPACT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Maximum number of attempts to lock the table. Reading the list locks it too.
const ATTEMPTS_MAX: usize = 20;
/// Pause between two attempts, in which sign-ups continue.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Rewrites the table. Sign-ups wait meanwhile. It blocks, so do not call it from a task.
///
/// # Errors
/// [`StoreError`], for example if the user of the database does not own the table.
pub(super) fn compact(
    runtime: &Handle,
    connector: Arc<Connector>,
) -> Result<Compaction, StoreError> {
    let (sender, result) = oneshot::channel();
    runtime.spawn(store_task(async move {
        // Sending fails if the caller has gone.
        let _ = sender.send(compact_table(&connector).await);
    }));
    let compacted = result.blocking_recv().map_err(|_| StoreError::Stopped)?;
    Ok(compacted?)
}

async fn compact_table(connector: &Connector) -> Result<Compaction, Failure> {
    let mut connection = connector.connect().await?;
    let bytes_before = table_size(&mut connection).await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    connection.execute(sql::BRIEF_LOCKS).await?;
    let statement = connection.qualify(sql::COMPACT);
    for attempt in 1.. {
        let compacted = connection.client().batch_execute(&statement);
        match timeout(COMPACT_TIMEOUT, compacted).await {
            Ok(Ok(())) => break,
            Ok(Err(error)) if attempt < ATTEMPTS_MAX && is_locked(&error) => {
                sleep(RETRY_INTERVAL).await;
            }
            Ok(Err(error)) => return Err(Failure::from(&error)),
            Err(_) => {
                let reason = format!("no response in {} seconds", COMPACT_TIMEOUT.as_secs());
                return Err(database_failure(FailureKind::NoResponse, reason));
            }
        }
    }
    Ok(Compaction {
        bytes_before,
        bytes_after: table_size(&mut connection).await?,
    })
}

/// Returns the size of the table, in bytes, or 0 if it is empty.
async fn table_size(connection: &mut Connection) -> Result<u64, Failure> {
    let Some(row) = connection.query_opt(sql::TABLE_SIZE, &[]).await? else {
        return Ok(0);
    };
    let size: i64 = row.try_get(0).map_err(|error| Failure::from(&error))?;
    Ok(size.unsigned_abs())
}

fn is_locked(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE)
}
