//! Restores a backup into an empty list, in one transaction. It locks the count, so sign-ups wait, and a kill at any
//! moment makes the database roll everything back.

use std::{collections::HashMap, io, time::Instant};

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    super::{
        backup_item::{BackupItem, RestoreError},
        entry::WaitlistEntry,
        ledger::{Delivery, Message},
        message_id::MessageId,
        source::Source,
        suppression::{Departure, ListKey},
    },
    connection::Connection,
    connector::Connector,
    error::Failure,
    ledger::StatusColumns,
    rows::get,
    sql,
    timeouts::{BACKUP_TIMEOUT, IDLE_RESTORE_TIMEOUT, WHOLE_LIST_TIMEOUT},
    writer::{kind_and_time, truncate_to_millis},
};

/// Number of items that are read before they are inserted.
const ITEMS_PER_STATEMENT_MAX: usize = 4096;

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// Waits for all transactions that change the list, and makes them wait.
const LOCK: &str = "SELECT 1 FROM {schema}.waitlist_count ORDER BY slot FOR UPDATE";

/// Returns whether nobody is on the list, has left it, or was sent a message.
const IS_EMPTY: &str = "
    SELECT NOT EXISTS (SELECT FROM {schema}.waitlist_entries)
        AND NOT EXISTS (SELECT FROM {schema}.waitlist_suppressed)
        AND NOT EXISTS (SELECT FROM {schema}.waitlist_departures)
        AND NOT EXISTS (SELECT FROM {schema}.waitlist_messages)";

const SET_KEY: &str = "UPDATE {schema}.waitlist_key SET key = $1";

const ADD_SUPPRESSED: &str = "
    INSERT INTO {schema}.waitlist_suppressed (hash) SELECT unnest($1::bytea[])";

const ADD_DEPARTURES: &str = "
    INSERT INTO {schema}.waitlist_departures (id, source) SELECT * FROM unnest($1::uuid[], $2::text[])";

const ADD_MESSAGES: &str = "
    INSERT INTO {schema}.waitlist_messages (id, begun_at, subject, text_digest)
    SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::bytea[])";

const ADD_DELIVERIES: &str = "
    INSERT INTO {schema}.waitlist_deliveries
        (message, number, recipient, state, since, code, reply, attempts, added_by)
    SELECT new.*, $9::uuid FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[], $5::timestamptz[],
        $6::bigint[], $7::text[], $8::bigint[]) AS new";

const ADD_PEOPLE: &str = "
    INSERT INTO {schema}.waitlist_entries (key, email, joined_at, source, id)
    SELECT * FROM unnest($1::bytea[], $2::text[], $3::timestamptz[], $4::text[], $5::uuid[])";

const ADD_FACTS: &str = "
    INSERT INTO {schema}.waitlist_facts (key, id, kind, at)
    SELECT * FROM unnest($1::bytea[], $2::uuid[], $3::text[], $4::timestamptz[])";

/// Counts the $1 people, and raises the epochs of all slots like [`ERASE`](sql::ERASE), so that every instance reads the
/// key again.
const SET_COUNT: &str = "
    UPDATE {schema}.waitlist_count SET
        epoch = (SELECT max(epoch) FROM {schema}.waitlist_count) + 1,
        entries = CASE WHEN slot = (SELECT min(slot) FROM {schema}.waitlist_count) THEN $1::bigint ELSE 0 END
    RETURNING slot";

const COMMIT: &str = "COMMIT";

/// Restores a backup, see [`PostgresWaitlist::restore`](super::PostgresWaitlist::restore).
pub(super) async fn restore(
    connector: &Connector,
    key: ListKey,
    mut items: impl Iterator<Item = io::Result<BackupItem>>,
) -> Result<(), RestoreError> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let idle = sql::idle_in_transaction(IDLE_RESTORE_TIMEOUT);
    connection.execute(&idle).await?;
    let mut transaction = Transaction {
        connection: &mut connection,
        deliveries: HashMap::new(),
        people: 0,
    };
    transaction.begin(key).await?;
    loop {
        let begun_at = Instant::now();
        let some: io::Result<Vec<_>> = items.by_ref().take(ITEMS_PER_STATEMENT_MAX).collect();
        let some = some.map_err(RestoreError::Backup)?;
        if begun_at.elapsed() > BACKUP_TIMEOUT {
            let reason = "reading it paused for more than ten minutes";
            return Err(RestoreError::Backup(io::Error::other(reason)));
        }
        if some.is_empty() {
            return transaction.commit().await;
        }
        transaction.add(some).await?;
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
    async fn begin(&mut self, key: ListKey) -> Result<(), RestoreError> {
        for statement in [BEGIN, LOCK] {
            self.run(statement, &[]).await?;
        }
        let row = self.connection.query_one(IS_EMPTY, &[]).await?;
        if !get::<bool>(&row, 0)? {
            return Err(RestoreError::NotEmpty);
        }
        Ok(self.run(SET_KEY, &[&key.as_bytes()]).await?)
    }

    /// Adds some items. The kinds are in the order of their foreign keys.
    async fn add(&mut self, items: Vec<BackupItem>) -> Result<(), Failure> {
        let (mut hashes, mut departures, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        let (mut deliveries, mut people) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                BackupItem::Suppressed(hash) => hashes.push(hash.as_bytes().to_owned()),
                BackupItem::Departure(departure) => departures.push(departure),
                BackupItem::Message(message) => messages.push(message),
                BackupItem::Delivery(message, delivery) => {
                    deliveries.push((message, delivery.taken_over()));
                }
                BackupItem::Person(entry) => people.push(entry),
            }
        }
        if !hashes.is_empty() {
            self.run(ADD_SUPPRESSED, &[&hashes]).await?;
        }
        if !departures.is_empty() {
            self.add_departures(&departures).await?;
        }
        if !messages.is_empty() {
            self.add_messages(&messages).await?;
        }
        if !deliveries.is_empty() {
            self.add_deliveries(&deliveries).await?;
        }
        if !people.is_empty() {
            self.add_people(&people).await?;
        }
        Ok(())
    }

    async fn add_departures(&mut self, departures: &[Departure]) -> Result<(), Failure> {
        let ids: Vec<_> = departures.iter().map(|it| it.id).collect();
        let sources = departures.iter().map(|it| it.source.as_ref());
        let sources: Vec<_> = sources.map(|it| it.map(Source::as_str)).collect();
        self.run(ADD_DEPARTURES, &[&ids, &sources]).await
    }

    async fn add_messages(&mut self, messages: &[Message]) -> Result<(), Failure> {
        let ids: Vec<_> = messages.iter().map(|it| it.id.as_str()).collect();
        let times = messages.iter().map(|it| truncate_to_millis(it.begun_at));
        let times: Vec<_> = times.collect();
        let subjects: Vec<_> = messages.iter().map(|it| it.subject()).collect();
        let digests = messages.iter().map(|it| it.text_digest.as_ref());
        let digests: Vec<_> = digests.map(|it| it.map(<[u8; 32]>::as_slice)).collect();
        let params: [&(dyn ToSql + Sync); 4] = [&ids, &times, &subjects, &digests];
        self.run(ADD_MESSAGES, &params).await
    }

    async fn add_deliveries(
        &mut self,
        deliveries: &[(MessageId, Delivery)],
    ) -> Result<(), Failure> {
        let mut numbers = Vec::new();
        for (message, _) in deliveries {
            let next = self.deliveries.entry(message.clone()).or_default();
            numbers.push(*next);
            *next += 1;
        }
        let messages: Vec<_> = deliveries.iter().map(|(it, _)| it.as_str()).collect();
        let column = || deliveries.iter().map(|(_, delivery)| delivery);
        let recipients: Vec<_> = column().map(|it| it.recipient.as_bytes()).collect();
        let StatusColumns {
            states,
            times,
            codes,
            replies,
        } = &StatusColumns::new(column().map(|it| &it.status));
        let attempts: Vec<_> = column().map(|it| i64::from(it.attempts)).collect();
        let addition = Uuid::now_v7();
        let params: [&(dyn ToSql + Sync); 9] = [
            &messages,
            &numbers,
            &recipients,
            states,
            times,
            codes,
            replies,
            &attempts,
            &addition,
        ];
        self.run(ADD_DELIVERIES, &params).await
    }

    async fn add_people(&mut self, people: &[WaitlistEntry]) -> Result<(), Failure> {
        let keys: Vec<_> = people
            .iter()
            .map(|it| it.email.key().into_bytes())
            .collect();
        let emails: Vec<_> = people.iter().map(|it| it.email.as_typed()).collect();
        let times: Vec<_> = people
            .iter()
            .map(|it| truncate_to_millis(it.joined_at))
            .collect();
        let sources = people.iter().map(|it| it.source.as_ref());
        let sources: Vec<_> = sources.map(|it| it.map(Source::as_str)).collect();
        // These ids grow, so people of the same time keep their order.
        let ids: Vec<_> = people.iter().map(|_| Uuid::now_v7()).collect();
        let params: [&(dyn ToSql + Sync); 5] = [&keys, &emails, &times, &sources, &ids];
        self.run(ADD_PEOPLE, &params).await?;
        let facts = keys.iter().zip(people);
        let facts = facts.flat_map(|(key, entry)| entry.facts().map(move |fact| (key, fact)));
        let facts: Vec<_> = facts.collect();
        if !facts.is_empty() {
            let ids: Vec<_> = facts.iter().map(|_| Uuid::now_v7()).collect();
            let keys: Vec<_> = facts.iter().map(|(key, _)| *key).collect();
            let (kinds, times): (Vec<_>, Vec<_>) =
                facts.iter().map(|(_, fact)| kind_and_time(*fact)).unzip();
            self.run(ADD_FACTS, &[&keys, &ids, &kinds, &times]).await?;
        }
        self.people += people.len() as i64;
        Ok(())
    }

    async fn commit(mut self) -> Result<(), RestoreError> {
        let people = self.people;
        self.run(SET_COUNT, &[&people]).await?;
        let committed = self.run(COMMIT, &[]).await;
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

impl From<Failure> for RestoreError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}
