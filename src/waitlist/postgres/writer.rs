//! The connection of the committer, and the epoch of its slot.

use std::{sync::Arc, time::SystemTime};

use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    connection::Connection,
    connector::Connector,
    error::{Failure, OutageKind},
    sql,
    state::State,
};

/// A connection that may write, and only while its slot has the epoch that it knows.
pub(super) struct Writer {
    connection: Connection,
    state: Arc<State>,
    slot: i64,
    epoch: i64,
}

impl Writer {
    /// Connects, and waits until everything that was committed before is durable, see [`sql::FIRST_WRITE`].
    ///
    /// # Errors
    /// [`Failure::Slot`] if the row is missing and cannot be created.
    pub(super) async fn connect(
        connector: &Connector,
        state: &Arc<State>,
        slot: i64,
    ) -> Result<Self, Failure> {
        let mut connection = connector.connect().await?;
        let mut row = connection.query_opt(sql::FIRST_WRITE, &[&slot]).await?;
        if row.is_none() {
            match connection.execute(sql::MAKE_SLOTS).await {
                Err(Failure::Outage(outage)) if outage.kind == OutageKind::Refused => {
                    return Err(Failure::Slot);
                }
                made => made?,
            }
            row = connection.query_opt(sql::FIRST_WRITE, &[&slot]).await?;
        }
        let row = row.ok_or(Failure::Slot)?;
        let mut writer = Self {
            connection,
            state: Arc::clone(state),
            slot,
            epoch: 0,
        };
        writer.set(&row)?;
        Ok(writer)
    }

    /// The epoch of the list: it changes when somebody is erased.
    pub(super) fn epoch(&self) -> i64 {
        self.epoch
    }

    pub(super) fn is_usable(&self) -> bool {
        self.connection.is_usable()
    }

    /// After [`Failure::Slot`]: somebody has been erased. Returns whether the slot is still there.
    pub(super) async fn refresh(&mut self) -> Result<bool, Failure> {
        let row = self.connection.query_opt(sql::EPOCH, &[&self.slot]).await?;
        if let Some(row) = &row {
            self.set(row)?;
        }
        Ok(row.is_some())
    }

    /// Returns those of the ids that are new.
    pub(super) async fn join(
        &mut self,
        keys: &[&[u8]],
        emails: &[&str],
        times: &[SystemTime],
        ids: &[Uuid],
    ) -> Result<Vec<Uuid>, Failure> {
        let row = self
            .connection
            .query_opt(
                sql::JOIN,
                &[&keys, &emails, &times, &ids, &self.slot, &self.epoch],
            )
            .await?;
        let row = row.ok_or(Failure::Slot)?;
        self.state.set_slot(self.slot, get(&row, 0)?);
        get(&row, 1)
    }

    /// Erases sign-ups, by key and id.
    pub(super) async fn erase(&mut self, keys: &[Vec<u8>], ids: &[Uuid]) -> Result<(), Failure> {
        let row = self
            .connection
            .query_opt(sql::ERASE, &[&keys, &ids, &self.slot])
            .await?;
        self.set(&row.ok_or(Failure::Slot)?)
    }

    /// Inserts entries, and deletes them. If a constraint of the owner's rejects them, people can join all the
    /// same.
    pub(super) async fn probe(&mut self, entries: usize) -> Result<(), Failure> {
        let probe = sql::probe(self.slot, entries, Uuid::now_v7());
        match self.connection.execute(&probe).await {
            Err(Failure::Rejected(_)) => Ok(()),
            done => done,
        }
    }

    /// Reads.
    pub(super) async fn query(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        self.connection.query(statement, params).await
    }

    /// What a row says of the slot: its entries and its epoch.
    fn set(&mut self, row: &Row) -> Result<(), Failure> {
        self.state.set_slot(self.slot, get(row, 0)?);
        self.epoch = get(row, 1)?;
        Ok(())
    }
}

fn get<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, Failure> {
    row.try_get(at).map_err(|error| Failure::from(&error))
}
