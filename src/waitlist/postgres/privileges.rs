//! Finds the privileges that a server needs in its database and does not have.

use std::sync::{Arc, OnceLock};

use super::{
    connector::Connector,
    open::{schema_for_new_list, with_open_timeout},
    open_error::PostgresOpenError,
    schema,
    sql::{self, Schema},
    url::DatabaseUrl,
};

/// Returns the missing privileges, such as `INSERT on waitlist_facts`. A server that creates or updates the tables
/// needs others than one that finds them.
pub(super) async fn find_missing(url: &DatabaseUrl) -> Result<Vec<String>, PostgresOpenError> {
    let database = &url.to_string();
    let connector = Connector::new(url, Arc::new(OnceLock::new()), 1);
    let connector = connector.map_err(|error| PostgresOpenError::Tls {
        database: database.clone(),
        error,
    })?;
    let connected = connector.connect().await;
    let mut connection =
        connected.map_err(|failure| PostgresOpenError::from_failure(database, failure))?;
    let found = with_open_timeout(database, schema::find_all(connection.client())).await?;
    let (name, format) = match found.into_iter().next() {
        Some(name) => {
            let schema = Schema::new(&name);
            let read = schema::read_format(connection.client(), &schema);
            let format = with_open_timeout(database, read).await?;
            (name, format)
        }
        None => (schema_for_new_list(&mut connection, database).await?, None),
    };
    let statement = if format == Some(schema::FORMAT_VERSION) {
        sql::MISSING_PRIVILEGES
    } else {
        sql::MISSING_MIGRATION_PRIVILEGES
    };
    let missing = schema::query_texts(connection.client(), statement, &name);
    with_open_timeout(database, missing).await
}
