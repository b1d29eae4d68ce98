//! The migrations: the statements that create the tables, and update those of earlier versions.

/// Number of rows in `waitlist_count`. Instances may share a row.
pub(super) const SLOTS: i64 = 64;

/// The migrations. Each one updates the list from the format before it, with statements that do nothing when they are
/// repeated. Never edit a released migration. Instances of older versions keep running during a migration.
pub(super) const MIGRATIONS: [&[&str]; 6] = [
    &[
        // key: the form that all spellings of an address share. It is in bytes, because the order of text depends on
        // the machine and changes with its updates.
        // email: the address as typed.
        // joined_at: when the sign-up reached its server, to the millisecond.
        // id: the id of the sign-up, a UUID of version 7 (RFC 9562). By it, an instance recognises its own sign-ups,
        // and sign-ups of the same millisecond keep their order.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_entries (
            key bytea PRIMARY KEY,
            email text NOT NULL,
            joined_at timestamptz NOT NULL,
            id uuid NOT NULL
        )",
        // With ASC, YugabyteDB sorts the index by time instead of distributing it by a hash.
        "CREATE INDEX IF NOT EXISTS waitlist_entries_by_time
            ON {schema}.waitlist_entries (joined_at ASC, id ASC)",
        // The number of entries is the sum of these rows. With a single row, each instance would wait until the
        // sign-ups of the other instances are on the disk.
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
    &[
        // source: where the person came from, or NULL.
        "ALTER TABLE {schema}.waitlist_entries ADD COLUMN IF NOT EXISTS source text",
        // What became known about an entry after the sign-up. Rows are added, and never updated.
        // id: the id of the fact, a UUID of version 7. Of the facts of a kind, the one with the highest id counts.
        // kind: `asked` or `confirmed`.
        // at: when it happened.
        // The foreign key removes the facts with their entry, also when an instance of an older version erases it.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_facts (
            key bytea NOT NULL REFERENCES {schema}.waitlist_entries (key) ON DELETE CASCADE ON UPDATE CASCADE,
            id uuid NOT NULL,
            kind text NOT NULL,
            at timestamptz NOT NULL,
            PRIMARY KEY (key, id)
        )",
    ],
    &[
        // The key of the hashes, in a single row. It is created with the list.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_key (
            id bigint PRIMARY KEY,
            key bytea NOT NULL
        )",
        // hash: the first 16 bytes of the HMAC-SHA-256 of an address, in the form that all its spellings share.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_suppressed (
            hash bytea PRIMARY KEY
        )",
        // The messages to the people on the list.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_messages (
            id text PRIMARY KEY,
            begun_at timestamptz NOT NULL,
            subject text NOT NULL
        )",
        // number: from 0, in each message. recipient: the hash of the address, as in `waitlist_suppressed`. state:
        // `waiting`, `sending`, `accepted`, `deferred`, `refused`, `unknown` or `skipped`. since: when it got into this
        // state. code, reply: what the mail server replied. added_by, begun_by: the ids of the requests that have
        // added it, and begun it last. By them, a client recognizes its own changes after it has lost the response.
        // leased_until: when a delivery that has begun becomes unknown.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_deliveries (
            message text NOT NULL REFERENCES {schema}.waitlist_messages (id),
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
    ],
    &[
        // Somebody has left. id: a UUID of version 4. source: where the person came from, or NULL.
        "CREATE TABLE IF NOT EXISTS {schema}.waitlist_departures (
            id uuid PRIMARY KEY,
            source text
        )",
    ],
    &[
        // text_digest: the SHA-256 of the text in Markdown, or NULL.
        "ALTER TABLE {schema}.waitlist_messages ADD COLUMN IF NOT EXISTS text_digest bytea",
    ],
];

/// The migration after which the list must have its key.
pub(super) const KEY_MIGRATION: usize = 3;

/// Creates the table of the migrations that are done.
pub(super) const CREATE_MIGRATIONS: &str = "
    CREATE TABLE IF NOT EXISTS {schema}.waitlist_migrations (
        version bigint PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
    )";

/// Returns the number of the last migration.
pub(super) const READ_FORMAT: &str = "SELECT max(version) FROM {schema}.waitlist_migrations";

/// Records a migration. Late or twice: it does nothing.
pub(super) const RECORD_MIGRATION: &str = "
    INSERT INTO {schema}.waitlist_migrations (version) VALUES ($1) ON CONFLICT (version) DO NOTHING";
