//! Connections, and what each begins with.

use std::time::Duration;

use deadpool_postgres::{
    Client, ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod,
    Runtime,
};
use tokio::time::{error::Elapsed, timeout};
use tokio_postgres::{Error, error::SqlState};
use uuid::Uuid;

use super::{
    DatabaseUrl,
    error::{words, words_of_the_pool},
};

/// Connections of a process that read: one for the count, and those of the owner's commands.
pub(super) const READERS: usize = 3;

/// How long a connection, or a statement, may take. It is then given up for a new one, perhaps to another
/// host: more than one try must fit into the time that an answer may take.
pub(super) const TRY_PATIENCE: Duration = Duration::from_secs(3);

/// Why a try came to nothing.
pub(super) enum Failure {
    /// Others were at the same rows.
    Conflict,
    /// The row in which this copy counts is missing.
    NoSlot,
    /// In words for the owner.
    Trouble(String),
}

/// At most so many connections to a database; none is made yet.
///
/// # Errors
/// A sentence for the owner: what is wrong with the settings of TLS.
pub(super) fn pool(url: &DatabaseUrl, connections: usize) -> Result<Pool, String> {
    // A statement that nobody waits for any more must not keep the next one waiting; and an answer is a
    // promise, which without this setting the next crash may break.
    let session = format!(
        "SET statement_timeout = {};
         SELECT set_config('synchronous_commit', 'on', false)
         WHERE current_setting('synchronous_commit', true) = 'off'",
        TRY_PATIENCE.as_millis()
    );
    let begin = Hook::async_fn(move |client: &mut ClientWrapper, _| {
        let session = session.clone();
        Box::pin(async move {
            // The pool's own patience leaves this out.
            let begun = timeout(TRY_PATIENCE, client.batch_execute(&session)).await;
            let begun = begun.map_err(|_| HookError::message("no session in time"))?;
            begun.map_err(HookError::Backend)
        })
    });
    let manager = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = Manager::from_config(url.config.clone(), url.tls.connector()?, manager);
    let pool = Pool::builder(manager)
        .max_size(connections)
        .runtime(Runtime::Tokio1)
        .create_timeout(Some(TRY_PATIENCE))
        .wait_timeout(Some(TRY_PATIENCE))
        .post_create(begin)
        .build();
    pool.map_err(|error| error.to_string())
}

/// A connection for a copy that counts in this slot, and that can write.
///
/// A new one begins with a write. A commit may have been cut off from the standby that it waited for, by
/// the end of the server say, and be seen all the same: whoever writes waits for all that was written
/// before, and only then it may be told of.
pub(super) async fn connection(pool: &Pool, slot: i64) -> Result<Object, Failure> {
    let client = pool.get().await;
    let client = client.map_err(|error| Failure::Trouble(words_of_the_pool(&error)))?;
    if Object::metrics(&client).recycle_count > 0 {
        return Ok(client);
    }
    let failed = match timeout(TRY_PATIENCE, write(&client, slot)).await {
        Ok(Ok(())) => return Ok(client),
        Ok(Err(error)) => Some(error),
        Err(_) => None,
    };
    // Given back, it would not be new to the next one.
    drop(Object::take(client));
    Err(failure(failed))
}

/// Inserts an entry, deletes it, and counts nobody. This changes nothing, but the database keeps it as it would
/// keep a sign-up, and refuses it where it would refuse one: with the entries locked, for example, or without
/// the right to insert.
pub(super) async fn write(client: &Client, slot: i64) -> Result<(), Error> {
    // No address has such a key. The statements are one message, so they are one transaction.
    let key = format!("decode('00{slot:02x}', 'hex')");
    let id = Uuid::now_v7();
    let write = format!(
        "INSERT INTO waitlist_entries (key, email, joined_at, id) VALUES ({key}, '', now(), '{id}')
         ON CONFLICT (key) DO NOTHING;
         DELETE FROM waitlist_entries WHERE key = {key};
         UPDATE waitlist_count SET entries = entries WHERE slot = {slot}"
    );
    client.batch_execute(&write).await
}

/// What came of a try, and its connection. A connection that failed is not used again: what it still waits for, or whether it
/// leads to a host that can write, nobody knows. It is closed, and no statement on it cancelled: to a commit
/// that waits for its standby that would mean not to wait.
pub(super) fn settle<T>(
    client: Object,
    done: Result<Result<T, Error>, Elapsed>,
) -> Result<(Object, T), Failure> {
    let failure = match done {
        Ok(Ok(done)) => return Ok((client, done)),
        Ok(Err(error)) => failure(Some(error)),
        Err(_) => failure(None),
    };
    if let Failure::Trouble(_) = failure {
        drop(Object::take(client));
    }
    Err(failure)
}

/// What an error comes to; without one, it took too long.
fn failure(error: Option<Error>) -> Failure {
    match error {
        Some(error) if is_conflict(&error) => Failure::Conflict,
        Some(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => Failure::NoSlot,
        Some(error) => Failure::Trouble(words(&error)),
        None => Failure::Trouble(format!("no answer in {} seconds", TRY_PATIENCE.as_secs())),
    }
}

/// To be tried again as it is, and no trouble.
pub(super) fn is_conflict(error: &Error) -> bool {
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    error.code().is_some_and(|code| conflicts.contains(code))
}
