//! The events of a list in a database. A trigger records them, in the transaction of the change and whoever makes it. The
//! tables and the trigger are created when the first server with a webhook starts.

use std::time::SystemTime;

use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    super::{
        email::Email,
        entry::Source,
        error::StoreError,
        event::{EVENT_LEASE, Event, PendingEvents},
        store::CALL_MAX,
    },
    error::Failure,
    pool::{Pool, change},
    rows::{get, truncate_to_millis},
    sql::change_statement,
};

/// Creates the tables and the trigger, in one transaction: PostgreSQL can do that.
///
/// `waitlist_webhook` has one row while events are recorded: `holder` is the process that has the events, until
/// `leased_until`. `waitlist_events` has the events, in the order of `number` for each person: the second change of a
/// person waits for the first one, so its number is higher.
///
/// These statements run only if there is no trigger of this name. So a change of the function needs another name for both, and
/// must drop the old trigger, or each change would be recorded twice.
///
/// The trigger runs with the rights of its creator, so that a user who may only change people records events too. It looks for
/// tables in the schema of the list alone: temporary ones, which come first by default, are that user's.
const CREATE_EVENTS: &str = "
    LOCK TABLE waitlist_entries IN SHARE ROW EXCLUSIVE MODE;
    SELECT set_config('search_path', relnamespace::regnamespace || ', pg_temp', true)
    FROM pg_catalog.pg_class WHERE oid = 'waitlist_entries'::regclass;
    CREATE TABLE IF NOT EXISTS waitlist_webhook (
        id bigint PRIMARY KEY,
        holder uuid,
        leased_until timestamptz NOT NULL
    );
    CREATE TABLE IF NOT EXISTS waitlist_events (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id uuid NOT NULL DEFAULT gen_random_uuid(),
        kind text NOT NULL,
        key text NOT NULL,
        email text NOT NULL,
        source text,
        at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX IF NOT EXISTS waitlist_events_key ON waitlist_events (key, number);
    CREATE OR REPLACE FUNCTION waitlist_record_events() RETURNS trigger
        LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    DECLARE
        -- Of somebody who joins, OLD is NULL, and of somebody who leaves, NEW is.
        is_other boolean := OLD.key IS DISTINCT FROM NEW.key;
    BEGIN
        IF NOT EXISTS (SELECT FROM waitlist_webhook) THEN
            RETURN NULL;
        END IF;
        IF is_other AND OLD.key IS NOT NULL THEN
            INSERT INTO waitlist_events (kind, key, email, source)
            VALUES ('left', OLD.key, OLD.email, OLD.source);
        END IF;
        IF is_other AND NEW.key IS NOT NULL THEN
            INSERT INTO waitlist_events (kind, key, email, source)
            VALUES ('joined', NEW.key, NEW.email, NEW.source);
        END IF;
        IF NEW.confirmed_at IS NOT NULL AND (is_other OR OLD.confirmed_at IS NULL) THEN
            INSERT INTO waitlist_events (kind, key, email, source)
            VALUES ('confirmed', NEW.key, NEW.email, NEW.source);
        END IF;
        RETURN NULL;
    END $$;
    DROP TRIGGER IF EXISTS waitlist_record_events ON waitlist_entries;
    CREATE TRIGGER waitlist_record_events
        AFTER INSERT OR DELETE OR UPDATE OF key, confirmed_at ON waitlist_entries
        FOR EACH ROW EXECUTE FUNCTION waitlist_record_events()";

/// Whether the tables and the trigger exist.
pub(super) const HAS_EVENTS: &str = "
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_trigger
        WHERE tgrelid = 'waitlist_entries'::regclass AND tgname = 'waitlist_record_events'
    )";

/// Records events from here on if $3, and otherwise no longer, and drops those that wait.
const RECORD_EVENTS: &str = change_statement!(
    "WITH recording AS (
        INSERT INTO waitlist_webhook (id, leased_until) SELECT 0, now() WHERE $3::boolean
        ON CONFLICT (id) DO NOTHING
    ), stopped AS (
        DELETE FROM waitlist_webhook WHERE NOT $3::boolean
    ), dropped AS (
        DELETE FROM waitlist_events WHERE NOT $3::boolean
    ), ",
    entries: "entries",
    returning: "NULL"
);

/// Stops the recording and drops the events, in the transaction of a restore.
pub(super) const STOP_EVENTS: &str =
    "WITH stopped AS (DELETE FROM waitlist_webhook) DELETE FROM waitlist_events";

/// Takes the events with numbers above $1 for the process $2, for $3 milliseconds, and returns the first $4 of them. It
/// takes none that another process has. A lease that ends later than any can does not count: the database's clock was
/// ahead. `now()` would be too early: this statement may have waited for the one that got the lease. It leaves out a person
/// who has an event with a number up to $1: that one has failed, or was committed later. Returns a row of NULL if there are
/// none, and no row if the list records none.
const TAKE_EVENTS: &str = "
    WITH leased AS (
        UPDATE waitlist_webhook SET holder = $2, leased_until = now() + $3::bigint * interval '1 millisecond'
        WHERE (holder = $2 OR leased_until NOT BETWEEN clock_timestamp()
                AND clock_timestamp() + $3::bigint * interval '1 millisecond')
            AND EXISTS (SELECT FROM waitlist_events)
        RETURNING id
    )
    SELECT event.number, event.id, event.kind, event.email, event.source, event.at
    FROM waitlist_webhook LEFT JOIN (
        SELECT * FROM waitlist_events AS next
        WHERE number > $1 AND EXISTS (SELECT FROM leased) AND NOT EXISTS (
            SELECT FROM waitlist_events AS earlier WHERE earlier.key = next.key AND earlier.number <= $1
        )
        ORDER BY number LIMIT $4
    ) AS event ON true
    ORDER BY event.number";

const FINISH_EVENTS: &str = "
    DELETE FROM waitlist_events AS event USING unnest($1::bigint[], $2::uuid[]) AS finished (number, id)
    WHERE event.number = finished.number AND event.id = finished.id";

/// Returns no row if the list records no events.
const COUNT_EVENTS: &str = "
    SELECT count(*), min(at) FROM waitlist_events HAVING EXISTS (SELECT FROM waitlist_webhook)";

/// Switches the recording of events on or off. Locks nothing if it is as it should be.
pub(super) async fn record(pool: &Pool, is_on: bool) -> Result<(), StoreError> {
    if pending(pool).await?.is_some() == is_on {
        return Ok(());
    }
    change!(pool, |writer| {
        let exist = writer.connection.query_one(HAS_EVENTS, &[]).await?;
        if !get::<bool>(&exist, 0)? {
            writer.connection.execute(CREATE_EVENTS).await?;
        }
        writer.change(RECORD_EVENTS, &[&is_on]).await.map(drop)
    })
}

/// Returns the events with numbers above this one, if this process may have them, or `None` if the list records none.
pub(super) async fn after(
    pool: &Pool,
    number: u64,
    process: Uuid,
) -> Result<Option<Vec<(u64, Event)>>, StoreError> {
    let (number, lease, max) = (
        number as i64,
        EVENT_LEASE.as_millis() as i64,
        CALL_MAX as i64,
    );
    let params: [&(dyn ToSql + Sync); 4] = [&number, &process, &lease, &max];
    let rows = pool.query(TAKE_EVENTS, &params).await?;
    let events = rows.iter().filter_map(|row| read(row).transpose());
    let events = events.collect::<Result<Vec<_>, _>>()?;
    Ok((!rows.is_empty()).then_some(events))
}

/// Removes events.
pub(super) async fn finish(pool: &Pool, events: Vec<(u64, Uuid)>) -> Result<(), StoreError> {
    let finished = events.into_iter().map(|(number, id)| (number as i64, id));
    let (numbers, ids): (Vec<_>, Vec<_>) = finished.unzip();
    let params: [&(dyn ToSql + Sync); 2] = [&numbers, &ids];
    pool.query(FINISH_EVENTS, &params).await.map(drop)
}

/// Returns the events that wait, or `None` if the list records none.
pub(super) async fn pending(pool: &Pool) -> Result<Option<PendingEvents>, StoreError> {
    let exist = pool.query(HAS_EVENTS, &[]).await?;
    if !exist.first().map_or(Ok(false), |row| get(row, 0))? {
        return Ok(None);
    }
    let rows = pool.query(COUNT_EVENTS, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    Ok(Some(PendingEvents {
        count: get::<i64>(row, 0)?.unsigned_abs(),
        oldest: get::<Option<_>>(row, 1)?.map(truncate_to_millis),
    }))
}

/// Reads an event, unless all columns are NULL.
fn read(row: &Row) -> Result<Option<(u64, Event)>, Failure> {
    let Some(number) = get::<Option<i64>>(row, 0)? else {
        return Ok(None);
    };
    let source: Option<&str> = get(row, 4)?;
    let event = Event {
        id: get(row, 1)?,
        kind: get::<&str>(row, 2)?.into(),
        email: Email::from_stored(get(row, 3)?),
        source: source.map(Source::from_stored),
        at: truncate_to_millis(get::<SystemTime>(row, 5)?),
    };
    Ok(Some((number.unsigned_abs(), event)))
}
