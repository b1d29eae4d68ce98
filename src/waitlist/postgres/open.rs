//! Finds the list when it is opened, or creates it, and says whether the user of a URL may do what a server does.

use std::sync::{Arc, OnceLock};

use tokio::{runtime::Handle, time::timeout};
use tokio_postgres::{
    Client, Error,
    error::SqlState,
    types::{ToSql, Type},
};

use super::{
    super::suppression::ListKey,
    PostgresWaitlist,
    connection::Connection,
    connector::Connector,
    error::FailureKind,
    open_error::{OpenProblem, PostgresOpenError},
    rows::column,
    schema, sql,
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
    schema: &OnceLock<String>,
    state: &State,
    create_missing: bool,
) -> Result<(Option<&'static str>, Connection), OpenProblem> {
    let mut connection = connector.connect().await?;
    detect_pooler(connector, &mut connection).await?;
    let client = &connection.client;
    let Settings {
        encoding,
        warning,
        has_options,
    } = timeout(BEGIN_TIMEOUT, settings(client)).await??;
    if connector.has_options() && !has_options {
        return Err(OpenProblem::IgnoredOptions);
    }
    if let Some(encoding) = encoding
        && !["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str())
    {
        return Err(OpenProblem::Encoding(encoding));
    }
    let (list_schema, format) = timeout(BEGIN_TIMEOUT, find(client)).await??;
    let use_schema = sql::use_schema(&list_schema);
    timeout(BEGIN_TIMEOUT, client.batch_execute(&use_schema)).await??;
    let _ = schema.set(list_schema);
    match format {
        Some(schema::FORMAT_VERSION) => {}
        Some(format) => return Err(OpenProblem::Format(format)),
        // If its creation was interrupted, a list has no format.
        None if !create_missing => return Err(OpenProblem::NoList),
        None => {
            let creating = schema::create(client, ListKey::generate());
            timeout(WHOLE_LIST_TIMEOUT, creating).await??;
            // A new session has the usual statement timeout again.
            connection = connector.connect().await?;
        }
    }
    state.refresh_count(&mut connection).await?;
    Ok((warning, connection))
}

/// Returns the schema of the list, or the one in which to create it, and the format of the list, if there is one.
async fn find(client: &Client) -> Result<(String, Option<i64>), OpenProblem> {
    let rows = client.query_typed(sql::FIND_SCHEMAS, &[]).await?;
    let mut found: Vec<String> = column(&rows, 0)?;
    if found.len() > 1 {
        found.sort();
        return Err(OpenProblem::SeveralLists(found));
    }
    if let Some(name) = found.pop() {
        let row = client.query_typed_one(schema::READ_FORMAT, &[]).await?;
        return Ok((name, row.try_get(0)?));
    }
    let row = client.query_typed_one(sql::CURRENT_SCHEMA, &[]).await?;
    let name: Option<String> = row.try_get(0)?;
    let reason = "the search_path has no schema that exists";
    let name = name.ok_or_else(|| OpenProblem::Rejected(reason.to_owned()))?;
    Ok((name, None))
}

/// The settings of a session.
struct Settings {
    encoding: Option<String>,
    /// A warning for the owner, if a setting puts the list at risk.
    warning: Option<&'static str>,
    /// Whether it has the options of the URL.
    has_options: bool,
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
        warning,
        has_options: setting(3)?.as_deref() == Some("on"),
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
        let compare = keeps_session(&first.client, &mut second.client);
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
    let is_kept = during.ok().transpose()? == Some(before);
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
        let ask = async {
            let connector = Connector::new(url, Arc::new(OnceLock::new()))?;
            let client = &connector.connect().await?.client;
            let ask = async {
                let (name, _) = find(client).await?;
                let params = [(&name as &(dyn ToSql + Sync), Type::TEXT)];
                let row = client.query_typed_one(HAS_PRIVILEGES, &params).await?;
                Ok(row.try_get(0)?)
            };
            timeout(BEGIN_TIMEOUT, ask).await?
        };
        let asked = runtime.block_on(ask);
        asked.map_err(|problem| PostgresOpenError::new(url, problem))
    }
}
