//! The tables, and how they come to be.
//!
//! PostgreSQL, CockroachDB and YugabyteDB take all of this. What tools for migrations rely on, they do not
//! share: advisory locks lock nothing in CockroachDB, and neither it (since 25.1) nor YugabyteDB makes a
//! table as a part of a transaction. So nothing is locked: every statement can be run again, by several
//! copies that start at once too, and the version is written when all of them are done.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, Error, error::SqlState, types::Type};
use uuid::Uuid;

/// The formats of the list, each made from the one before it by statements that do nothing when they were
/// done. What stands here stays: somewhere it has run already. A copy of the program that is older must be
/// able to go on meanwhile.
const MIGRATIONS: [&[&str]; 1] = [&[
    // key: what all spellings of one address share. Bytes, because how text is sorted differs between
    // machines, and changes with their updates.
    // email: as typed.
    // joined_at: when the sign-up reached its server, to the millisecond.
    // id: of the sign-up. By it a copy that was cut off knows its own again, and those of one millisecond
    // keep their order (RFC 9562, version 7).
    "CREATE TABLE IF NOT EXISTS waitlist_entries (
        key bytea PRIMARY KEY,
        email text NOT NULL,
        joined_at timestamptz NOT NULL,
        id uuid NOT NULL
    )",
    // ASC has YugabyteDB sort by time instead of spreading by a hash.
    "CREATE INDEX IF NOT EXISTS waitlist_entries_by_time
        ON waitlist_entries (joined_at ASC, id ASC)",
    // How many entries there are is the sum of this. Each copy counts in a row of its own, else each would
    // wait until the others' sign-ups are on the disk.
    "CREATE TABLE IF NOT EXISTS waitlist_count (
        slot bigint PRIMARY KEY,
        entries bigint NOT NULL
    )",
    "INSERT INTO waitlist_count (slot, entries)
        SELECT slot, 0 FROM generate_series(0, 63) AS slot
        ON CONFLICT (slot) DO NOTHING",
]];

/// Rows of `waitlist_count`. Two copies that come to have the same one still count right.
const SLOTS: i64 = 64;

/// Which of them were done.
const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS waitlist_migrations (
    version bigint PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
)";

/// The format that this program reads and writes.
pub(super) const FORMAT: i64 = MIGRATIONS.len() as i64;

/// How long copies that start at once may keep each other waiting.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// A slot for a copy.
pub(super) fn any_slot() -> i64 {
    // Random, but for the bits of its version.
    let (_, random) = Uuid::now_v7().as_u64_pair();
    (random % SLOTS as u64) as i64
}

/// Makes the row of a slot, if it is missing.
pub(super) async fn make_slot(client: &Client, slot: i64) -> Result<(), Error> {
    let make =
        "INSERT INTO waitlist_count (slot, entries) VALUES ($1, 0) ON CONFLICT (slot) DO NOTHING";
    client.execute_typed(make, &[(&slot, Type::INT8)]).await?;
    Ok(())
}

/// The format of the list that is there, if one is.
pub(super) async fn format(client: &Client) -> Result<Option<i64>, Error> {
    let found = client.query_typed_one("SELECT max(version) FROM waitlist_migrations", &[]);
    match found.await {
        Ok(row) => row.try_get(0),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the list, or makes an older one what this program needs. Returns the format there is then,
/// which may be newer. The connection is then good for nothing else.
pub(super) async fn migrate(client: &Client) -> Result<i64, Error> {
    // The limit of others.
    client.batch_execute("SET statement_timeout = 0").await?;
    let begun = Instant::now();
    loop {
        match step(client).await {
            Ok(format) if format >= FORMAT => return Ok(format),
            Ok(_) => {}
            Err(error) if is_race(&error) && begun.elapsed() < PATIENCE => sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}

/// One migration, if one is missing. Returns the format there was before it.
async fn step(client: &Client) -> Result<i64, Error> {
    client.batch_execute(VERSIONS).await?;
    let format = format(client).await?.unwrap_or(0);
    let next = usize::try_from(format).ok();
    if let Some(statements) = next.and_then(|next| MIGRATIONS.get(next)) {
        for statement in *statements {
            client.batch_execute(statement).await?;
        }
        let done = format!(
            "INSERT INTO waitlist_migrations (version) VALUES ({}) ON CONFLICT (version) DO NOTHING",
            format + 1
        );
        client.batch_execute(&done).await?;
    }
    Ok(format)
}

/// Another copy does the same at this moment: the name of a table is taken in the middle of making it.
fn is_race(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        [
            SqlState::UNIQUE_VIOLATION,
            SqlState::DUPLICATE_TABLE,
            SqlState::DUPLICATE_OBJECT,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            // "tuple concurrently updated", and most of what YugabyteDB says of this.
            SqlState::INTERNAL_ERROR,
        ]
        .contains(code)
    })
}
