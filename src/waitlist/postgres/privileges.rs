//! Whether the user of a URL may do what a server does.

use std::sync::{Arc, OnceLock};

use tokio_postgres::types::Type;

use super::{
    connector::Connector,
    open::{schema_for_new_list, with_begin_timeout},
    open_error::PostgresOpenError,
    schema,
    url::DatabaseUrl,
};

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

/// Returns whether the user may read and change the list, or create it if there is none.
pub(super) async fn has_privileges(url: &DatabaseUrl) -> Result<bool, PostgresOpenError> {
    let database = &url.to_string();
    let connector = Connector::new(url, Arc::new(OnceLock::new()), 1);
    let connector = connector.map_err(|error| PostgresOpenError::Tls {
        database: database.clone(),
        error,
    })?;
    let connected = connector.connect().await;
    let mut connection =
        connected.map_err(|failure| PostgresOpenError::from_failure(database, failure))?;
    let found = with_begin_timeout(database, schema::find_all(connection.client())).await?;
    let name = match found.into_iter().next() {
        Some(name) => name,
        None => schema_for_new_list(&mut connection, database).await?,
    };
    let asked = async {
        let params: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 1] = [(&name, Type::TEXT)];
        let rows = connection
            .client()
            .query_typed(HAS_PRIVILEGES, &params)
            .await?;
        rows.first().map_or(Ok(false), |row| row.try_get(0))
    };
    with_begin_timeout(database, asked).await
}
