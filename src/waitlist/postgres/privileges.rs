//! Finds the privileges that a server needs in its database and does not have.

use std::sync::{Arc, OnceLock};

use super::{
    connector::Connector,
    open::{schema_for_new_list, with_open_timeout},
    open_error::PostgresOpenError,
    schema,
    sql::Schema,
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
        MISSING_PRIVILEGES
    } else {
        MISSING_MIGRATION_PRIVILEGES
    };
    let missing = schema::query_texts(connection.client(), statement, &name);
    with_open_timeout(database, missing).await
}

/// Returns the privileges on the tables in schema $1 that a server needs and this user does not have.
const MISSING_PRIVILEGES: &str = "
    SELECT privilege || ' on ' || name
    FROM (VALUES
        ('SELECT', 'waitlist_migrations'),
        ('SELECT', 'waitlist_entries'),
        ('INSERT', 'waitlist_entries'),
        ('UPDATE', 'waitlist_entries'),
        ('DELETE', 'waitlist_entries'),
        ('SELECT', 'waitlist_facts'),
        ('INSERT', 'waitlist_facts'),
        ('SELECT', 'waitlist_keys'),
        ('INSERT', 'waitlist_keys'),
        ('SELECT', 'waitlist_suppressed'),
        ('INSERT', 'waitlist_suppressed'),
        ('DELETE', 'waitlist_suppressed'),
        ('SELECT', 'waitlist_departures'),
        ('INSERT', 'waitlist_departures'),
        ('SELECT', 'waitlist_messages'),
        ('INSERT', 'waitlist_messages'),
        ('SELECT', 'waitlist_deliveries'),
        ('INSERT', 'waitlist_deliveries'),
        ('UPDATE', 'waitlist_deliveries'),
        ('SELECT', 'waitlist_count'),
        ('UPDATE', 'waitlist_count')
    ) AS needed (privilege, name)
    WHERE NOT has_table_privilege(format('%I.%I', $1, name), privilege)";

/// Returns the privileges in schema $1 that a migration needs and this user does not have.
const MISSING_MIGRATION_PRIVILEGES: &str = "
    SELECT 'CREATE on the schema ' || $1
    WHERE NOT has_schema_privilege($1, 'CREATE')
    UNION ALL
    SELECT 'ownership of ' || tablename
    FROM pg_catalog.pg_tables
    WHERE schemaname = $1
        AND tablename IN (
            'waitlist_migrations', 'waitlist_entries', 'waitlist_facts', 'waitlist_count',
            'waitlist_keys', 'waitlist_suppressed', 'waitlist_departures', 'waitlist_messages',
            'waitlist_deliveries'
        )
        AND NOT pg_has_role(tableowner, 'USAGE')";
