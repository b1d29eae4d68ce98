//! The statements about suppressed addresses. Those for sign-ups are in `sql`, because they add entries too.

/// Like [`ERASE`](super::sql::ERASE), and suppresses the hashes $6, with the new keys $5. It adds a departure for each
/// person that it erases: $7 has a new id for each key of $1. It takes effect only in the epoch $4. Late: it divides by
/// zero, so it does not suppress a person who has signed up again. Twice: the second time it has another epoch.
///
/// The suppressions are added after the slots are locked. Then all sign-ups of this epoch are committed, and no
/// suppression that one of them lifts is mistaken for an existing one.
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
    ), keyed AS (
        INSERT INTO {schema}.waitlist_keys (key)
        SELECT key FROM unnest($5::bytea[]) AS new (key) WHERE (SELECT count(*) FROM counted) > 0
        ON CONFLICT (key) DO NOTHING
    ), suppressed AS (
        INSERT INTO {schema}.waitlist_suppressed (hash)
        SELECT hash FROM unnest($6::bytea[]) AS new (hash) WHERE (SELECT count(*) FROM counted) > 0
        ON CONFLICT (hash) DO NOTHING
    ), departed AS (
        INSERT INTO {schema}.waitlist_departures (id, source)
        SELECT new.id, gone.source
        FROM unnest($1::bytea[], $7::uuid[]) AS new (key, id) JOIN gone ON gone.key = new.key
        WHERE (SELECT count(*) FROM counted) > 0
        ON CONFLICT (id) DO NOTHING
    )
    SELECT
        (SELECT entries FROM counted WHERE slot = $3),
        (SELECT epoch FROM counted WHERE slot = $3),
        ARRAY(SELECT id FROM gone),
        1 / (SELECT count(*) FROM counted WHERE slot = $3)";

/// Adds the departures with the ids $1 and the sources $2. Late or twice: it adds those that are still missing.
pub(super) const ADD_DEPARTURES: &str = "
    INSERT INTO {schema}.waitlist_departures (id, source)
    SELECT id, source FROM unnest($1::uuid[], $2::text[]) AS new (id, source)
    ON CONFLICT (id) DO NOTHING";

/// Returns all departures.
pub(super) const READ_DEPARTURES: &str = "SELECT id, source FROM {schema}.waitlist_departures";

/// Lifts the suppressions with the hashes $2 of those keys $1 that are listed and await no confirmation. Late, after a person was suppressed:
/// slot $3 no longer has the epoch $4, so it divides by zero like [`JOIN`](super::sql::JOIN).
pub(super) const LIFT_LISTED: &str = "
    WITH lifted AS (
        DELETE FROM {schema}.waitlist_suppressed WHERE hash IN (
            SELECT address.hash
            FROM unnest($1::bytea[], $2::bytea[]) AS address (key, hash)
            JOIN {schema}.waitlist_entries AS entry ON entry.key = address.key
            WHERE EXISTS (SELECT FROM {schema}.waitlist_facts WHERE key = entry.key AND kind = 'confirmed')
                OR NOT EXISTS (SELECT FROM {schema}.waitlist_facts WHERE key = entry.key AND kind = 'asked')
        )
    ), counted AS (
        UPDATE {schema}.waitlist_count SET entries = entries WHERE slot = $3 AND epoch = $4
        RETURNING entries
    )
    SELECT
        (SELECT entries FROM counted),
        '{}'::uuid[],
        1 / (SELECT count(*) FROM counted)";

/// Returns the keys of the suppressions. The first one is for new suppressions.
pub(super) const READ_LIST_KEYS: &str =
    "SELECT key FROM {schema}.waitlist_keys ORDER BY created_at, key";

/// Returns the hashes of all suppressed addresses.
pub(super) const READ_SUPPRESSED: &str = "SELECT hash FROM {schema}.waitlist_suppressed";

/// Returns whether one of these hashes is suppressed.
pub(super) const IS_SUPPRESSED: &str = "
    SELECT EXISTS (SELECT 1 FROM {schema}.waitlist_suppressed WHERE hash = ANY($1::bytea[]))";
