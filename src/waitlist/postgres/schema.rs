//! Creates and updates the tables.
//!
//! Migration tools rely on features that not all engines have. Advisory locks have no effect in CockroachDB. Neither
//! CockroachDB (since 25.1) nor YugabyteDB creates a table inside a transaction. So nothing is locked. Every statement
//! can be repeated, also by several instances that start at once, and the version is written after all statements of a
//! migration are done.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, Error, error::SqlState};
use uuid::Uuid;

use super::{
    super::suppression::ListKey,
    migrations::{
        CREATE_MIGRATIONS, KEY_MIGRATION, MIGRATIONS, READ_FORMAT, RECORD_MIGRATION, SLOTS,
    },
    sql::{self, Schema},
    suppression_sql,
};

/// Format of the list that this program reads and writes.
pub(super) const FORMAT_VERSION: i64 = MIGRATIONS.len() as i64;

/// Maximum time to retry a migration that other instances disturb, because they start at the same time.
const RACE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before such a retry.
const RACE_RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// Pause before a retry when a lock is not available.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Returns a random slot other than `except`.
pub(super) fn random_slot(except: Option<i64>) -> i64 {
    // The low bits of the id are random.
    let (_, random) = Uuid::now_v7().as_u64_pair();
    let slot = (random % SLOTS as u64) as i64;
    if except == Some(slot) {
        (slot + 1) % SLOTS
    } else {
        slot
    }
}

/// Returns the schemas in the search path that have a list.
pub(super) async fn find_all(client: &Client) -> Result<Vec<String>, Error> {
    let found = client.query_typed(sql::FIND_SCHEMAS, &[]).await?;
    found.iter().map(|row| row.try_get(0)).collect()
}

/// Returns the schema for a new list, if the search path has one.
pub(super) async fn current_schema(client: &Client) -> Result<Option<String>, Error> {
    let row = client.query_typed_one(sql::CURRENT_SCHEMA, &[]).await?;
    row.try_get(0)
}

/// Returns the format of the list in a schema, or `None` if its first migration is not done.
pub(super) async fn read_format(client: &Client, schema: &Schema) -> Result<Option<i64>, Error> {
    let found = client
        .query_typed_one(&schema.qualify(READ_FORMAT), &[])
        .await;
    match found {
        Ok(row) => row.try_get(0),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates the list with the key `new_key`, or updates an older one. Returns its format, which may be newer than this program's. Afterwards
/// the connection has no statement timeout.
pub(super) async fn migrate(
    client: &Client,
    schema: &Schema,
    new_key: ListKey,
) -> Result<i64, Error> {
    client.batch_execute(sql::NO_STATEMENT_TIMEOUT).await?;
    client.batch_execute(sql::BRIEF_LOCKS).await?;
    let started = Instant::now();
    loop {
        match migrate_one_step(client, schema, new_key).await {
            Ok(format) if format >= FORMAT_VERSION => return Ok(format),
            Ok(_) => {}
            Err(error) if is_race(&error) && started.elapsed() < RACE_TIMEOUT => {
                sleep(RACE_RETRY_INTERVAL).await;
            }
            // Another transaction, such as an export, has locked a table. Waiting in the database would block all
            // sign-ups too.
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                sleep(LOCK_RETRY_INTERVAL).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Applies the next migration, if one is missing. Returns the format before it.
async fn migrate_one_step(
    client: &Client,
    schema: &Schema,
    new_key: ListKey,
) -> Result<i64, Error> {
    let found = read_format(client, schema).await?;
    if found.is_none() {
        let create = schema.qualify(CREATE_MIGRATIONS);
        client.batch_execute(&create).await?;
    }
    let format = found.unwrap_or(0);
    let next = usize::try_from(format).ok();
    if let Some(statements) = next.and_then(|next| MIGRATIONS.get(next)) {
        for statement in *statements {
            client.batch_execute(&schema.qualify(statement)).await?;
        }
        if next == Some(KEY_MIGRATION) {
            let create = schema.qualify(suppression_sql::CREATE_KEY);
            client.execute(&create, &[&new_key.as_bytes()]).await?;
        }
        let done = schema.qualify(RECORD_MIGRATION);
        client.execute(&done, &[&(format + 1)]).await?;
    }
    Ok(format)
}

/// Creates the rows of the count that somebody deleted. It is not an error if this user may not create them, because
/// an instance whose row is missing uses another one.
pub(super) async fn create_missing_slots(client: &Client, schema: &Schema) -> Result<(), Error> {
    let row = client
        .query_typed_one(&schema.qualify(sql::COUNT_SLOTS), &[])
        .await?;
    if row.try_get::<_, i64>(0)? >= SLOTS {
        return Ok(());
    }
    let created = client
        .batch_execute(&schema.qualify(sql::CREATE_MISSING_SLOTS))
        .await;
    match created {
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Ok(()),
        created => created,
    }
}

/// Returns whether another instance creates the same tables at this moment. The name of a table may become taken while
/// it is created.
fn is_race(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        [
            SqlState::UNIQUE_VIOLATION,
            SqlState::DUPLICATE_TABLE,
            SqlState::DUPLICATE_COLUMN,
            SqlState::DUPLICATE_OBJECT,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            // "tuple concurrently updated", and most of YugabyteDB's errors in this case.
            SqlState::INTERNAL_ERROR,
        ]
        .contains(code)
    })
}
