//! The statements about the people on the list and about their count, and the settings of a connection. Those about the
//! ledger and the suppressions are in `ledger_sql` and `suppression_sql`. Those of the migrations, of a restore and of
//! reading the whole list are in `migrations`, `restore` and `entries`.
//!
//! **Every statement is harmless when it arrives late, or twice.** A statement can hang in a backend or in the network.
//! It can be repeated on another connection, and run long after another client has changed the list. Two mechanisms
//! make this safe:
//!
//! - Each sign-up has an id. A repeated sign-up keeps its id, and an erasure names ids, not only addresses.
//! - Each slot of the count has an epoch. A statement that adds entries carries an epoch, and takes effect only while
//!   its slot has that epoch. An erasure raises the epochs of all slots, which are equal. The slot is compared last, in
//!   the same transaction and in its newest version, so no erasure can come in between.
//!
//! Suppressions rely on the epochs too. A statement that suppresses people, or lifts that, takes effect only in its epoch,
//! and raises all epochs like an erasure. So none of them undoes a later one. The key of the list changes only when a
//! backup is restored into an empty list, which raises the epoch. A store reads the key after the epoch, so it has the
//! key of its epoch or a later one, and none of its statements adds a hash under an earlier key.
//!
//! So a statement that was sent before an erasure never adds the erased person again, whichever instance sent it and
//! however long it hung. If the epoch has changed before an instance repeats a sign-up, it only checks whether the
//! address is listed, because the first attempt may have added the entry and an erasure may have removed it.
//!
//! The same holds for deliveries, whose number of attempts is what epochs are for sign-ups. So this is what makes each
//! statement harmless late, twice and lost:
//!
//! | statements | what makes them harmless |
//! |---|---|
//! | `JOIN` | the id of each sign-up, and the epoch |
//! | `ADD_FACTS` | the id of each fact, and the epoch |
//! | `ERASE`, `ERASE_UNCONFIRMED` | the ids of the sign-ups |
//! | `SUPPRESS`, `LIFT`, `CORRECT` | the epoch, which each of them raises |
//! | `ERASE_AND_SUPPRESS` | the same, and the ids of the sign-ups |
//! | those of `restore` | one transaction, and the list must be empty |
//! | `GUARD_COUNT`, `CORRECT_COUNT` | the epoch |
//! | `ADD_MESSAGE` | the id of the message |
//! | `ADD_DELIVERIES` | their numbers, and the id of the addition |
//! | `BEGIN_DELIVERIES`, `FINISH_DELIVERIES` | the number of the attempt, and the id of the beginning |
//! | `CREATE_MISSING_SLOTS`, `CREATE_KEY`, `CREATE_MIGRATIONS`, `RECORD_MIGRATION`, `MIGRATIONS` | they do nothing if it exists |
//! | `READ_SLOT`, `probe` | they change nothing |
//!
//! All others only read, or set up a session.
//!
//! A list of erased ids would not be enough. It does not stop a statement that read the list before the erasure. Nor
//! does it stop a statement of an instance that crashed, if the visitor then signed up through another instance. The
//! test module `delayed_statements` delays each statement in turn.
//!
//! The torture `conformance` checks another database that speaks this protocol, such as CockroachDB.

use std::time::Duration;

use uuid::Uuid;

use super::timeouts::{IDLE_IN_TRANSACTION_TIMEOUT, STATEMENT_TIMEOUT};

/// Returns the settings of each connection.
///
/// An acknowledged sign-up must be durable. `synchronous_commit = off` would lose it at the next crash, and `local`
/// when the standby takes over. The statement always sets it, because otherwise a session follows changes of the
/// server's setting. Warnings are enabled because the server warns about a commit that did not wait for its standby,
/// see [`super::connector`].
pub(super) fn session() -> String {
    format!(
        "SET statement_timeout = {};
         {};
         SET client_min_messages = warning;
         SELECT set_config('synchronous_commit', CASE level WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE level END, false)
         FROM (SELECT current_setting('synchronous_commit', true) AS level) AS found
         WHERE level IS NOT NULL",
        STATEMENT_TIMEOUT.as_millis(),
        idle_in_transaction(IDLE_IN_TRANSACTION_TIMEOUT)
    )
}

/// Limits the time that a transaction waits for its instance.
pub(super) fn idle_in_transaction(timeout: Duration) -> String {
    let millis = timeout.as_millis();
    format!("SET idle_in_transaction_session_timeout = {millis}")
}

/// Removes the statement timeout, for migrations, a recount and reading the list.
pub(super) const NO_STATEMENT_TIMEOUT: &str = "SET statement_timeout = 0";

/// Limits the time to wait for a lock, for everything but sign-ups: some statements lock rows which all instances need. While such a
/// statement waits for a lock, all instances wait for it. So it waits briefly and is repeated.
pub(super) const BRIEF_LOCKS: &str = "SET lock_timeout = 500";

/// Reads the settings that can put the list at risk. A setting that the database does not have is NULL.
pub(super) const SETTINGS: &str = "SELECT
    current_setting('server_encoding', true),
    current_setting('fsync', true),
    current_setting('synchronous_commit', true)";

/// Marks the session of a connection with $1, see [`super::open`]. Returns the process id of the session.
pub(super) const SET_SESSION_MARKER: &str =
    "SELECT pg_backend_pid()::bigint, set_config('landing.session', $1, false)";

/// Returns the process id of a session, and its marker.
pub(super) const SESSION_MARKER: &str =
    "SELECT pg_backend_pid()::bigint, current_setting('landing.session', true)";

/// Returns the schemas in the search path that have a list.
pub(super) const FIND_SCHEMAS: &str = "
    SELECT schemaname::text FROM pg_catalog.pg_tables
    WHERE tablename = 'waitlist_migrations' AND schemaname = ANY (current_schemas(false))";

/// Returns the schema for new tables, or NULL if the search path has no schema that exists.
pub(super) const CURRENT_SCHEMA: &str = "SELECT current_schema()::text";

/// Creates the missing rows of the count, with the epoch of the others. Late or twice: it does nothing.
pub(super) const CREATE_MISSING_SLOTS: &str = "
    INSERT INTO {schema}.waitlist_count (slot, entries, epoch)
    SELECT slot, 0, coalesce(
        (SELECT max(epoch) FROM {schema}.waitlist_count),
        (1000 * extract(epoch FROM now()))::bigint
    )
    FROM generate_series(0, 63) AS slot
    ON CONFLICT (slot) DO NOTHING";

/// Returns the number of rows of the count.
pub(super) const COUNT_SLOTS: &str = "SELECT count(*) FROM {schema}.waitlist_count";

/// Adds entries and counts them in slot $5, with epoch $6. Existing keys are left unchanged. Records facts about the new
/// entries: $8 are the ids of the entries, $9 those of the facts, $10 their kinds and $11 their times. Does not add the
/// keys $12 whose hashes $13 are suppressed, and returns them in its last column. Lifts the suppressions with the hashes
/// $14.
///
/// The row of the slot is updated even if no entry is new. Its commit then waits until everything that the statement
/// saw is durable, at the standby too. Only then may the server reply "already listed". If the row is missing or has
/// another epoch, the statement divides by zero (22012), which rolls it back.
pub(super) const JOIN: &str = "
    WITH suppressed AS (
        SELECT DISTINCT address.key
        FROM unnest($12::bytea[], $13::bytea[]) AS address (key, hash)
        JOIN {schema}.waitlist_suppressed AS found ON found.hash = address.hash
    ), lifted AS (
        DELETE FROM {schema}.waitlist_suppressed WHERE hash = ANY($14::bytea[])
    ), fresh AS (
        INSERT INTO {schema}.waitlist_entries (key, email, joined_at, id, source)
        SELECT * FROM unnest($1::bytea[], $2::text[], $3::timestamptz[], $4::uuid[], $7::text[])
            AS new (key, email, joined_at, id, source)
        WHERE new.key NOT IN (SELECT key FROM suppressed)
        ON CONFLICT (key) DO NOTHING
        RETURNING key, id
    ), recorded AS (
        INSERT INTO {schema}.waitlist_facts (key, id, kind, at)
        SELECT fresh.key, fact.id, fact.kind, fact.at
        FROM unnest($8::uuid[], $9::uuid[], $10::text[], $11::timestamptz[]) AS fact (entry, id, kind, at)
        JOIN fresh ON fresh.id = fact.entry
    ), counted AS (
        UPDATE {schema}.waitlist_count SET entries = entries + (SELECT count(*) FROM fresh)
        WHERE slot = $5 AND epoch = $6
        RETURNING entries
    )
    SELECT
        (SELECT entries FROM counted),
        ARRAY(SELECT id FROM fresh),
        1 / (SELECT count(*) FROM counted),
        ARRAY(SELECT key FROM suppressed)";

/// Records facts about the sign-ups with keys $1 and ids $2: their ids $3, kinds $4 and times $5. Twice: it does
/// nothing, because the ids exist. Late, after an erasure: slot $6 no longer has the epoch $7, so it divides by zero
/// like [`JOIN`], and is rolled back. Lifts the suppressions with the hashes $8, of those who confirm.
pub(super) const ADD_FACTS: &str = "
    WITH recorded AS (
        INSERT INTO {schema}.waitlist_facts (key, id, kind, at)
        SELECT entry.key, fact.id, fact.kind, fact.at
        FROM unnest($1::bytea[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[])
            AS fact (key, entry, id, kind, at)
        JOIN {schema}.waitlist_entries AS entry ON entry.key = fact.key AND entry.id = fact.entry
        ON CONFLICT (key, id) DO NOTHING
        RETURNING id
    ), lifted AS (
        DELETE FROM {schema}.waitlist_suppressed WHERE hash = ANY($8::bytea[])
    ), counted AS (
        UPDATE {schema}.waitlist_count SET entries = entries WHERE slot = $6 AND epoch = $7
        RETURNING entries
    )
    SELECT
        (SELECT entries FROM counted),
        ARRAY(SELECT id FROM recorded),
        1 / (SELECT count(*) FROM counted)";

/// Returns the entry with key $1, with the times when the person was asked to confirm, and has, or NULL.
pub(super) const FIND_PERSON: &str = "
    SELECT email, joined_at, source,
        (SELECT at FROM {schema}.waitlist_facts WHERE key = $1 AND kind = 'asked' ORDER BY id DESC LIMIT 1),
        (SELECT at FROM {schema}.waitlist_facts WHERE key = $1 AND kind = 'confirmed' ORDER BY id DESC LIMIT 1)
    FROM {schema}.waitlist_entries WHERE key = $1";

/// The kind of the fact that a person is asked to confirm the address.
pub(super) const ASKED: &str = "asked";

/// The kind of the fact that an address was confirmed.
pub(super) const CONFIRMED: &str = "confirmed";

/// Returns which of these addresses are listed, with the id of their sign-up.
pub(super) const FIND_LISTED: &str =
    "SELECT key, id FROM {schema}.waitlist_entries WHERE key = ANY($1::bytea[])";

/// Builds [`ERASE`] with an additional condition for the entries.
macro_rules! erase_statement {
    ($condition:literal) => {
        concat!(
            "WITH gone AS (
                DELETE FROM {schema}.waitlist_entries AS entry
                WHERE key = ANY($1::bytea[]) AND id = ANY($2::uuid[])",
            $condition,
            " RETURNING id
            ), counted AS (
                UPDATE {schema}.waitlist_count SET
                    epoch = greatest(epoch, (SELECT max(epoch) FROM {schema}.waitlist_count)) + 1,
                    entries = entries - CASE WHEN slot = $3 THEN (SELECT count(*) FROM gone) ELSE 0 END
                RETURNING slot, entries, epoch
            )
            SELECT
                (SELECT entries FROM counted WHERE slot = $3),
                (SELECT epoch FROM counted WHERE slot = $3),
                ARRAY(SELECT id FROM gone),
                1 / (SELECT count(*) FROM counted WHERE slot = $3)"
        )
    };
}

/// Erases sign-ups, subtracts them in slot $3, and raises the epochs of all slots to the same number. Late: a person
/// who has signed up again has another id and stays. If the slot is missing, it divides by zero like [`JOIN`].
pub(super) const ERASE: &str = erase_statement!("");

/// Begins a transaction that waits for all others that change the list, and makes them wait. Then a statement sees
/// everything that they have changed. A single statement would wait, and see the list as it was before. If the instance
/// is lost, the transaction ends soon.
pub(super) const LOCK_LIST: &str = "
    BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL idle_in_transaction_session_timeout = 3000;
    SELECT 1 FROM {schema}.waitlist_count ORDER BY slot FOR UPDATE";

/// Like [`ERASE`], but only those sign-ups that were added before $4, and that have neither been confirmed nor asked to
/// since. It must run after [`LOCK_LIST`].
pub(super) const ERASE_UNCONFIRMED: &str = erase_statement!(
    " AND joined_at < $4 AND NOT EXISTS (
        SELECT FROM {schema}.waitlist_facts AS fact
        WHERE fact.key = entry.key AND (fact.kind = 'confirmed' OR fact.kind = 'asked' AND fact.at >= $4)
    )"
);

/// Returns which of these sign-ups are listed, under whatever address. The ids have no index.
pub(super) const FIND_IDS: &str =
    "SELECT id FROM {schema}.waitlist_entries WHERE id = ANY($1::uuid[])";

/// Gives the sign-up with key $3 and id $4 the key $1 and the address $2, and raises the epochs of all slots like
/// [`ERASE`]. So a sign-up that was sent before never adds the old address again. It takes effect only in the epoch $6.
/// Late or twice: it divides by zero, so it does not undo a later correction.
pub(super) const CORRECT: &str = "
    WITH corrected AS (
        UPDATE {schema}.waitlist_entries SET key = $1, email = $2
        WHERE key = $3 AND id = $4
        RETURNING id
    ), counted AS (
        UPDATE {schema}.waitlist_count SET
            epoch = greatest(epoch, (SELECT max(epoch) FROM {schema}.waitlist_count)) + 1
        WHERE epoch = $6
        RETURNING slot, entries, epoch
    )
    SELECT
        (SELECT entries FROM counted WHERE slot = $5),
        (SELECT epoch FROM counted WHERE slot = $5),
        ARRAY(SELECT id FROM corrected),
        1 / (SELECT count(*) FROM counted WHERE slot = $5)";

/// Reads a slot by writing to it. It is the first statement on the connection of sign-ups, and of each operation that changes the list. Its commit waits until all
/// earlier commits are durable, at the standby too: an earlier commit may have lost its connection during that wait,
/// and be visible already. Late: it changes nothing.
pub(super) const READ_SLOT: &str = "
    UPDATE {schema}.waitlist_count SET entries = entries WHERE slot = $1
    RETURNING entries, epoch";

/// Reads all slots of the count.
pub(super) const READ_SLOTS: &str = "SELECT slot, entries FROM {schema}.waitlist_count";

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
         INSERT INTO {{schema}}.waitlist_entries (key, email, joined_at, id)
         SELECT decode('{key}' || lpad(to_hex(n), 4, '0'), 'hex'), 
             repeat('x', {width}) || 'probe@landing.invalid', now(), '{id}'
         FROM generate_series(1, {entries}) AS n
         ON CONFLICT (key) DO NOTHING;
         ROLLBACK;
         UPDATE {{schema}}.waitlist_count SET entries = entries WHERE slot = {slot}"
    )
}

/// Returns the number of entries by the count, and the actual number. A single statement reads both at the same moment.
pub(super) const RECOUNT: &str = "
    SELECT
        (SELECT coalesce(sum(entries), 0)::bigint FROM {schema}.waitlist_count),
        (SELECT count(*) FROM {schema}.waitlist_entries)";

/// Raises all epochs, so that only one of several corrections is applied.
pub(super) const GUARD_COUNT: &str = "
    UPDATE {schema}.waitlist_count
    SET epoch = greatest(epoch, (SELECT max(epoch) FROM {schema}.waitlist_count)) + 1
    RETURNING slot, epoch";

/// Adds $1 to slot $2 with epoch $3. Late: it has no effect after the next [`GUARD_COUNT`].
pub(super) const CORRECT_COUNT: &str = "
    UPDATE {schema}.waitlist_count SET entries = entries + $1 WHERE slot = $2 AND epoch = $3
    RETURNING slot";

/// The schema of the list, quoted. Statements name it, so that a change of the search path cannot substitute a table of
/// another schema.
#[derive(Clone, Debug)]
pub(super) struct Schema(String);

impl Schema {
    /// Quotes the name of a schema.
    pub(super) fn new(name: &str) -> Self {
        Self(format!("\"{}\"", name.replace('"', "\"\"")))
    }

    /// Inserts the schema into a statement.
    pub(super) fn qualify(&self, statement: &str) -> String {
        statement.replace("{schema}", &self.0)
    }
}
