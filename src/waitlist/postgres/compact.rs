//! Rewrites the tables with addresses, so that their files no longer contain erased ones.

use std::{sync::Arc, time::Duration};

use thiserror::Error;
use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{sleep, timeout},
};
use tokio_postgres::error::SqlState;

use super::{
    super::{error::StoreError, store::Compaction, store_panic::store_task},
    connection::Connection,
    connector::Connector,
    error::{Failure, FailureKind, database_failure},
    sql,
};

/// Maximum time that the database takes to rewrite a table.
const COMPACT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Maximum number of attempts to lock the table. Reading the list locks it too.
const ATTEMPTS_MAX: usize = 20;
/// Pause between two attempts, in which sign-ups continue.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Rewrites the tables. Sign-ups wait until it is done. It blocks, so do not call it from a task.
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
        let _ = sender.send(compact_tables(&connector).await);
    }));
    let compacted = result.blocking_recv().map_err(|_| StoreError::Stopped)?;
    Ok(compacted?)
}

async fn compact_tables(connector: &Connector) -> Result<Compaction, CompactError> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    connection.execute(sql::BRIEF_LOCKS).await?;
    let mut total = Compaction {
        bytes_before: 0,
        bytes_after: 0,
    };
    for table in sql::ADDRESS_TABLES {
        let table = connection.qualify(table);
        let compacted = compact_table(&mut connection, &table).await?;
        total.bytes_before += compacted.bytes_before;
        total.bytes_after += compacted.bytes_after;
    }
    Ok(total)
}

async fn compact_table(
    connection: &mut Connection,
    table: &str,
) -> Result<Compaction, CompactError> {
    let (bytes_before, old_file) = table_size_and_file(connection, table).await?;
    for attempt in 1.. {
        let has_attempts_left = attempt < ATTEMPTS_MAX;
        match vacuum(connection, table).await {
            Err(error) if has_attempts_left && error.is_locked() => {}
            Err(error) => return Err(error),
            Ok(()) => match connection.notices().unremovable_rows() {
                0 => break,
                _ if has_attempts_left => {}
                rows => return Err(CompactError::OldTransaction(rows)),
            },
        }
        sleep(RETRY_INTERVAL).await;
    }
    let (bytes_after, file) = table_size_and_file(connection, table).await?;
    if file == old_file {
        return Err(CompactError::NotOwner);
    }
    Ok(Compaction {
        bytes_before,
        bytes_after,
    })
}

/// Rewrites the table. Does nothing, without an error, if the user does not own it.
async fn vacuum(connection: &mut Connection, table: &str) -> Result<(), CompactError> {
    let statement = sql::compact(table);
    let vacuumed = connection.client().batch_execute(&statement);
    match timeout(COMPACT_TIMEOUT, vacuumed).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            Err(CompactError::Locked)
        }
        Ok(Err(error)) => Err(Failure::from(&error).into()),
        Err(_) => {
            let reason = format!("no response in {} seconds", COMPACT_TIMEOUT.as_secs());
            Err(database_failure(FailureKind::NoResponse, reason).into())
        }
    }
}

/// Returns the size of the table with its indexes, in bytes, and the number of its file.
async fn table_size_and_file(
    connection: &mut Connection,
    table: &str,
) -> Result<(u64, i64), CompactError> {
    let row = connection.query_opt(sql::TABLE_FILE, &[&table]).await?;
    let row = row.ok_or(Failure::StaleSlot)?;
    let column = |at| {
        row.try_get::<_, i64>(at)
            .map_err(|error| Failure::from(&error))
    };
    Ok((column(0)?.unsigned_abs(), column(1)?))
}

/// Why a table was not compacted.
#[derive(Debug, Error)]
enum CompactError {
    #[error("another session has locked the table; end that session, or wait until it is done")]
    Locked,
    #[error(
        "a transaction that began earlier may still read {0} erased rows, so the database keeps them; end that \
         transaction, see pg_stat_activity"
    )]
    OldTransaction(u64),
    #[error(
        "the user of the database does not own the tables of the waitlist; compact as their owner"
    )]
    NotOwner,
    #[error("the database failed")]
    Failed(Failure),
}

impl CompactError {
    fn is_locked(&self) -> bool {
        matches!(self, Self::Locked)
    }
}

impl From<Failure> for CompactError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<CompactError> for StoreError {
    fn from(error: CompactError) -> Self {
        match error {
            CompactError::Failed(failure) => failure.into(),
            error => Self::NotCompacted(error.to_string().into()),
        }
    }
}
