//! The statements about suppressed addresses and the key of their hashes. That for sign-ups is in `sql`, because it adds
//! entries too.

/// Like [`ERASE`](super::sql::ERASE), and suppresses the hashes $6 of the keys $5. It adds a departure for each person
/// that it erases: $7 has a new id for each key of $1. It must run after [`LOCK_LIST`](super::sql::LOCK_LIST). It takes effect
/// only in the epoch $4, and raises it. Late or twice: it divides by zero. Late in the same epoch: a person who has signed up
/// since has another id, stays listed, and is not suppressed.
pub(super) const ERASE_AND_SUPPRESS: &str = "
    WITH gone AS (
        DELETE FROM {schema}.waitlist_entries
        WHERE key = ANY($1::bytea[]) AND id = ANY($2::uuid[])
        RETURNING id, key, source
    ), counted AS (
        UPDATE {schema}.waitlist_count SET
            epoch = greatest(epoch, (SELECT max(epoch) FROM {schema}.waitlist_count)) + 1,
            entries = entries - CASE WHEN slot = $3 THEN (SELECT count(*) FROM gone) ELSE 0 END
        WHERE epoch = $4
        RETURNING slot, entries, epoch
    ), suppressed AS (
        INSERT INTO {schema}.waitlist_suppressed (hash)
        SELECT new.hash FROM unnest($5::bytea[], $6::bytea[]) AS new (key, hash)
        WHERE NOT EXISTS (
            SELECT FROM {schema}.waitlist_entries AS entry
            WHERE entry.key = new.key AND entry.id <> ALL($2::uuid[])
        )
        ON CONFLICT (hash) DO NOTHING
    ), departed AS (
        INSERT INTO {schema}.waitlist_departures (id, source)
        SELECT new.id, gone.source
        FROM unnest($1::bytea[], $7::uuid[]) AS new (key, id) JOIN gone ON gone.key = new.key
        ON CONFLICT (id) DO NOTHING
    )
    SELECT
        (SELECT entries FROM counted WHERE slot = $3),
        (SELECT epoch FROM counted WHERE slot = $3),
        ARRAY(SELECT id FROM gone),
        1 / (SELECT count(*) FROM counted WHERE slot = $3)";

/// Suppresses the hashes $2 of those keys $1 that are not listed or await a confirmation, and returns the others. It must
/// run after [`LOCK_LIST`](super::sql::LOCK_LIST). It takes effect only in the epoch $4, and raises it, because a sign-up
/// that is on its way does not see the suppression. Late or twice: it divides by zero, so it neither undoes a
/// [`LIFT`] nor adds a hash under an earlier key of the list.
pub(super) const SUPPRESS: &str = "
    WITH listed AS (
        SELECT key FROM {schema}.waitlist_entries AS entry
        WHERE key = ANY($1::bytea[]) AND (
            EXISTS (SELECT FROM {schema}.waitlist_facts WHERE key = entry.key AND kind = 'confirmed')
            OR NOT EXISTS (SELECT FROM {schema}.waitlist_facts WHERE key = entry.key AND kind = 'asked')
        )
    ), suppressed AS (
        INSERT INTO {schema}.waitlist_suppressed (hash)
        SELECT new.hash FROM unnest($1::bytea[], $2::bytea[]) AS new (key, hash)
        WHERE new.key NOT IN (SELECT key FROM listed)
        ON CONFLICT (hash) DO NOTHING
    ), counted AS (
        UPDATE {schema}.waitlist_count SET
            epoch = greatest(epoch, (SELECT max(epoch) FROM {schema}.waitlist_count)) + 1
        WHERE epoch = $4
        RETURNING slot, entries, epoch
    )
    SELECT
        (SELECT entries FROM counted WHERE slot = $3),
        (SELECT epoch FROM counted WHERE slot = $3),
        ARRAY(SELECT key FROM listed),
        1 / (SELECT count(*) FROM counted WHERE slot = $3)";

/// Lifts the suppressions with the hashes $1. It takes effect only in the epoch $3, and raises it, so that no suppression
/// that was sent before comes after it. Late or twice: it divides by zero.
pub(super) const LIFT: &str = "
    WITH lifted AS (
        DELETE FROM {schema}.waitlist_suppressed WHERE hash = ANY($1::bytea[])
    ), counted AS (
        UPDATE {schema}.waitlist_count SET
            epoch = greatest(epoch, (SELECT max(epoch) FROM {schema}.waitlist_count)) + 1
        WHERE epoch = $3
        RETURNING slot, entries, epoch
    )
    SELECT
        (SELECT entries FROM counted WHERE slot = $2),
        (SELECT epoch FROM counted WHERE slot = $2),
        '{}'::uuid[],
        1 / (SELECT count(*) FROM counted WHERE slot = $2)";

/// Returns all departures.
pub(super) const READ_DEPARTURES: &str = "SELECT id, source FROM {schema}.waitlist_departures";

/// Creates the key of the list, $1, unless there is one. Late or twice: it does nothing.
pub(super) const CREATE_KEY: &str = "
    INSERT INTO {schema}.waitlist_key (id, key) VALUES (0, $1) ON CONFLICT (id) DO NOTHING";

/// Returns the key of the list.
pub(super) const READ_KEY: &str = "SELECT key FROM {schema}.waitlist_key";

/// Returns the hashes of all suppressed addresses.
pub(super) const READ_SUPPRESSED: &str = "SELECT hash FROM {schema}.waitlist_suppressed";

/// Returns whether the hash $1 is suppressed.
pub(super) const IS_SUPPRESSED: &str = "
    SELECT EXISTS (SELECT 1 FROM {schema}.waitlist_suppressed WHERE hash = $1::bytea)";
