//! What is there when a list is opened.

use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tokio::time::timeout;
use tokio_postgres::Error;

use super::{
    DatabaseError, DatabaseUrl,
    error::{no_connection, refusal},
    pool::TRY_PATIENCE,
    schema,
    state::State,
};

/// How long tables may take to be made, or changed.
const MIGRATION_PATIENCE: Duration = Duration::from_secs(10 * 60);

/// Looks at what is there, and makes what is to be made. Returns a warning for the owner, if there is one.
pub(super) async fn open(
    url: &DatabaseUrl,
    pool: &Pool,
    state: &State,
    make: bool,
) -> Result<Option<String>, DatabaseError> {
    let place = url.to_string();
    let told = |error: Error| refusal(&place, &error);
    let slow = |_| DatabaseError::Unreachable(place.clone(), "no answer in time".into());
    let client = pool.get().await;
    let client = client.map_err(|error| no_connection(&place, &error))?;
    let look = async {
        let encoding = client.query_typed_one("SHOW server_encoding", &[]).await?;
        Ok((
            encoding.try_get::<_, String>(0)?,
            schema::format(&client).await?,
        ))
    };
    let (encoding, mut format) = timeout(TRY_PATIENCE, look)
        .await
        .map_err(slow)?
        .map_err(told)?;
    if !["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str()) {
        return Err(DatabaseError::Encoding(place, encoding));
    }
    if make && format.is_none_or(|format| format < schema::FORMAT) {
        // With a connection of its own, that has another patience.
        let client = Object::take(client);
        let migrated = timeout(MIGRATION_PATIENCE, schema::migrate(&client)).await;
        format = Some(migrated.map_err(slow)?.map_err(told)?);
    }
    if let Some(newer) = format.filter(|format| *format > schema::FORMAT) {
        return Err(DatabaseError::Newer(place, newer));
    }
    if format != Some(schema::FORMAT) {
        return Err(DatabaseError::NoList(place));
    }
    let client = pool.get().await;
    let client = client.map_err(|error| no_connection(&place, &error))?;
    let look = async {
        state.look(&client).await?;
        // NULL in databases that are not PostgreSQL.
        let fsync = "SELECT current_setting('fsync', true)";
        let fsync = client.query_typed_one(fsync, &[]).await?;
        fsync.try_get::<_, Option<String>>(0)
    };
    let fsync = timeout(TRY_PATIENCE, look).await;
    let fsync = fsync.map_err(slow)?.map_err(told)?;
    Ok((fsync.as_deref() == Some("off")).then(|| {
        format!(
            "{place} has fsync = off: a power cut can lose sign-ups that were acknowledged, or the whole \
             database. Set fsync = on in its postgresql.conf"
        )
    }))
}
