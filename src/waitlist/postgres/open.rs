//! Finds, creates or updates the list when it is opened.

use std::sync::OnceLock;

use tokio::time::timeout;
use tokio_postgres::{Client, Error, error::SqlState, types::Type};
use uuid::Uuid;

use super::{
    super::suppression::ListKey,
    connection::Connection,
    connector::Connector,
    error::{Failure, FailureKind, describe},
    open_error::PostgresOpenError,
    schema,
    sql::{self, Schema},
    state::State,
    timeouts::{BEGIN_TIMEOUT, RESPONSE_TIMEOUT, WHOLE_LIST_TIMEOUT},
    url::DatabaseUrl,
};
use crate::exit::print_stderr;

/// Number of comparisons of two sessions. A pooler may give each connection its own session by chance.
const COMPARISON_ROUNDS: usize = 3;

/// Finds the list, and creates or updates it if `create_missing`. Reads its count into the state.
///
/// Returns the connection, and a warning for the owner if a setting puts the list at risk.
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
    let settings = with_begin_timeout(database, settings(connection.client())).await?;
    if let Some(encoding) = settings.encoding
        && !["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str())
    {
        let database = database.clone();
        return Err(PostgresOpenError::UnsupportedEncoding { database, encoding });
    }
    let (list_schema, mut format) = match find(&mut connection, database).await? {
        Some(found) => found,
        None if create_missing => {
            let name = schema_for_new_list(&mut connection, database).await?;
            (Schema::new(&name), None)
        }
        None => return Err(no_list(database)),
    };
    if create_missing && format.is_none_or(|format| format < schema::FORMAT_VERSION) {
        let was_older = format.is_some();
        format = Some(migrate(&mut connection, &list_schema, database).await?);
        if was_older {
            print_stderr(&format!(
                "updated the waitlist in {database} to format {}; earlier versions of this program cannot open it",
                schema::FORMAT_VERSION
            ));
        }
        // A new session has the usual statement timeout again.
        connection = connector.connect().await.map_err(open_error)?;
    }
    check_format(format, database)?;
    if create_missing {
        with_begin_timeout(
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

/// Creates or updates the tables, and returns their format.
async fn migrate(
    connection: &mut Connection,
    list_schema: &Schema,
    database: &str,
) -> Result<i64, PostgresOpenError> {
    let new_key = ListKey::generate().map_err(|error| PostgresOpenError::Rejected {
        database: database.to_owned(),
        reason: error.to_string(),
    })?;
    let migrated = schema::migrate(connection.client(), list_schema, new_key);
    let migrated = timeout(WHOLE_LIST_TIMEOUT, migrated).await;
    migrated
        .map_err(|_| timed_out(database))?
        .map_err(statement_error(database))
}

/// Returns the schema and the format of the list, if there is one.
async fn find(
    connection: &mut Connection,
    database: &str,
) -> Result<Option<(Schema, Option<i64>)>, PostgresOpenError> {
    let client = connection.client();
    let mut found = with_begin_timeout(database, schema::find_all(client)).await?;
    if found.len() > 1 {
        found.sort();
        return Err(PostgresOpenError::SeveralLists {
            database: database.to_owned(),
            schemas: found,
        });
    }
    let Some(name) = found.pop() else {
        return Ok(None);
    };
    let schema = Schema::new(&name);
    let format = with_begin_timeout(database, schema::read_format(client, &schema)).await?;
    Ok(Some((schema, format)))
}

/// Returns the name of the schema in which to create a list.
pub(super) async fn schema_for_new_list(
    connection: &mut Connection,
    database: &str,
) -> Result<String, PostgresOpenError> {
    let current = with_begin_timeout(database, schema::current_schema(connection.client())).await?;
    current.ok_or_else(|| PostgresOpenError::Rejected {
        database: database.to_owned(),
        reason: "the search_path has no schema that exists".into(),
    })
}

fn check_format(format: Option<i64>, database: &str) -> Result<(), PostgresOpenError> {
    let database = database.to_owned();
    match format {
        Some(schema::FORMAT_VERSION) => Ok(()),
        Some(format) if format > schema::FORMAT_VERSION => {
            Err(PostgresOpenError::NewerFormat { database, format })
        }
        Some(format) => Err(PostgresOpenError::OlderFormat { database, format }),
        None => Err(PostgresOpenError::NoList { database }),
    }
}

fn no_list(database: &str) -> PostgresOpenError {
    PostgresOpenError::NoList {
        database: database.to_owned(),
    }
}

/// The settings of the database that matter to the list.
struct Settings {
    encoding: Option<String>,
    warning: Option<String>,
}

async fn settings(client: &Client) -> Result<Settings, Error> {
    let row = client.query_typed_one(sql::SETTINGS, &[]).await?;
    let setting = |at| row.try_get::<_, Option<String>>(at);
    let warning = if setting(1)?.as_deref() == Some("off") {
        Some(
            "fsync = off: a power cut can lose acknowledged sign-ups, or the whole database; set fsync = on in its \
             postgresql.conf",
        )
    } else if setting(2)?.as_deref() == Some("off") {
        Some(
            "synchronous_commit = off, although this program has set it to on: a crash can lose acknowledged sign-ups; \
             set synchronous_commit = on in its postgresql.conf, and check the connection pooler",
        )
    } else {
        None
    };
    Ok(Settings {
        encoding: setting(0)?,
        warning: warning.map(str::to_owned),
    })
}

/// Rejects a pooler that gives each transaction another session. The settings of a session would be lost, and instances
/// would run each other's prepared statements.
///
/// The first connection sets a marker in its session, then looks for it several times. If the pooler reuses the last
/// session first, a transaction of the second connection occupies that session, and the first connection gets another
/// one, or none. If the pooler takes sessions in turn, the first connection soon gets another one.
async fn detect_pooler(
    connector: &Connector,
    first: &mut Connection,
    database: &str,
) -> Result<(), PostgresOpenError> {
    let mut second = match connector.connect().await {
        Ok(second) => second,
        // A database with a single connection has nothing to compare.
        Err(Failure::Database(failure)) if failure.kind == FailureKind::TooManyConnections => {
            return Ok(());
        }
        Err(failure) => return Err(PostgresOpenError::from_failure(database, failure)),
    };
    for _ in 0..COMPARISON_ROUNDS {
        let compare = keeps_sessions(first.client(), second.client());
        let keeps_sessions = match timeout(BEGIN_TIMEOUT, compare).await {
            // A pooler that gives each statement another session does not support transactions.
            Ok(Err(error)) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => false,
            // The database does not support custom settings.
            Ok(Err(error)) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => return Ok(()),
            Ok(done) => done.map_err(statement_error(database))?,
            Err(_) => return Err(timed_out(database)),
        };
        if !keeps_sessions {
            return Err(PostgresOpenError::TransactionPooler {
                database: database.to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns whether the first connection keeps its session while the second one is in a transaction, and afterwards.
async fn keeps_sessions(first: &Client, second: &mut Client) -> Result<bool, Error> {
    let marker = Uuid::now_v7().to_string();
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
    // Without a response, the transaction occupies the only session.
    let is_same_in_transaction = timeout(RESPONSE_TIMEOUT, is_same()).await;
    let is_same_in_transaction = is_same_in_transaction.unwrap_or(Ok(false))?;
    transaction.rollback().await?;
    let is_kept =
        is_same_in_transaction && is_same().await? && is_same().await? && is_same().await?;
    Ok(is_kept && other.as_deref() != Some(&*marker))
}

/// Runs a few statements with a timeout.
pub(super) async fn with_begin_timeout<T>(
    database: &str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, PostgresOpenError> {
    let done = timeout(BEGIN_TIMEOUT, work).await;
    done.map_err(|_| timed_out(database))?
        .map_err(statement_error(database))
}

/// Returns the error of a timeout.
fn timed_out(database: &str) -> PostgresOpenError {
    PostgresOpenError::Unreachable {
        database: database.to_owned(),
        reason: "no response in time".into(),
    }
}

fn statement_error(database: &str) -> impl Fn(Error) -> PostgresOpenError + use<'_> {
    move |error| match Failure::from(&error) {
        // The row may be in a table of the system catalog.
        Failure::Conflict | Failure::OtherEpoch => PostgresOpenError::Unavailable {
            database: database.to_owned(),
            reason: describe(&error),
        },
        failure => PostgresOpenError::from_failure(database, failure),
    }
}
