//! Every statement and setting that the database receives.
//!
//! **Every statement is harmless when it arrives late, or twice.** A statement can hang in a backend or on the
//! way, be repeated on another connection, and run long after somebody else has changed the list. Two things
//! make that safe:
//!
//! - Each sign-up has an id. What is repeated has the same one, and an erasure names ids, not only addresses.
//! - Each slot of the count has an epoch. A statement that lists people takes effect only while its slot has the
//!   epoch that the statement carries, and an erasure raises the epochs of all slots, which are equal. The slot
//!   is compared last, in the same transaction and with its newest version, so there is no moment in between.
//!
//! So no statement that was sent before an erasure lists the erased person after it, whichever instance sent it,
//! and however long it hung. If the epoch has changed when an instance wants to repeat a sign-up, it only looks
//! whether the person is there: they may have been listed and erased.
//!
//! Why not a list of erased ids? It would not stop a statement that had read it before the erasure, or one of an
//! instance that crashed, when the visitor has joined by another. `late.rs` among the tests delays each statement in turn.
//!
//! PostgreSQL, CockroachDB and YugabyteDB support all of this; README.md lists the features by engine.

use std::time::Duration;

/// Maximum run time of a statement in the database. Shorter than [`RESPONSE_TIMEOUT`](super::connection), so
/// that the reason is PostgreSQL's own.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_millis(2500);

/// Returns the settings of each connection.
///
/// An acknowledgement is a promise, which `synchronous_commit = off` would break at the next crash, and `local` when
/// the standby takes over. It is set in any case, because a session follows the server's setting otherwise. Warnings are enabled because a commit that did not wait for its standby is one, see
/// [`super::connector`].
pub(super) fn session() -> String {
    format!(
        "SET statement_timeout = {};
         SET client_min_messages = warning;
         SELECT set_config('synchronous_commit', CASE level WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE level END, false)
         FROM (SELECT current_setting('synchronous_commit', true) AS level) AS found
         WHERE level IS NOT NULL",
        STATEMENT_TIMEOUT.as_millis()
    )
}

/// For the migrations, a recount, and reading the list: they may take as long as they need.
pub(super) const NO_STATEMENT_TIMEOUT: &str = "SET statement_timeout = 0";

/// For statements that lock what all instances need: while they wait for somebody, everybody waits for them. So
/// they wait briefly, and are repeated.
pub(super) const BRIEF_LOCKS: &str = "SET lock_timeout = 500";
pub(super) const LONG_LOCKS: &str = "SET lock_timeout = 0";

/// What can put the list at risk. NULL in databases that do not have the setting.
pub(super) const SETTINGS: &str = "SELECT
    current_setting('server_encoding', true),
    current_setting('fsync', true),
    current_setting('synchronous_commit', true)";

/// Marks the session of a connection with $1, see [`super::open`].
pub(super) const SET_SESSION_MARKER: &str =
    "SELECT pg_backend_pid()::bigint, set_config('landing.session', $1, false)";

/// The session of a connection, and its mark.
pub(super) const SESSION_MARKER: &str =
    "SELECT pg_backend_pid()::bigint, current_setting('landing.session', true)";

/// The schemas of the search path that have a list.
pub(super) const FIND_SCHEMAS: &str = "
    SELECT schemaname::text FROM pg_catalog.pg_tables
    WHERE tablename = 'waitlist_migrations' AND schemaname = ANY (current_schemas(false))";

/// The schema in which new tables are created; NULL if the search path names none that exists.
pub(super) const CURRENT_SCHEMA: &str = "SELECT current_schema()::text";

/// Number of rows of `waitlist_count`. Instances may share one.
pub(super) const SLOTS: i64 = 64;

/// The formats of the list. Each is created from the one before it by statements that do nothing when they have
/// run before. Never edit a released one. Older instances keep running meanwhile.
pub(super) const MIGRATIONS: [&[&str]; 2] = [
    &[
        // key: what all spellings of one address share. Bytes, because text is sorted differently by
        // different machines, and after their updates.
        // email: as typed.
        // joined_at: when the sign-up reached its server, to the millisecond.
        // id: of the sign-up, a UUID of version 7 (RFC 9562). An instance recognises its own sign-ups by it,
        // and those of one millisecond keep their order.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_entries (
            key bytea PRIMARY KEY,
            email text NOT NULL,
            joined_at timestamptz NOT NULL,
            id uuid NOT NULL
        )",
        // ASC makes YugabyteDB sort by time instead of distributing by a hash.
        "CREATE INDEX IF NOT EXISTS waitlist_entries_by_time
            ON {schema}.waitlist_entries (joined_at ASC, id ASC)",
        // The number of entries is the sum of these rows. With one row, each instance would wait until the
        // other's sign-ups are on the disk.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_count (
            slot bigint PRIMARY KEY,
            entries bigint NOT NULL
        )",
        "INSERT INTO {schema}.waitlist_count (slot, entries)
            SELECT slot, 0 FROM generate_series(0, 63) AS slot
            ON CONFLICT (slot) DO NOTHING",
    ],
    &[
        "ALTER TABLE {schema}.waitlist_count ADD COLUMN IF NOT EXISTS epoch bigint NOT NULL DEFAULT 0",
    ],
];

/// Which migrations are done.
pub(super) const CREATE_MIGRATIONS: &str = "
    CREATE TABLE IF NOT EXISTS {schema}.waitlist_migrations (
        version bigint PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
    )";

pub(super) const READ_FORMAT: &str = "SELECT max(version) FROM {schema}.waitlist_migrations";

/// Late or twice: does nothing.
pub(super) const RECORD_MIGRATION: &str = "
    INSERT INTO {schema}.waitlist_migrations (version) VALUES ($1) ON CONFLICT (version) DO NOTHING";

/// Creates the rows of the count that are missing, with the epoch of the others. Late or twice: does nothing.
pub(super) const CREATE_MISSING_SLOTS: &str = "
    INSERT INTO {schema}.waitlist_count (slot, entries, epoch)
    SELECT slot, 0, coalesce(
        (SELECT max(epoch) FROM {schema}.waitlist_count),
        (1000 * extract(epoch FROM now()))::bigint
    )
    FROM generate_series(0, 63) AS slot
    ON CONFLICT (slot) DO NOTHING";

pub(super) const COUNT_SLOTS: &str = "SELECT count(*) FROM {schema}.waitlist_count";

/// Lists people and counts them in slot $5, with epoch $6. Existing keys stay as they are.
///
/// The row of the slot is updated also when nobody is new: the commit waits until everything it saw is durable,
/// at the standby too, and only then "already listed" may be answered. If the row is missing or has another
/// epoch, the statement divides by zero (22012), which rolls it back.
pub(super) const JOIN: &str = "
    WITH fresh AS (
        INSERT INTO {schema}.waitlist_entries (key, email, joined_at, id)
        SELECT * FROM unnest($1::bytea[], $2::text[], $3::timestamptz[], $4::uuid[])
        ON CONFLICT (key) DO NOTHING
        RETURNING id
    ), counted AS (
        UPDATE {schema}.waitlist_count SET entries = entries + (SELECT count(*) FROM fresh)
        WHERE slot = $5 AND epoch = $6
        RETURNING entries
    )
    SELECT
        (SELECT entries FROM counted),
        ARRAY(SELECT id FROM fresh),
        1 / (SELECT count(*) FROM counted)";

/// Who of these is on the list, and by which sign-up.
pub(super) const FIND_LISTED: &str =
    "SELECT key, id FROM {schema}.waitlist_entries WHERE key = ANY($1::bytea[])";

/// Erases sign-ups, subtracts them in slot $3, and raises the epochs of all slots, to the same number. Late: whoever has joined
/// again has another id and stays. It divides by zero like [`JOIN`] if the slot is missing.
pub(super) const ERASE: &str = "
    WITH gone AS (
        DELETE FROM {schema}.waitlist_entries
        WHERE key = ANY($1::bytea[]) AND id = ANY($2::uuid[])
        RETURNING id
    ), counted AS (
        UPDATE {schema}.waitlist_count SET
            epoch = greatest(epoch, (SELECT max(epoch) FROM {schema}.waitlist_count)) + 1,
            entries = entries - CASE WHEN slot = $3 THEN (SELECT count(*) FROM gone) ELSE 0 END
        RETURNING slot, entries, epoch
    )
    SELECT
        (SELECT entries FROM counted WHERE slot = $3),
        (SELECT epoch FROM counted WHERE slot = $3),
        1 / (SELECT count(*) FROM counted WHERE slot = $3)";

/// Reads a slot by writing to it: the first statement of each connection that writes. Its commit waits until all
/// commits before it are durable, at the standby too: one of them may have been cut off while it waited for
/// that, and be visible. Late: it changes nothing.
pub(super) const READ_SLOT: &str = "
    UPDATE {schema}.waitlist_count SET entries = entries WHERE slot = $1
    RETURNING entries, epoch";

/// Every slot of the count.
pub(super) const READ_SLOTS: &str = "SELECT slot, entries FROM {schema}.waitlist_count";

/// Inserts entries, takes that back, and commits a write that changes nothing. The database refuses it whenever it
/// would refuse a sign-up: with a table locked, without the right to insert, with a full disk, without the standby
/// that it waits for. What a trigger of the owner's does is taken back too. No address has such a key. Late: it
/// changes nothing.
///
/// `width` bytes of text stand before the address of each entry.
pub(super) fn probe(slot: i64, entries: usize, width: usize, id: uuid::Uuid) -> String {
    let key = format!("00{}", id.simple());
    format!(
        "BEGIN;
         INSERT INTO {{schema}}.waitlist_entries (key, email, joined_at, id)
         SELECT decode('{key}' || lpad(to_hex(n), 4, '0'), 'hex'), 
             repeat('x', {width}) || 'probe@landing.invalid', now(), '{id}'
         FROM generate_series(1, {entries}) AS n
         ON CONFLICT (key) DO NOTHING;
         ROLLBACK;
         UPDATE {{schema}}.waitlist_count SET entries = entries WHERE slot = {slot}"
    )
}

/// How many there are: by the count, and in fact. One statement, so it is one moment.
pub(super) const RECOUNT: &str = "
    SELECT
        (SELECT coalesce(sum(entries), 0)::bigint FROM {schema}.waitlist_count),
        (SELECT count(*) FROM {schema}.waitlist_entries)";

/// Raises all epochs, so that of several corrections only one is applied.
pub(super) const GUARD_COUNT: &str = "
    UPDATE {schema}.waitlist_count
    SET epoch = greatest(epoch, (SELECT max(epoch) FROM {schema}.waitlist_count)) + 1
    RETURNING slot, epoch";

/// Adds $1 to slot $2. Late: it has no effect after the next [`GUARD_COUNT`].
pub(super) const CORRECT_COUNT: &str = "
    UPDATE {schema}.waitlist_count SET entries = entries + $1 WHERE slot = $2 AND epoch = $3
    RETURNING slot";

/// The number of entries, and with it the moment that a list is of.
pub(super) const TOTAL_COUNT: &str =
    "SELECT coalesce(sum(entries), 0)::bigint FROM {schema}.waitlist_count";

/// The entries of a period, in order.
pub(super) fn entries(newest_first: bool) -> String {
    let order = if newest_first { "DESC" } else { "ASC" };
    format!(
        "SELECT email, joined_at FROM {{schema}}.waitlist_entries
         WHERE joined_at >= $1 AND joined_at < $2
         ORDER BY joined_at {order}, id {order}"
    )
}

/// The schema of the list. Statements name it, so that no table of another schema can take the place of the
/// list's, whatever the search path becomes.
#[derive(Clone, Debug)]
pub(super) struct Schema(String);

impl Schema {
    pub(super) fn new(name: &str) -> Self {
        Self(format!("\"{}\"", name.replace('"', "\"\"")))
    }

    /// Names the schema in a statement.
    pub(super) fn qualify(&self, statement: &str) -> String {
        statement.replace("{schema}", &self.0)
    }
}
