//! Restores a backup into an empty list, in one transaction. It locks the count, so sign-ups wait, and a kill at any
//! moment makes the database roll everything back.

use std::{collections::HashMap, io, time::Instant};

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    super::{
        entry::Source,
        ledger::MessageId,
        store::{BackupItem, RestoreError},
        suppression::ListKey,
    },
    PostgresWaitlist,
    connection::{Connection, Param},
    connector::Connector,
    error::Failure,
    events,
    rows::{get, truncate_to_millis},
    schema, sql,
    timeouts::{BACKUP_TIMEOUT, IDLE_RESTORE_TIMEOUT, WHOLE_LIST_TIMEOUT},
};

/// Number of items that are sent before the database must have inserted them.
const ITEMS_PER_PART: usize = 4096;

const IS_EMPTY: &str = "
    SELECT NOT EXISTS (SELECT FROM waitlist_entries)
        AND NOT EXISTS (SELECT FROM waitlist_suppressed)
        AND NOT EXISTS (SELECT FROM waitlist_departures)
        AND NOT EXISTS (SELECT FROM waitlist_messages)";

/// The row may be missing, if somebody has emptied the tables.
const SET_LIST_KEY: &str = "
    INSERT INTO waitlist_key (id, key) VALUES (0, $1) ON CONFLICT (id) DO UPDATE SET key = $1";

const ADD_SUPPRESSED: &str = "INSERT INTO waitlist_suppressed (hash) VALUES ($1)";

const ADD_DEPARTURE: &str = "
    INSERT INTO waitlist_departures (id, source) VALUES ($1, $2)";

const ADD_MESSAGE: &str = "
    INSERT INTO waitlist_messages (id, begun_at, subject, text_digest) VALUES ($1, $2, $3, $4)";

const ADD_DELIVERY: &str = "
    INSERT INTO waitlist_deliveries
        (message, number, recipient, state, since, code, reply, attempts, added_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

const ADD_PERSON: &str = "
    INSERT INTO waitlist_entries (key, id, email, joined_at, source, asked_at, confirmed_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

/// Counts the $1 people, and raises the epochs of all slots like [`ERASE`](sql::ERASE), so that every instance reads the
/// key again.
const SET_COUNT: &str = "
    UPDATE waitlist_count SET
        epoch = (SELECT max(epoch) FROM waitlist_count) + 1,
        entries = CASE WHEN slot = (SELECT min(slot) FROM waitlist_count) THEN $1::bigint ELSE 0 END
    RETURNING slot";

impl PostgresWaitlist {
    /// Restores a backup into the list, which must be empty. Everything is restored or nothing, whatever interrupts it.
    /// Deliveries that had begun are unknown. The stores of other instances notice it, but the instances must be started
    /// again: their servers keep what they have derived from the key. This blocks, like [`open`](Self::open).
    ///
    /// # Errors
    /// [`RestoreError`]. Then the list is as empty as before, unless the connection was lost during the commit.
    pub fn restore(
        &self,
        list_key: ListKey,
        items: impl Iterator<Item = io::Result<BackupItem>>,
    ) -> Result<(), RestoreError> {
        self.runtime
            .block_on(restore(&self.reader_connector, list_key, items))
    }
}

async fn restore(
    connector: &Connector,
    list_key: ListKey,
    mut items: impl Iterator<Item = io::Result<BackupItem>>,
) -> Result<(), RestoreError> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    // Before anything is locked, for which the instances would wait.
    check_empty(&mut connection).await?;
    let idle = sql::idle_in_transaction(IDLE_RESTORE_TIMEOUT);
    connection.execute(&idle).await?;
    // Somebody may have emptied the tables. Without slots, nothing is locked.
    connection.execute(&schema::create_missing_slots()).await?;
    let mut transaction = Transaction {
        connection: &mut connection,
        deliveries: HashMap::new(),
        people: 0,
    };
    transaction.begin(list_key).await?;
    loop {
        let begun_at = Instant::now();
        let some: io::Result<Vec<_>> = items.by_ref().take(ITEMS_PER_PART).collect();
        let some = some.map_err(RestoreError::Backup)?;
        if begun_at.elapsed() > BACKUP_TIMEOUT {
            let reason = "reading it paused for more than ten minutes";
            return Err(RestoreError::Backup(io::Error::other(reason)));
        }
        if some.is_empty() {
            return transaction.commit().await;
        }
        let rows = some.into_iter().map(|item| transaction.row(item)).collect();
        let added = transaction.connection.execute_all(WHOLE_LIST_TIMEOUT, rows);
        added.await?;
    }
}

/// The transaction. If it is dropped, the connection is closed, which rolls it back.
struct Transaction<'a> {
    connection: &'a mut Connection,
    /// The number of deliveries of each message.
    deliveries: HashMap<MessageId, i64>,
    people: i64,
}

impl Transaction<'_> {
    async fn begin(&mut self, list_key: ListKey) -> Result<(), RestoreError> {
        self.run("BEGIN ISOLATION LEVEL READ COMMITTED", &[])
            .await?;
        self.run(sql::LOCK_SLOTS, &[]).await?;
        check_empty(self.connection).await?;
        // The people of a backup have joined before. The next start of a server records events again.
        if get(
            &self.connection.query_one(events::HAS_EVENTS, &[]).await?,
            0,
        )? {
            self.run(events::STOP_EVENTS, &[]).await?;
        }
        Ok(self.run(SET_LIST_KEY, &[&list_key.as_bytes()]).await?)
    }

    /// Returns the statement that adds an item, and its parameters.
    fn row(&mut self, item: BackupItem) -> (&'static str, Vec<Param>) {
        match item {
            BackupItem::Suppressed(hash) => (ADD_SUPPRESSED, vec![param(hash.as_bytes().to_vec())]),
            BackupItem::Departure(departure) => {
                let params = vec![param(departure.id), source_param(departure.source)];
                (ADD_DEPARTURE, params)
            }
            BackupItem::Message(message) => {
                let params = vec![
                    param(message.id.as_str().to_owned()),
                    param(truncate_to_millis(message.begun_at)),
                    param(message.subject().to_owned()),
                    param(message.text_digest.map(Vec::from)),
                ];
                (ADD_MESSAGE, params)
            }
            BackupItem::Delivery(message, delivery) => {
                let number = self.deliveries.entry(message.clone()).or_default();
                let delivery = delivery.taken_over();
                let reply = delivery.status.reply.as_ref();
                let params = vec![
                    param(message.as_str().to_owned()),
                    param(*number),
                    param(delivery.recipient.as_bytes().to_vec()),
                    param(delivery.status.state.as_str()),
                    param(delivery.status.since.map(truncate_to_millis)),
                    param(reply.map(|it| i64::from(it.code))),
                    param(reply.map(|it| it.text().to_owned())),
                    param(i64::from(delivery.attempts)),
                    param(Uuid::now_v7()),
                ];
                *number += 1;
                (ADD_DELIVERY, params)
            }
            BackupItem::Person(entry) => {
                self.people += 1;
                let params = vec![
                    param(entry.email.key().into_bytes()),
                    // These ids grow, so people of the same time keep their order.
                    param(Uuid::now_v7()),
                    param(entry.email.as_typed().to_owned()),
                    param(truncate_to_millis(entry.joined_at)),
                    source_param(entry.source),
                    param(entry.asked_at.map(truncate_to_millis)),
                    param(entry.confirmed_at.map(truncate_to_millis)),
                ];
                (ADD_PERSON, params)
            }
        }
    }

    async fn commit(mut self) -> Result<(), RestoreError> {
        let people = self.people;
        self.run(SET_COUNT, &[&people]).await?;
        let committed = self.run("COMMIT", &[]).await;
        committed.map_err(|failure| RestoreError::Uncertain(failure.into()))
    }

    async fn run(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<(), Failure> {
        let done = self
            .connection
            .query_within(WHOLE_LIST_TIMEOUT, statement, params);
        done.await.map(drop)
    }
}

/// Checks that nobody is on the list, has left it, or was sent a message.
async fn check_empty(connection: &mut Connection) -> Result<(), RestoreError> {
    let row = connection.query_one(IS_EMPTY, &[]).await?;
    match get::<bool>(&row, 0)? {
        true => Ok(()),
        false => Err(RestoreError::NotEmpty),
    }
}

impl From<Failure> for RestoreError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

fn param(value: impl ToSql + Sync + Send + 'static) -> Param {
    Box::new(value)
}

fn source_param(source: Option<Source>) -> Param {
    param(source.map(|it| it.as_str().to_owned()))
}
