//! What is there when a list is opened.

use std::{sync::OnceLock, time::Duration};

use tokio::time::timeout;
use tokio_postgres::{Client, Error, error::SqlState, types::Type};
use uuid::Uuid;

use super::{
    DatabaseError, DatabaseUrl,
    connection::{Connection, RESPONSE_TIMEOUT},
    connector::Connector,
    error::{Failure, OutageKind, describe},
    schema,
    sql::{self, Schema},
    state::State,
};

/// Maximum time to create tables, or to change them.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Maximum time for a few statements. Over a slow line, each takes a while.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// How often two sessions are compared: a pooler may by chance give each its own.
const COMPARISONS: usize = 3;

/// Finds the list, and creates or updates it if `make`. Tells the state its count. Returns a warning for the
/// owner, if there is one, and the connection.
pub(super) async fn open(
    url: &DatabaseUrl,
    connector: &Connector,
    schema: &OnceLock<Schema>,
    state: &State,
    make: bool,
) -> Result<(Option<String>, Connection), DatabaseError> {
    let place = &url.to_string();
    let told = |failure| DatabaseError::of(place, failure);
    let mut connection = connector.connect().await.map_err(told)?;
    detect_pooler(connector, &mut connection, place).await?;
    let settings = look(place, settings(connection.client())).await?;
    if let Some(encoding) = settings.encoding
        && !["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str())
    {
        return Err(DatabaseError::Encoding(place.clone(), encoding));
    }
    let found = find(&mut connection, place).await?;
    let (mut format, known) = match found {
        Some((name, format)) => (format, Some(name)),
        None => (None, None),
    };
    let known = match known {
        Some(known) => known,
        None if make => {
            let current = look(place, schema::current(connection.client())).await?;
            let current = current.ok_or_else(|| {
                let why = "the search_path names no schema that exists";
                DatabaseError::Refused(place.clone(), why.into())
            })?;
            Schema::new(&current)
        }
        None => return Err(DatabaseError::NoList(place.clone())),
    };
    if make && format.is_none_or(|format| format < schema::FORMAT) {
        let migrated = schema::migrate(connection.client(), &known);
        let migrated = timeout(MIGRATION_TIMEOUT, migrated).await;
        format = Some(migrated.map_err(|_| slow(place))?.map_err(failed(place))?);
        // Restores the limits of a session.
        connection = connector.connect().await.map_err(told)?;
    }
    match format {
        Some(schema::FORMAT) => {}
        Some(newer) if newer > schema::FORMAT => {
            return Err(DatabaseError::Newer(place.clone(), newer));
        }
        Some(older) => return Err(DatabaseError::Older(place.clone(), older)),
        None => return Err(DatabaseError::NoList(place.clone())),
    }
    if make {
        look(place, schema::make_slots(connection.client(), &known)).await?;
    }
    let _ = schema.set(known);
    state.look(&mut connection).await.map_err(told)?;
    Ok((settings.warning, connection))
}

/// The schema of the list, and its format.
async fn find(
    connection: &mut Connection,
    place: &str,
) -> Result<Option<(Schema, Option<i64>)>, DatabaseError> {
    let client = connection.client();
    let mut found = look(place, schema::find(client)).await?;
    if found.len() > 1 {
        found.sort();
        return Err(DatabaseError::Several(place.to_owned(), found));
    }
    let Some(name) = found.pop() else {
        return Ok(None);
    };
    let schema = Schema::new(&name);
    let format = look(place, schema::format(client, &schema)).await?;
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
    place: &str,
) -> Result<(), DatabaseError> {
    let mut second = match connector.connect().await {
        Ok(second) => second,
        // With one connection there is nothing to compare.
        Err(Failure::Outage(outage)) if outage.kind == OutageKind::Full => return Ok(()),
        Err(failure) => return Err(DatabaseError::of(place, failure)),
    };
    for _ in 0..COMPARISONS {
        let mark = Uuid::now_v7().to_string();
        let (first, second) = (&*first.client(), second.client());
        let compare = async {
            let marked = first
                .query_typed_one(sql::MARK_SESSION, &[(&mark, Type::TEXT)])
                .await?;
            let session: i64 = marked.try_get(0)?;
            let is_same = async || {
                let row = first.query_typed_one(sql::SESSION_MARK, &[]).await?;
                let found: Option<String> = row.try_get(1)?;
                let found = (row.try_get::<_, i64>(0)?, found.as_deref() == Some(&*mark));
                Ok::<_, Error>(found == (session, true))
            };
            let transaction = second.transaction().await?;
            let other = transaction.query_typed_one(sql::SESSION_MARK, &[]).await?;
            let other: Option<String> = other.try_get(1)?;
            // Without an answer, the transaction holds the only session.
            let meanwhile = timeout(RESPONSE_TIMEOUT, is_same()).await;
            let meanwhile = meanwhile.unwrap_or(Ok(false))?;
            transaction.rollback().await?;
            let is_kept = meanwhile && is_same().await? && is_same().await? && is_same().await?;
            Ok::<_, Error>(!is_kept || other.as_deref() == Some(&*mark))
        };
        let has_moved = match timeout(OPEN_TIMEOUT, compare).await {
            // A pooler that gives each statement another session knows no transactions.
            Ok(Err(error)) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => true,
            // A database without such settings.
            Ok(Err(error)) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => return Ok(()),
            Ok(done) => done.map_err(failed(place))?,
            Err(_) => return Err(slow(place)),
        };
        if has_moved {
            return Err(DatabaseError::Pooler(place.to_owned()));
        }
    }
    Ok(())
}

/// Waits for a few statements.
async fn look<T>(
    place: &str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, DatabaseError> {
    let done = timeout(OPEN_TIMEOUT, work).await;
    done.map_err(|_| slow(place))?.map_err(failed(place))
}

fn slow(place: &str) -> DatabaseError {
    DatabaseError::Unreachable(place.to_owned(), "no response in time".into())
}

fn failed(place: &str) -> impl Fn(Error) -> DatabaseError + use<'_> {
    move |error| match Failure::from(&error) {
        // A row of the tables that describe the schema, for example.
        Failure::Conflict | Failure::Slot => {
            DatabaseError::Unavailable(place.to_owned(), describe(&error))
        }
        failure => DatabaseError::of(place, failure),
    }
}
