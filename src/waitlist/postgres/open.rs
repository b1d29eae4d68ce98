//! What is there when a list is opened.

use std::{sync::OnceLock, time::Duration};

use tokio::time::timeout;
use tokio_postgres::{Client, Error, error::SqlState, types::Type};
use uuid::Uuid;

use super::{
    DatabaseUrl, PostgresOpenError,
    connection::{Connection, RESPONSE_TIMEOUT},
    connector::Connector,
    error::{Failure, FailureKind, describe},
    schema,
    sql::{self, Schema},
    state::State,
};

/// Maximum time to create tables, or to change them.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Maximum time for a few statements. Over a slow line, each takes a while.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// How often two sessions are compared: a pooler may by chance give each its own.
const COMPARISON_ROUNDS: usize = 3;

/// Finds the list, and creates or updates it if `create_missing`. Tells the state its count. Returns a warning for the
/// owner, if there is one, and the connection.
pub(super) async fn open(
    url: &DatabaseUrl,
    connector: &Connector,
    schema: &OnceLock<Schema>,
    state: &State,
    create_missing: bool,
) -> Result<(Option<String>, Connection), PostgresOpenError> {
    let database = &url.to_string();
    let open_error = |failure| PostgresOpenError::from_failure(database, failure);
    let mut connection = connector.connect().await.map_err(open_error)?;
    detect_pooler(connector, &mut connection, database).await?;
    let settings = with_open_timeout(database, settings(connection.client())).await?;
    if let Some(encoding) = settings.encoding
        && !["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str())
    {
        return Err(PostgresOpenError::Encoding(database.clone(), encoding));
    }
    let found = find(&mut connection, database).await?;
    let (mut format, list_schema) = match found {
        Some((name, format)) => (format, Some(name)),
        None => (None, None),
    };
    let list_schema = match list_schema {
        Some(list_schema) => list_schema,
        None if create_missing => {
            let current =
                with_open_timeout(database, schema::current_schema(connection.client())).await?;
            let current = current.ok_or_else(|| {
                let reason = "the search_path names no schema that exists";
                PostgresOpenError::Rejected(database.clone(), reason.into())
            })?;
            Schema::new(&current)
        }
        None => return Err(PostgresOpenError::NoList(database.clone())),
    };
    if create_missing && format.is_none_or(|format| format < schema::FORMAT_VERSION) {
        let migrated = schema::migrate(connection.client(), &list_schema);
        let migrated = timeout(MIGRATION_TIMEOUT, migrated).await;
        format = Some(
            migrated
                .map_err(|_| timed_out(database))?
                .map_err(statement_error(database))?,
        );
        // Restores the limits of a session.
        connection = connector.connect().await.map_err(open_error)?;
    }
    match format {
        Some(schema::FORMAT_VERSION) => {}
        Some(newer) if newer > schema::FORMAT_VERSION => {
            return Err(PostgresOpenError::Newer(database.clone(), newer));
        }
        Some(older) => return Err(PostgresOpenError::Older(database.clone(), older)),
        None => return Err(PostgresOpenError::NoList(database.clone())),
    }
    if create_missing {
        with_open_timeout(
            database,
            schema::create_missing_slots(connection.client(), &list_schema),
        )
        .await?;
    }
    let _ = schema.set(list_schema);
    state
        .refresh_count(&mut connection)
        .await
        .map_err(open_error)?;
    Ok((settings.warning, connection))
}

/// The schema of the list, and its format.
async fn find(
    connection: &mut Connection,
    database: &str,
) -> Result<Option<(Schema, Option<i64>)>, PostgresOpenError> {
    let client = connection.client();
    let mut found = with_open_timeout(database, schema::find_all(client)).await?;
    if found.len() > 1 {
        found.sort();
        return Err(PostgresOpenError::Several(database.to_owned(), found));
    }
    let Some(name) = found.pop() else {
        return Ok(None);
    };
    let schema = Schema::new(&name);
    let format = with_open_timeout(database, schema::read_format(client, &schema)).await?;
    Ok(Some((schema, format)))
}

struct Settings {
    encoding: Option<String>,
    warning: Option<String>,
}

async fn settings(client: &Client) -> Result<Settings, Error> {
    let row = client.query_typed_one(sql::SETTINGS, &[]).await?;
    let setting = |at| row.try_get::<_, Option<String>>(at);
    let warning = if setting(1)?.as_deref() == Some("off") {
        Some(
            "fsync = off: a power cut can lose sign-ups that were acknowledged, or the whole database. Set \
             fsync = on in its postgresql.conf",
        )
    } else if setting(2)?.as_deref() == Some("off") {
        Some(
            "synchronous_commit = off, also after this program has switched it on: a crash can lose sign-ups \
             that were acknowledged. Set synchronous_commit = on in its postgresql.conf, and check the pooler",
        )
    } else {
        None
    };
    Ok(Settings {
        encoding: setting(0)?,
        warning: warning.map(str::to_owned),
    })
}

/// Refuses a pooler that gives each transaction another session: the settings would be lost, and instances would
/// run each other's prepared statements.
///
/// The first connection marks its session, and looks for the mark several times. A pooler that hands out the
/// session that was used last gives it another one while a transaction of the second connection holds that, or
/// none; one that hands them out in turns gives it another one soon.
async fn detect_pooler(
    connector: &Connector,
    first: &mut Connection,
    database: &str,
) -> Result<(), PostgresOpenError> {
    let mut second = match connector.connect().await {
        Ok(second) => second,
        // With one connection there is nothing to compare.
        Err(Failure::Database(failure)) if failure.kind == FailureKind::TooManyConnections => {
            return Ok(());
        }
        Err(failure) => return Err(PostgresOpenError::from_failure(database, failure)),
    };
    for _ in 0..COMPARISON_ROUNDS {
        let marker = Uuid::now_v7().to_string();
        let (first, second) = (&*first.client(), second.client());
        let compare = async {
            let row = first
                .query_typed_one(sql::SET_SESSION_MARKER, &[(&marker, Type::TEXT)])
                .await?;
            let session: i64 = row.try_get(0)?;
            let is_same = async || {
                let row = first.query_typed_one(sql::SESSION_MARKER, &[]).await?;
                let found: Option<String> = row.try_get(1)?;
                let found = (
                    row.try_get::<_, i64>(0)?,
                    found.as_deref() == Some(&*marker),
                );
                Ok::<_, Error>(found == (session, true))
            };
            let transaction = second.transaction().await?;
            let other = transaction
                .query_typed_one(sql::SESSION_MARKER, &[])
                .await?;
            let other: Option<String> = other.try_get(1)?;
            // Without an answer, the transaction holds the only session.
            let is_same_meanwhile = timeout(RESPONSE_TIMEOUT, is_same()).await;
            let is_same_meanwhile = is_same_meanwhile.unwrap_or(Ok(false))?;
            transaction.rollback().await?;
            let is_kept =
                is_same_meanwhile && is_same().await? && is_same().await? && is_same().await?;
            Ok::<_, Error>(!is_kept || other.as_deref() == Some(&*marker))
        };
        let has_moved = match timeout(OPEN_TIMEOUT, compare).await {
            // A pooler that gives each statement another session knows no transactions.
            Ok(Err(error)) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => true,
            // A database without such settings.
            Ok(Err(error)) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => return Ok(()),
            Ok(done) => done.map_err(statement_error(database))?,
            Err(_) => return Err(timed_out(database)),
        };
        if has_moved {
            return Err(PostgresOpenError::Pooler(database.to_owned()));
        }
    }
    Ok(())
}

/// Waits for a few statements.
async fn with_open_timeout<T>(
    database: &str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, PostgresOpenError> {
    let done = timeout(OPEN_TIMEOUT, work).await;
    done.map_err(|_| timed_out(database))?
        .map_err(statement_error(database))
}

fn timed_out(database: &str) -> PostgresOpenError {
    PostgresOpenError::Unreachable(database.to_owned(), "no response in time".into())
}

fn statement_error(database: &str) -> impl Fn(Error) -> PostgresOpenError + use<'_> {
    move |error| match Failure::from(&error) {
        // A row of the tables that describe the schema, for example.
        Failure::Conflict | Failure::StaleSlot => {
            PostgresOpenError::Unavailable(database.to_owned(), describe(&error))
        }
        failure => PostgresOpenError::from_failure(database, failure),
    }
}
