//! The tables of a list, and how they are created.
//!
//! Not all engines can create tables in one step. Advisory locks have no effect in CockroachDB. Neither CockroachDB
//! (since 25.1) nor YugabyteDB creates a table inside a transaction. So nothing is locked. Every statement can be
//! repeated, also by several instances that start at once, and the format is recorded after all of them are done.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, Error, error::SqlState};
use uuid::Uuid;

use super::{super::suppression::ListKey, sql};

/// Format of the list that this program reads and writes.
pub(super) const FORMAT_VERSION: i64 = 7;

/// Number of rows in `waitlist_count`, which [`create_missing_slots`] creates. Instances may share a row.
const SLOTS: i64 = 64;

/// The tables.
const CREATE_TABLES: [&str; 9] = [
    // The format of the list.
    "CREATE TABLE IF NOT EXISTS waitlist_migrations (
        version bigint PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
    )",
    // key: the form that all spellings of an address share. It is in bytes, because the order of text depends on the
    // machine and changes with its updates.
    // email: the address as typed.
    // joined_at: when the sign-up reached its server, to the millisecond.
    // id: the id of the sign-up, a UUID of version 7 (RFC 9562). By it, an instance recognises its own sign-ups, and
    // sign-ups of the same millisecond keep their order.
    // source: where the person came from, or NULL.
    // asked_at, confirmed_at: when the site promised to ask the person to confirm the address, and when the person
    // confirmed it, or NULL.
    "CREATE TABLE IF NOT EXISTS waitlist_entries (
        key bytea PRIMARY KEY,
        email text NOT NULL,
        joined_at timestamptz NOT NULL,
        id uuid NOT NULL,
        source text,
        asked_at timestamptz,
        confirmed_at timestamptz
    )",
    // With ASC, YugabyteDB sorts the index by time instead of distributing it by a hash.
    "CREATE INDEX IF NOT EXISTS waitlist_entries_by_time
        ON waitlist_entries (joined_at ASC, id ASC)",
    // The number of entries is the sum of these rows. With a single row, each instance would wait until the sign-ups of
    // the other instances are on the disk.
    "CREATE TABLE IF NOT EXISTS waitlist_count (
        slot bigint PRIMARY KEY,
        entries bigint NOT NULL,
        epoch bigint NOT NULL
    )",
    // The key of the hashes, in a single row. It is created with the list.
    "CREATE TABLE IF NOT EXISTS waitlist_key (
        id bigint PRIMARY KEY,
        key bytea NOT NULL
    )",
    // hash: the first 16 bytes of the HMAC-SHA-256 of an address, in the form that all its spellings share.
    "CREATE TABLE IF NOT EXISTS waitlist_suppressed (
        hash bytea PRIMARY KEY
    )",
    // Somebody has left. id: a UUID of version 4. source: where the person came from, or NULL.
    "CREATE TABLE IF NOT EXISTS waitlist_departures (
        id uuid PRIMARY KEY,
        source text
    )",
    // The messages to the people on the list. text_digest: the SHA-256 of the text in Markdown, or NULL.
    "CREATE TABLE IF NOT EXISTS waitlist_messages (
        id text PRIMARY KEY,
        begun_at timestamptz NOT NULL,
        subject text NOT NULL,
        text_digest bytea
    )",
    // number: from 0, in each message. recipient: the hash of the address, as in `waitlist_suppressed`. state: `waiting`,
    // `sending`, `accepted`, `deferred`, `refused`, `unknown` or `skipped`. since: when it got into this state. code,
    // reply: what the mail server replied. added_by, begun_by: the ids of the requests that have added it, and begun it
    // last. By them, a client recognises its own changes after it has lost the response. leased_until: when a delivery
    // that has begun becomes unknown.
    "CREATE TABLE IF NOT EXISTS waitlist_deliveries (
        message text NOT NULL REFERENCES waitlist_messages (id),
        number bigint NOT NULL,
        recipient bytea NOT NULL,
        state text NOT NULL,
        since timestamptz,
        code bigint,
        reply text,
        attempts bigint NOT NULL,
        added_by uuid NOT NULL,
        begun_by uuid,
        leased_until timestamptz,
        PRIMARY KEY (message, number)
    )",
];

/// Builds the statements that create the missing rows of the count, with the epoch of the others. They wait for a change
/// that raises it. Late or twice: they do nothing.
pub(super) fn create_missing_slots() -> String {
    let lock_slots = sql::LOCK_SLOTS;
    format!(
        "{lock_slots};
         INSERT INTO waitlist_count (slot, entries, epoch)
         SELECT slot, 0, coalesce(
             (SELECT max(epoch) FROM waitlist_count),
             (1000 * extract(epoch FROM now()))::bigint
         )
         FROM generate_series(0, {SLOTS} - 1) AS slot
         ON CONFLICT (slot) DO NOTHING"
    )
}

/// Records the format. Late or twice: it does nothing.
pub(super) const RECORD_FORMAT: &str = "
    INSERT INTO waitlist_migrations (version) VALUES ($1) ON CONFLICT (version) DO NOTHING";

/// Returns the format, or NULL if the tables are not complete.
pub(super) const READ_FORMAT: &str = "SELECT max(version) FROM waitlist_migrations";

/// Maximum time to retry while other instances create the same tables, because they start at the same time.
const RACE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before such a retry.
const RACE_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Returns a random slot other than `except`.
pub(super) fn random_slot(except: Option<i64>) -> i64 {
    // The low bits of the id are random.
    let (_, random) = Uuid::now_v7().as_u64_pair();
    let slot = (random % SLOTS as u64) as i64;
    if except == Some(slot) {
        (slot + 1) % SLOTS
    } else {
        slot
    }
}

/// Creates the list, with the key `new_list_key`. Afterwards the connection has no statement timeout.
pub(super) async fn create(client: &Client, new_list_key: ListKey) -> Result<(), Error> {
    client.batch_execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let started = Instant::now();
    loop {
        match create_once(client, new_list_key).await {
            Err(error) if is_race(&error) && started.elapsed() < RACE_TIMEOUT => {
                sleep(RACE_RETRY_INTERVAL).await;
            }
            created => return created,
        }
    }
}

async fn create_once(client: &Client, new_list_key: ListKey) -> Result<(), Error> {
    for statement in CREATE_TABLES {
        client.batch_execute(statement).await?;
    }
    client.batch_execute(&create_missing_slots()).await?;
    let list_key = new_list_key.as_bytes();
    client.execute(sql::CREATE_LIST_KEY, &[&list_key]).await?;
    client.execute(RECORD_FORMAT, &[&FORMAT_VERSION]).await?;
    Ok(())
}

/// Returns whether another instance creates the same tables at this moment. The name of a table may become taken while
/// it is created.
fn is_race(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        [
            SqlState::UNIQUE_VIOLATION,
            SqlState::DUPLICATE_TABLE,
            SqlState::DUPLICATE_OBJECT,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            // "tuple concurrently updated", and most of YugabyteDB's errors in this case.
            SqlState::INTERNAL_ERROR,
        ]
        .contains(code)
    })
}
