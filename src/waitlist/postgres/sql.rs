//! The statements about the people on the list, their count and the suppressed addresses, and the settings of a connection.
//! Those about the ledger are in `ledger_sql`. Those of the tables, of a restore, of the events and of reading the whole list
//! are in `schema`, `restore`, `events` and `entries`.
//!
//! **Every statement is harmless when it arrives late, and when its caller repeats it.** A statement can hang in a backend
//! or in the network, and run long after another client has changed the list. A caller that loses a response does not know
//! whether the statement took effect, and sends it again, perhaps over another connection. Two mechanisms make this safe:
//!
//! - Each sign-up has an id. A repeated sign-up keeps its id, and an erasure names ids, not only addresses.
//! - Each slot of the count has an epoch. Every change but sign-ups and facts raises the epochs of all slots, to the same
//!   number. A statement that changes people or suppressions carries the epoch in which it was sent. It locks the row of its
//!   slot until the commit, and if the newest version of the row has another epoch, everything is rolled back.
//!
//! So a statement that was sent before such a change has no effect after it, whichever instance sent it and however long it
//! hung. A caller that repeats one reads the new epoch first, so it must know what its first attempt may have done:
//!
//! - A sign-up of an earlier epoch is not repeated. The instance only checks whether the address is listed, because the
//!   first attempt may have added the entry, and an erasure may have removed it. A correction is given up likewise.
//! - An erasure names the ids of sign-ups that it has seen. Its limit: one whose result its command reported as unknown may
//!   still run. It then also erases a person who has read since that the address is on the list, or has confirmed it.
//! - A suppression, and lifting one, are done again. Another change of the same address in between was made during the call.
//!
//! The key of the list changes only when a backup is restored into an empty list, which raises the epoch. A store reads the
//! key after the epoch, so it has the key of its epoch or a later one, and none of its statements adds a hash under an earlier
//! key.
//!
//! Deliveries have no epoch. The number of attempts protects each.
//!
//! | statements | late | repeated |
//! |---|---|---|
//! | `JOIN` | the epoch | the id of each sign-up |
//! | `ADD_FACT` | the epoch, and the times that the person had | the id that the first attempt found |
//! | `ERASE` | the epoch | the ids of the sign-ups |
//! | `CORRECT` | the epoch | the id of the sign-up, and the epoch of the first attempt |
//! | `SUPPRESS`, `LIFT`, `RECOUNT` | the epoch | they do the same again |
//! | those of `restore`, `STOP_EVENTS` | one transaction, and the list must be empty | the same |
//! | `ADD_MESSAGE` | the id of the message | the same |
//! | `ADD_DELIVERIES` | their numbers | the id of the addition |
//! | `BEGIN_DELIVERIES` | the number of the attempt, and the state | the id of the beginning |
//! | `FINISH_DELIVERIES` | the number of the attempt, and the state | the same |
//! | `RECORD_EVENTS` | the epoch | it does the same again |
//! | `TAKE_EVENTS` | a client that is gone has the events until its lease ends | the same client has them |
//! | `FINISH_EVENTS` | the numbers and ids of the events | the same |
//! | `CREATE_EVENTS` | what exists stays, and the trigger is created again | the same |
//! | `create_missing_slots` | what exists stays; the others have the epoch of the list, which they wait for | the same |
//! | `CREATE_LIST_KEY`, `RECORD_FORMAT` | what exists stays | the same |
//! | `TOUCH_SLOT`, `probe` | they change nothing | the same |
//!
//! All others only read, lock rows for a change that follows in the same transaction, or set up a session.
//!
//! A list of erased ids would not be enough. It does not stop a statement that read the list before the erasure. Nor
//! does it stop a statement of an instance that crashed, if the visitor then signed up through another instance. The
//! test modules `delayed_statements` and `interleaved_changes` delay each statement in turn, and change the list in between.
//!
//! The torture `conformance` checks another database that speaks this protocol, such as CockroachDB.

use std::time::Duration;

use uuid::Uuid;

use super::timeouts::{
    IDLE_CHANGE_TIMEOUT, IDLE_IN_TRANSACTION_TIMEOUT, LOCK_TIMEOUT, STATEMENT_TIMEOUT,
};

/// Returns the settings of each connection.
///
/// An acknowledged sign-up must be durable. `synchronous_commit = off` would lose it at the next crash, and `local`
/// when the standby takes over. The statement always sets it, because otherwise a session follows changes of the
/// server's setting. A policy that hides rows is an error: without the hidden suppressions, people who have left would come
/// back. Warnings are enabled because the server warns about a commit that did not wait for its standby,
/// see [`super::connector`].
pub(super) fn session() -> String {
    format!(
        "SET statement_timeout = {};
         {};
         SET row_security = off;
         SET client_min_messages = warning;
         SELECT set_config('synchronous_commit', CASE level WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE level END, false)
         FROM (SELECT current_setting('synchronous_commit', true) AS level) AS found
         WHERE level IS NOT NULL",
        STATEMENT_TIMEOUT.as_millis(),
        idle_in_transaction(IDLE_IN_TRANSACTION_TIMEOUT)
    )
}

/// Makes the statements of a session find the tables of the list in this schema, also if another schema of the search path
/// gets tables with the same names.
pub(super) fn use_schema(name: &str) -> String {
    let identifier = name.replace('"', "\"\"").replace('\'', "''");
    format!(
        "SELECT set_config('search_path', '\"{identifier}\", ' || current_setting('search_path'), false)"
    )
}

/// Limits the time that a transaction waits for its instance.
pub(super) fn idle_in_transaction(timeout: Duration) -> String {
    let millis = timeout.as_millis();
    format!("SET idle_in_transaction_session_timeout = {millis}")
}

/// Removes the statement timeout, for creating the tables and reading the list.
pub(super) const NO_STATEMENT_TIMEOUT: &str = "SET statement_timeout = 0";

/// Limits the time to wait for a lock.
pub(super) fn brief_locks() -> String {
    format!("SET lock_timeout = {}", LOCK_TIMEOUT.as_millis())
}

/// Reads the settings that can put the list at risk. A setting that the database does not have is NULL.
pub(super) const SETTINGS: &str = "SELECT
    current_setting('server_encoding', true),
    current_setting('fsync', true),
    current_setting('synchronous_commit', true),
    current_setting('landing.options', true)";

/// Returns the process id of a session.
pub(super) const SESSION_ID: &str = "SELECT pg_backend_pid()::bigint";

/// Returns the schemas in the search path that have a list.
pub(super) const FIND_SCHEMAS: &str = "
    SELECT schemaname::text FROM pg_catalog.pg_tables
    WHERE tablename = 'waitlist_migrations' AND schemaname = ANY (current_schemas(false))";

/// Returns the schema for new tables, or NULL if the search path has no schema that exists.
pub(super) const CURRENT_SCHEMA: &str = "SELECT current_schema()::text";

/// Adds entries and counts them in slot $1, in the epoch $2. Existing keys are left unchanged. Does not add the keys $10
/// whose hashes $11 are suppressed, and returns them in its last column. Lifts the suppressions with the hashes $12.
///
/// The row of the slot is updated even if no entry is new. Its commit then waits until everything that the statement
/// saw is durable, at the standby too. Only then may the server reply "already listed". If the row is missing or has
/// another epoch, the statement divides by zero (22012), which rolls it back.
pub(super) const JOIN: &str = "
    WITH suppressed AS (
        SELECT DISTINCT address.key
        FROM unnest($10::bytea[], $11::bytea[]) AS address (key, hash)
        JOIN waitlist_suppressed AS found ON found.hash = address.hash
    ), lifted AS (
        DELETE FROM waitlist_suppressed WHERE hash = ANY($12::bytea[])
    ), fresh AS (
        INSERT INTO waitlist_entries (key, email, joined_at, id, source, asked_at, confirmed_at)
        SELECT new.* FROM unnest($3::bytea[], $4::text[], $5::timestamptz[], $6::uuid[], $7::text[],
            $8::timestamptz[], $9::timestamptz[]) AS new (key, email, joined_at, id, source, asked_at, confirmed_at)
        WHERE new.key NOT IN (SELECT key FROM suppressed)
        ON CONFLICT (key) DO NOTHING
        RETURNING id
    ), counted AS (
        UPDATE waitlist_count SET entries = entries + (SELECT count(*) FROM fresh)
        WHERE slot = $1 AND epoch = $2
        RETURNING entries
    )
    SELECT
        (SELECT entries FROM counted),
        ARRAY(SELECT id FROM fresh),
        1 / (SELECT count(*) FROM counted),
        ARRAY(SELECT key FROM suppressed)";

/// Sets the times $5 and $6 when the person with the key $3 and the id $4 was asked to confirm, and has. Takes effect only if
/// the times are still $7 and $8, to the millisecond, lifts the suppression of the hash $9, and returns the id. The hash is
/// NULL of somebody who does not confirm. Late: other times are known, or slot $1 no longer has the epoch $2,
/// so it divides by zero like [`JOIN`], and is rolled back. Twice: it does nothing.
pub(super) const ADD_FACT: &str = "
    WITH recorded AS (
        UPDATE waitlist_entries SET asked_at = $5, confirmed_at = $6
        WHERE key = $3 AND id = $4
            AND date_trunc('milliseconds', asked_at) IS NOT DISTINCT FROM $7::timestamptz
            AND date_trunc('milliseconds', confirmed_at) IS NOT DISTINCT FROM $8::timestamptz
        RETURNING id
    ), lifted AS (
        DELETE FROM waitlist_suppressed WHERE hash = $9 AND EXISTS (SELECT FROM recorded)
    ), counted AS (
        UPDATE waitlist_count SET entries = entries WHERE slot = $1 AND epoch = $2
        RETURNING entries
    )
    SELECT
        (SELECT entries FROM counted),
        (SELECT id FROM recorded),
        1 / (SELECT count(*) FROM counted)";

/// Returns the entries with the keys $1, each with its key and the id of the sign-up.
pub(super) const FIND_LISTED: &str = "
    SELECT email, joined_at, source, asked_at, confirmed_at, key, id
    FROM waitlist_entries WHERE key = ANY($1::bytea[])";

/// Begins a transaction that waits for all others that change the list, and makes them wait. Then a statement sees
/// everything that they have changed. A single statement would wait, and see the list as it was before. It locks twice: while
/// the first one waits, missing rows may be created. If the instance is lost, the transaction ends soon.
pub(super) fn lock_list() -> String {
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED;
         SET LOCAL idle_in_transaction_session_timeout = {};
         {LOCK_SLOTS};
         {LOCK_SLOTS}",
        IDLE_CHANGE_TIMEOUT.as_millis()
    )
}

/// Locks the rows of the count. The order prevents deadlocks between instances.
pub(super) const LOCK_SLOTS: &str = "SELECT 1 FROM waitlist_count ORDER BY slot FOR UPDATE";

/// Builds a statement that changes the list, after [`lock_list`]. It takes effect only in the epoch $2 of the slot $1, and
/// raises the epochs of all slots to the same number. So a sign-up that was sent before has no effect, and neither has
/// this statement when it arrives late or twice: it divides by zero like [`JOIN`].
///
/// Its first part changes the other tables. `entries` is the new number of entries of a slot. `returning` is what it
/// returns after the entries and the epoch of the slot.
macro_rules! change_statement {
    ($with:literal, entries: $entries:literal, returning: $returning:literal) => {
        concat!(
            $with,
            "counted AS (
                UPDATE waitlist_count SET
                    epoch = greatest(epoch, (SELECT max(epoch) FROM waitlist_count)) + 1,
                    entries = ",
            $entries,
            "   WHERE slot <> $1 OR epoch = $2
                RETURNING slot, entries, epoch
            )
            SELECT
                (SELECT entries FROM counted WHERE slot = $1),
                (SELECT epoch FROM counted WHERE slot = $1),
                1 / (SELECT count(*) FROM counted WHERE slot = $1), ",
            $returning
        )
    };
}
pub(super) use change_statement;

/// Erases the sign-ups with the keys $3 and the ids $4, and returns the ids of those that it has erased: if $5 is a time,
/// only those that were added before it, and that have neither been confirmed nor asked to since. A person who was erased and
/// has signed up again has another id and stays.
///
/// Suppresses the hashes $7 of the keys $6, except those of people who have signed up again. Adds a departure for each
/// person that it erases: $8 has a new id for each key of $3, or none.
pub(super) const ERASE: &str = change_statement!(
    "WITH gone AS (
        DELETE FROM waitlist_entries
        WHERE key = ANY($3::bytea[]) AND id = ANY($4::uuid[])
            AND ($5::timestamptz IS NULL OR (
                joined_at < $5 AND confirmed_at IS NULL AND (asked_at IS NULL OR asked_at < $5)
            ))
        RETURNING id, key, source
    ), suppressed AS (
        INSERT INTO waitlist_suppressed (hash)
        SELECT new.hash FROM unnest($6::bytea[], $7::bytea[]) AS new (key, hash)
        WHERE NOT EXISTS (
            SELECT FROM waitlist_entries AS entry
            WHERE entry.key = new.key AND entry.id <> ALL($4::uuid[])
        )
        ON CONFLICT (hash) DO NOTHING
    ), departed AS (
        INSERT INTO waitlist_departures (id, source)
        SELECT new.id, gone.source
        FROM unnest($3::bytea[], $8::uuid[]) AS new (key, id) JOIN gone ON gone.key = new.key
        WHERE new.id IS NOT NULL
        ON CONFLICT (id) DO NOTHING
    ), ",
    entries: "entries - CASE WHEN slot = $1 THEN (SELECT count(*) FROM gone) ELSE 0 END",
    returning: "ARRAY(SELECT id FROM gone)"
);

/// Returns which of these sign-ups are listed, under whatever address. The ids have no index.
pub(super) const FIND_IDS: &str = "SELECT id FROM waitlist_entries WHERE id = ANY($1::uuid[])";

/// Gives the sign-up with key $5 and id $6 the key $3 and the address $4.
pub(super) const CORRECT: &str = change_statement!(
    "WITH corrected AS (
        UPDATE waitlist_entries SET key = $3, email = $4
        WHERE key = $5 AND id = $6
        RETURNING id
    ), ",
    entries: "entries",
    returning: "ARRAY(SELECT id FROM corrected)"
);

/// Suppresses the hashes $4 of those keys $3 that are not listed or await a confirmation, and returns the others. A sign-up
/// that is on its way does not see the suppression, but has no effect in the new epoch. The epoch also keeps a late
/// statement from adding a hash under an earlier key of the list.
pub(super) const SUPPRESS: &str = change_statement!(
    "WITH listed AS (
        SELECT key FROM waitlist_entries
        WHERE key = ANY($3::bytea[]) AND (confirmed_at IS NOT NULL OR asked_at IS NULL)
    ), suppressed AS (
        INSERT INTO waitlist_suppressed (hash)
        SELECT new.hash FROM unnest($3::bytea[], $4::bytea[]) AS new (key, hash)
        WHERE new.key NOT IN (SELECT key FROM listed)
        ON CONFLICT (hash) DO NOTHING
    ), ",
    entries: "entries",
    returning: "ARRAY(SELECT key FROM listed)"
);

/// Lifts the suppressions with the hashes $3. No suppression that was sent before comes after it.
pub(super) const LIFT: &str = change_statement!(
    "WITH lifted AS (
        DELETE FROM waitlist_suppressed WHERE hash = ANY($3::bytea[])
    ), ",
    entries: "entries",
    returning: "NULL"
);

/// Counts the entries, in slot $1. Returns the difference.
pub(super) const RECOUNT: &str = change_statement!(
    "WITH ",
    entries: "CASE WHEN slot = $1 THEN (SELECT count(*) FROM waitlist_entries) ELSE 0 END",
    returning: "(SELECT sum(entries) FROM counted)::bigint
        - (SELECT coalesce(sum(entries), 0) FROM waitlist_count)::bigint"
);

/// Reads a slot by writing to it. It is the first statement on the connection of sign-ups, and of each operation that
/// changes the list. Its commit waits until all earlier commits are durable, at the standby too: an earlier commit may have
/// lost its connection during that wait, and be visible already. Late: it changes nothing.
pub(super) const TOUCH_SLOT: &str = "
    UPDATE waitlist_count SET entries = entries WHERE slot = $1
    RETURNING entries, epoch";

/// Reads all slots of the count.
pub(super) const READ_SLOTS: &str = "SELECT slot, entries FROM waitlist_count";

/// Returns statements that insert entries, roll that back, and commit a write that changes nothing.
///
/// They fail whenever a sign-up would fail: if a table is locked, the user may not insert, the disk is full, or the
/// standby that a commit waits for is missing. The effects of a trigger are rolled back too. No address has such a key.
/// Late: they change nothing.
///
/// The address of each entry begins with `width` bytes of filler text.
pub(super) fn probe(slot: i64, entries: usize, width: usize, id: Uuid) -> String {
    let key = format!("00{}", id.simple());
    format!(
        "BEGIN;
         INSERT INTO waitlist_entries (key, email, joined_at, id, source, asked_at, confirmed_at)
         SELECT decode('{key}' || lpad(to_hex(n), 4, '0'), 'hex'), 
             repeat('x', {width}) || 'probe@landing.invalid', now(), '{id}', NULL, NULL, NULL
         FROM generate_series(1, {entries}) AS n
         ON CONFLICT (key) DO NOTHING;
         DELETE FROM waitlist_suppressed WHERE hash = decode('{key}', 'hex');
         ROLLBACK;
         UPDATE waitlist_count SET entries = entries WHERE slot = {slot}"
    )
}

/// Returns all departures.
pub(super) const READ_DEPARTURES: &str = "SELECT id, source FROM waitlist_departures";

/// Creates the key of the list, $1, unless there is one. Late or twice: it does nothing.
pub(super) const CREATE_LIST_KEY: &str = "
    INSERT INTO waitlist_key (id, key) VALUES (0, $1) ON CONFLICT (id) DO NOTHING";

/// Returns the key of the list.
pub(super) const READ_LIST_KEY: &str = "SELECT key FROM waitlist_key";

/// Returns the hashes of all suppressed addresses.
pub(super) const READ_SUPPRESSED: &str = "SELECT hash FROM waitlist_suppressed";

/// Returns whether the hash $1 is suppressed.
pub(super) const IS_SUPPRESSED: &str = "
    SELECT EXISTS (SELECT 1 FROM waitlist_suppressed WHERE hash = $1::bytea)";
