//! The ledger of a list in a database.

use std::{collections::HashSet, time::SystemTime};

use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    super::{
        error::{StoreError, StoreFuture},
        ledger::{
            DELIVERY_LEASE, Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus,
            Ledger, Message, MessageId, ServerReply,
        },
        store::check_call,
        suppression::AddressHash,
    },
    PostgresWaitlist,
    error::{Failure, FailureKind},
    ledger_sql,
    rows::{column, get, truncate_to_millis},
};

/// Number of deliveries in a page.
const DELIVERIES_PER_PAGE: usize = 4096;

impl Ledger for PostgresWaitlist {
    fn messages(&self) -> StoreFuture<'_, Vec<Message>> {
        Box::pin(async move {
            let rows = self.reads.query(ledger_sql::READ_MESSAGES, &[]).await?;
            let message = |row| {
                let id = MessageId::from_stored(get(row, 0)?);
                let digest: Option<&[u8]> = get(row, 3)?;
                let message = Message::new(id, get(row, 1)?, get(row, 2)?);
                Ok::<_, Failure>(message.with_text_digest(digest.and_then(|it| it.try_into().ok())))
            };
            Ok(rows.iter().map(message).collect::<Result<_, _>>()?)
        })
    }

    fn add_message(&self, message: Message) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let begun_at = truncate_to_millis(message.begun_at);
            let (id, subject) = (message.id.as_str(), message.subject());
            let digest = message.text_digest.as_ref().map(<[u8; 32]>::as_slice);
            let params: [&(dyn ToSql + Sync); 4] = [&id, &begun_at, &subject, &digest];
            self.writes.query(ledger_sql::ADD_MESSAGE, &params).await?;
            Ok(())
        })
    }

    /// Reads the deliveries in pages, each of which takes less time than a statement may.
    fn deliveries(&self, message: &MessageId, from: u32) -> StoreFuture<'_, Vec<Delivery>> {
        let message = message.clone();
        Box::pin(async move {
            let mut deliveries = Vec::new();
            loop {
                let (id, from) = (message.as_str(), i64::from(from) + deliveries.len() as i64);
                let params: [&(dyn ToSql + Sync); 3] =
                    [&id, &from, &(from + DELIVERIES_PER_PAGE as i64)];
                let rows = self
                    .reads
                    .query(ledger_sql::READ_DELIVERIES, &params)
                    .await?;
                if rows.is_empty() {
                    return Ok(deliveries);
                }
                for row in &rows {
                    deliveries.push(read_delivery(row)?);
                }
            }
        })
    }

    fn add_deliveries(
        &self,
        message: &MessageId,
        known: u32,
        deliveries: Vec<Delivery>,
    ) -> StoreFuture<'_, bool> {
        let message = message.clone();
        let deliveries = deliveries.into_iter().map(Delivery::taken_over);
        let deliveries: Vec<_> = deliveries.collect();
        Box::pin(async move {
            check_call(deliveries.len())?;
            let (id, known) = (message.as_str(), i64::from(known));
            let recipients = deliveries.iter().map(|it| it.recipient.as_bytes());
            let recipients: Vec<_> = recipients.collect();
            let columns = StatusColumns::new(deliveries.iter().map(|it| &it.status));
            let addition = Uuid::now_v7();
            let params: [&(dyn ToSql + Sync); 8] = [
                &id,
                &known,
                &recipients,
                &columns.states,
                &columns.times,
                &columns.codes,
                &columns.replies,
                &addition,
            ];
            let rows = self.writes.query(ledger_sql::ADD_DELIVERIES, &params);
            Ok(rows.await?.len() == deliveries.len())
        })
    }

    fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: Vec<DeliveryStart>,
    ) -> StoreFuture<'_, Vec<bool>> {
        let message = message.clone();
        Box::pin(async move {
            check_call(deliveries.len())?;
            let id = message.as_str();
            let lease = DELIVERY_LEASE.as_millis() as i64;
            let numbers: Vec<_> = deliveries.iter().map(|it| i64::from(it.number)).collect();
            let recipients = deliveries.iter().map(|it| it.recipient.as_bytes());
            let recipients: Vec<_> = recipients.collect();
            let states: Vec<_> = deliveries.iter().map(|it| it.state.as_str()).collect();
            let attempts: Vec<_> = deliveries.iter().map(|it| i64::from(it.attempts)).collect();
            let beginning = Uuid::now_v7();
            let params: [&(dyn ToSql + Sync); 7] = [
                &id,
                &numbers,
                &recipients,
                &states,
                &attempts,
                &lease,
                &beginning,
            ];
            let rows = self
                .writes
                .query(ledger_sql::BEGIN_DELIVERIES, &params)
                .await?;
            let begun: HashSet<i64> = column(&rows, 0)?.into_iter().collect();
            let is_begun = |start: &DeliveryStart| begun.contains(&i64::from(start.number));
            Ok(deliveries.iter().map(is_begun).collect())
        })
    }

    fn finish_deliveries(
        &self,
        message: &MessageId,
        results: Vec<DeliveryResult>,
    ) -> StoreFuture<'_, ()> {
        let message = message.clone();
        Box::pin(async move {
            check_call(results.len())?;
            let id = message.as_str();
            let numbers: Vec<_> = results.iter().map(|it| i64::from(it.number)).collect();
            let recipients = results.iter().map(|it| it.recipient.as_bytes());
            let recipients: Vec<_> = recipients.collect();
            let attempts: Vec<_> = results.iter().map(|it| i64::from(it.attempt)).collect();
            let columns = StatusColumns::new(results.iter().map(|it| &it.status));
            let params: [&(dyn ToSql + Sync); 8] = [
                &id,
                &numbers,
                &recipients,
                &attempts,
                &columns.states,
                &columns.times,
                &columns.codes,
                &columns.replies,
            ];
            let rows = self
                .writes
                .query(ledger_sql::FINISH_DELIVERIES, &params)
                .await?;
            match rows.len() == results.len() {
                true => Ok(()),
                false => Err(StoreError::Superseded),
            }
        })
    }
}

/// The columns of some statuses.
pub(super) struct StatusColumns<'a> {
    pub(super) states: Vec<&'a str>,
    pub(super) times: Vec<Option<SystemTime>>,
    pub(super) codes: Vec<Option<i64>>,
    pub(super) replies: Vec<Option<&'a str>>,
}

impl<'a> StatusColumns<'a> {
    pub(super) fn new(statuses: impl Iterator<Item = &'a DeliveryStatus>) -> Self {
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
        let reason = "the table waitlist_deliveries has an invalid row";
        Failure::new(FailureKind::Permanent, reason)
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
