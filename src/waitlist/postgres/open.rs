//! Finds the list when it is opened, or creates it. Whether the user of a URL may do what a server does.

use std::sync::{Arc, OnceLock};

use tokio::{runtime::Handle, time::timeout};
use tokio_postgres::{Client, Error, error::SqlState, types::Type};

use super::{
    super::suppression::ListKey,
    PostgresWaitlist,
    connection::Connection,
    connector::Connector,
    error::FailureKind,
    open_error::{OpenProblem, PostgresOpenError},
    schema,
    sql::{self, Schema},
    state::State,
    timeouts::{BEGIN_TIMEOUT, RESPONSE_TIMEOUT, WHOLE_LIST_TIMEOUT},
    url::DatabaseUrl,
};

/// Number of comparisons of two sessions. A pooler may give each connection its own session by chance.
const COMPARISON_ROUNDS: usize = 3;

/// Finds the list, and creates it if `create_missing`. Reads its count into the state.
///
/// Returns the connection, and a warning for the owner if a setting puts the list at risk.
pub(super) async fn open(
    connector: &Connector,
    schema: &OnceLock<Schema>,
    state: &State,
    create_missing: bool,
) -> Result<(Option<String>, Connection), OpenProblem> {
    let mut connection = connector.connect().await?;
    detect_pooler(connector, &mut connection).await?;
    let settings = timeout(BEGIN_TIMEOUT, settings(connection.client())).await??;
    if let Some(encoding) = settings.encoding
        && !["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str())
    {
        return Err(OpenProblem::Encoding(encoding));
    }
    let found = timeout(BEGIN_TIMEOUT, find(connection.client())).await??;
    let list_schema = match found {
        Some((found, Some(schema::FORMAT_VERSION))) => found,
        Some((_, Some(format))) => return Err(OpenProblem::Format(format)),
        // If its creation was interrupted, a list has no format.
        _ if !create_missing => return Err(OpenProblem::NoList),
        _ => {
            let created = timeout(WHOLE_LIST_TIMEOUT, create(connection.client())).await??;
            // A new session has the usual statement timeout again.
            connection = connector.connect().await?;
            created
        }
    };
    let _ = schema.set(list_schema);
    state.refresh_count(&mut connection).await?;
    Ok((settings.warning, connection))
}

/// Creates the list, or completes it. Returns its schema.
async fn create(client: &Client) -> Result<Schema, OpenProblem> {
    let key = ListKey::generate().map_err(|error| OpenProblem::Rejected(error.to_string()))?;
    let schema = match schema::find_all(client).await?.pop() {
        Some(found) => found,
        None => schema_for_new_list(client).await?,
    };
    let schema = Schema::new(&schema);
    schema::create(client, &schema, key).await?;
    Ok(schema)
}

/// Returns the schema and the format of the list, if there is one.
async fn find(client: &Client) -> Result<Option<(Schema, Option<i64>)>, OpenProblem> {
    let mut found = schema::find_all(client).await?;
    if found.len() > 1 {
        found.sort();
        return Err(OpenProblem::SeveralLists(found));
    }
    let Some(name) = found.pop() else {
        return Ok(None);
    };
    let schema = Schema::new(&name);
    let format = schema::read_format(client, &schema).await?;
    Ok(Some((schema, format)))
}

/// Returns the name of the schema in which to create a list.
pub(super) async fn schema_for_new_list(client: &Client) -> Result<String, OpenProblem> {
    let current = schema::current_schema(client).await?;
    current.ok_or_else(|| {
        OpenProblem::Rejected("the search_path has no schema that exists".to_owned())
    })
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
/// If the pooler reuses the last session first, a transaction of the second connection occupies the session of the first
/// one, which then gets another session, or none. If the pooler takes sessions in turn, the first connection soon gets
/// another one.
async fn detect_pooler(connector: &Connector, first: &mut Connection) -> Result<(), OpenProblem> {
    let mut second = match connector.connect().await {
        // A database with a single connection has nothing to compare.
        Err(failure) if failure.kind == FailureKind::TooManyConnections => return Ok(()),
        connected => connected?,
    };
    for _ in 0..COMPARISON_ROUNDS {
        let compare = keeps_session(first.client(), second.client());
        match timeout(BEGIN_TIMEOUT, compare).await? {
            // A pooler that gives each statement another session does not support transactions.
            Err(error) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => {
                return Err(OpenProblem::TransactionPooler);
            }
            Ok(false) => return Err(OpenProblem::TransactionPooler),
            compared => compared?,
        };
    }
    Ok(())
}

/// Returns whether the first connection keeps its session while the second one is in a transaction, and afterwards.
async fn keeps_session(first: &Client, second: &mut Client) -> Result<bool, Error> {
    let session = async || {
        let row = first.query_typed_one(sql::SESSION_ID, &[]).await?;
        row.try_get::<_, i64>(0)
    };
    let before = session().await?;
    let transaction = second.transaction().await?;
    // Without a response, the transaction occupies the only session.
    let during = timeout(RESPONSE_TIMEOUT, session()).await;
    transaction.rollback().await?;
    let is_kept = during.is_ok_and(|found| found.is_ok_and(|it| it == before));
    Ok(is_kept && session().await? == before && session().await? == before)
}

/// Whether the user may read and change all tables of the list in the schema $1, or create them if there are none.
const HAS_PRIVILEGES: &str = "
    SELECT coalesce(
        bool_and(
            has_table_privilege(name, 'SELECT') AND has_table_privilege(name, 'INSERT')
                AND has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE')
        ),
        has_schema_privilege($1, 'CREATE')
    )
    FROM (
        SELECT format('%I.%I', schemaname, tablename) AS name
        FROM pg_catalog.pg_tables
        WHERE schemaname = $1 AND starts_with(tablename, 'waitlist_')
    ) AS tables";

impl PostgresWaitlist {
    /// Returns whether the user of this URL may do what a server does: read and change the list, or create it if there is
    /// none. `runtime` must have its own threads. This blocks, like [`open`](Self::open).
    ///
    /// # Errors
    /// [`PostgresOpenError`], if the database cannot be asked.
    pub fn has_privileges(url: &DatabaseUrl, runtime: &Handle) -> Result<bool, PostgresOpenError> {
        let asked = runtime.block_on(has_privileges(url));
        asked.map_err(|problem| PostgresOpenError::new(url, problem))
    }
}

async fn has_privileges(url: &DatabaseUrl) -> Result<bool, OpenProblem> {
    let connector = Connector::new(url, Arc::new(OnceLock::new()))?;
    let mut connection = connector.connect().await?;
    let client = connection.client();
    let asked = async {
        let name = match schema::find_all(client).await?.into_iter().next() {
            Some(name) => name,
            None => schema_for_new_list(client).await?,
        };
        let row = client
            .query_typed_one(HAS_PRIVILEGES, &[(&name, Type::TEXT)])
            .await?;
        Ok(row.try_get(0)?)
    };
    timeout(BEGIN_TIMEOUT, asked).await?
}
