//! The ledger of a list in a database. It has a separate connection, so that a message to many people does not delay
//! sign-ups.

use std::{
    collections::HashSet,
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio::{sync::Mutex, time::sleep};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    super::{
        email::Email,
        error::StoreError,
        ledger::{
            DELIVERY_LEASE, Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus,
            Message, ServerReply,
        },
        message_id::MessageId,
        queue::REPLY_TIMEOUT,
        suppression::{AddressHash, ListKey},
    },
    connection::Connection,
    connector::Connector,
    error::{Failure, FailureKind, database_failure},
    ledger_sql,
    rows::{column, get},
    sql, suppression_sql,
    writer::{list_keys, truncate_to_millis},
};

/// Maximum number of deliveries in a statement.
const DELIVERIES_PER_STATEMENT_MAX: usize = 4096;

/// Maximum time to read all deliveries of a message.
const READ_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Pause before a statement is repeated.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A client of the ledger.
pub(super) struct PostgresLedger {
    connector: Arc<Connector>,
    connection: Mutex<Option<Connection>>,
}

impl fmt::Debug for PostgresLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresLedger")
    }
}

impl PostgresLedger {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self {
            connector,
            connection: Mutex::default(),
        }
    }

    pub(super) async fn keys(&self) -> Result<Vec<ListKey>, StoreError> {
        let rows = self.query(suppression_sql::READ_LIST_KEYS, &[]).await?;
        Ok(list_keys(&rows)?)
    }

    pub(super) async fn are_listed(&self, emails: &[Email]) -> Result<Vec<bool>, StoreError> {
        let keys: Vec<_> = emails.iter().map(|it| it.key().into_bytes()).collect();
        let rows = self.query(sql::FIND_LISTED, &[&keys]).await?;
        let listed: HashSet<Vec<u8>> = column(&rows, 0)?.into_iter().collect();
        Ok(keys.iter().map(|key| listed.contains(key)).collect())
    }

    /// Returns whether an address is suppressed.
    pub(super) async fn is_suppressed(&self, email: &Email) -> Result<bool, StoreError> {
        let (keys, address) = (self.keys().await?, email.key());
        let hashes = keys.iter().map(|key| key.hash(&address));
        let hashes: Vec<_> = hashes.map(|hash| hash.as_bytes().to_owned()).collect();
        let rows = self
            .query(suppression_sql::IS_SUPPRESSED, &[&hashes])
            .await?;
        Ok(column(&rows, 0)?.first() == Some(&true))
    }

    pub(super) async fn messages(&self) -> Result<Vec<Message>, StoreError> {
        let rows = self.query(ledger_sql::READ_MESSAGES, &[]).await?;
        let message = |row| {
            let id = MessageId::from_stored(get(row, 0)?);
            Ok::<_, Failure>(Message::new(id, get(row, 1)?, get(row, 2)?))
        };
        Ok(rows.iter().map(message).collect::<Result<_, _>>()?)
    }

    pub(super) async fn add_message(&self, message: &Message) -> Result<(), StoreError> {
        let begun_at = truncate_to_millis(message.begun_at);
        let (id, subject) = (message.id.as_str(), message.subject());
        let params: [&(dyn ToSql + Sync); 3] = [&id, &begun_at, &subject];
        self.query(ledger_sql::ADD_MESSAGE, &params).await?;
        Ok(())
    }

    pub(super) async fn deliveries(
        &self,
        message: &MessageId,
    ) -> Result<Vec<Delivery>, StoreError> {
        let (statement, id) = (ledger_sql::READ_DELIVERIES, message.as_str());
        let rows = self.query_within(READ_TIMEOUT, statement, &[&id]).await?;
        Ok(rows.iter().map(read_delivery).collect::<Result<_, _>>()?)
    }

    pub(super) async fn add_deliveries(
        &self,
        message: &MessageId,
        known: u32,
        mut deliveries: Vec<Delivery>,
    ) -> Result<bool, StoreError> {
        for delivery in &mut deliveries {
            if delivery.status.state == DeliveryState::Sending {
                delivery.status.state = DeliveryState::Unknown;
            }
        }
        let mut known = i64::from(known);
        let id = message.as_str();
        for some in deliveries.chunks(DELIVERIES_PER_STATEMENT_MAX) {
            let recipients: Vec<_> = some.iter().map(|it| it.recipient.as_bytes()).collect();
            let statuses = StatusColumns::new(some.iter().map(|it| &it.status));
            let StatusColumns {
                states,
                times,
                codes,
                replies,
            } = &statuses;
            let addition = Uuid::now_v7();
            let params: [&(dyn ToSql + Sync); 8] = [
                &id,
                &known,
                &recipients,
                states,
                times,
                codes,
                replies,
                &addition,
            ];
            let added = self.query(ledger_sql::ADD_DELIVERIES, &params).await;
            let is_added = matches!(&added, Ok(rows) if rows.len() == some.len());
            if !is_added {
                // The first response may have been lost.
                let params: [&(dyn ToSql + Sync); 2] = [&id, &addition];
                let rows = self.query(ledger_sql::COUNT_ADDED, &params).await?;
                let count = |at| rows.first().map_or(Ok(0), |row| get::<i64>(row, at));
                let (own, all) = (count(0)?, count(1)?);
                match added {
                    _ if own > 0 => {}
                    // Nobody was faster: this is another error.
                    Err(error) if all == known => return Err(error),
                    _ => return Ok(false),
                }
            }
            known += some.len() as i64;
        }
        Ok(true)
    }

    pub(super) async fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: &[DeliveryStart],
    ) -> Result<Vec<bool>, StoreError> {
        let id = message.as_str();
        let lease = DELIVERY_LEASE.as_millis() as i64;
        let mut begun = HashSet::new();
        for some in deliveries.chunks(DELIVERIES_PER_STATEMENT_MAX) {
            let numbers: Vec<_> = some.iter().map(|it| i64::from(it.number)).collect();
            let states: Vec<_> = some.iter().map(|it| it.state.as_str()).collect();
            let attempts: Vec<_> = some.iter().map(|it| i64::from(it.attempts)).collect();
            let beginning = Uuid::now_v7();
            let params: [&(dyn ToSql + Sync); 6] =
                [&id, &numbers, &states, &attempts, &lease, &beginning];
            let rows = self.query(ledger_sql::BEGIN_DELIVERIES, &params).await?;
            begun.extend(column::<i64>(&rows, 0)?);
        }
        let is_begun = |start: &DeliveryStart| begun.contains(&i64::from(start.number));
        Ok(deliveries.iter().map(is_begun).collect())
    }

    pub(super) async fn finish_deliveries(
        &self,
        message: &MessageId,
        results: &[DeliveryResult],
    ) -> Result<(), StoreError> {
        let id = message.as_str();
        let mut recorded = 0;
        for some in results.chunks(DELIVERIES_PER_STATEMENT_MAX) {
            let numbers: Vec<_> = some.iter().map(|it| i64::from(it.number)).collect();
            let attempts: Vec<_> = some.iter().map(|it| i64::from(it.attempt)).collect();
            let statuses = StatusColumns::new(some.iter().map(|it| &it.status));
            let StatusColumns {
                states,
                times,
                codes,
                replies,
            } = &statuses;
            let params: [&(dyn ToSql + Sync); 7] =
                [&id, &numbers, &attempts, states, times, codes, replies];
            let rows = self.query(ledger_sql::FINISH_DELIVERIES, &params).await?;
            recorded += rows.len();
        }
        match recorded == results.len() {
            true => Ok(()),
            false => Err(StoreError::Superseded),
        }
    }

    async fn query(
        &self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        self.query_within(REPLY_TIMEOUT, statement, params).await
    }

    /// Runs a statement, and repeats it over a new connection if the connection breaks.
    async fn query_within(
        &self,
        limit: Duration,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let started = Instant::now();
        let mut connection = self.connection.lock().await;
        loop {
            let failure = match self
                .try_query(&mut connection, limit, statement, params)
                .await
            {
                Ok(rows) => return Ok(rows),
                Err(failure) => failure,
            };
            let may_retry = match &failure {
                Failure::Conflict => true,
                Failure::Database(failure) => failure.kind < FailureKind::StatementFailed,
                _ => false,
            };
            if !may_retry || started.elapsed() > limit {
                return Err(failure.into());
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    async fn try_query(
        &self,
        connection: &mut Option<Connection>,
        limit: Duration,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        if !connection.as_ref().is_some_and(Connection::is_usable) {
            *connection = Some(self.connector.connect().await?);
        }
        let Some(connection) = connection else {
            let reason = "no connection".into();
            return Err(database_failure(FailureKind::Disconnected, reason));
        };
        connection.query_within(limit, statement, params).await
    }
}

/// The columns of some statuses.
struct StatusColumns<'a> {
    states: Vec<&'a str>,
    times: Vec<Option<SystemTime>>,
    codes: Vec<Option<i64>>,
    replies: Vec<Option<&'a str>>,
}

impl<'a> StatusColumns<'a> {
    fn new(statuses: impl Iterator<Item = &'a DeliveryStatus>) -> Self {
        let mut columns = Self {
            states: Vec::new(),
            times: Vec::new(),
            codes: Vec::new(),
            replies: Vec::new(),
        };
        for DeliveryStatus {
            state,
            since,
            reply,
        } in statuses
        {
            columns.states.push(state.as_str());
            columns.times.push(since.map(truncate_to_millis));
            let reply = reply.as_ref();
            columns.codes.push(reply.map(|it| it.code.into()));
            columns.replies.push(reply.map(ServerReply::text));
        }
        columns
    }
}

fn read_delivery(row: &Row) -> Result<Delivery, Failure> {
    let corrupt = || {
        let reason = "the table waitlist_deliveries has an invalid row".into();
        database_failure(FailureKind::Permanent, reason)
    };
    let code: Option<i64> = get(row, 4)?;
    let text: Option<&str> = get(row, 5)?;
    let reply = code.zip(text).map(|(code, text)| {
        let code = u16::try_from(code).map_err(|_| corrupt())?;
        Ok::<_, Failure>(ServerReply::new(code, text))
    });
    let attempts: i64 = get(row, 3)?;
    Ok(Delivery {
        recipient: AddressHash::from_slice(get(row, 0)?).ok_or_else(corrupt)?,
        status: DeliveryStatus {
            state: DeliveryState::from_name(get(row, 1)?).ok_or_else(corrupt)?,
            since: get(row, 2)?,
            reply: reply.transpose()?,
        },
        attempts: u32::try_from(attempts).map_err(|_| corrupt())?,
    })
}
