//! The list at the beginning of an attempt to change it.

use std::collections::HashMap;

use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    super::suppression::ListKey,
    connection::Connection,
    error::Failure,
    list_key::read_key,
    rows::{column, get},
    schema, sql,
    state::State,
    suppression_sql,
};

/// The list at the beginning of an attempt.
pub(super) struct Moment<'a> {
    pub(super) connection: &'a mut Connection,
    state: &'a State,
    /// The slot in which the attempt counts.
    pub(super) slot: i64,
    pub(super) epoch: i64,
    /// The key of the list, as it was in this epoch or later. Then no statement takes effect.
    pub(super) list_key: ListKey,
}

impl<'a> Moment<'a> {
    /// Reads the epoch, and then the key: one that is restored in between raises the epoch.
    pub(super) async fn read(
        connection: &'a mut Connection,
        state: &'a State,
    ) -> Result<Self, Failure> {
        let slot = schema::random_slot(None);
        let row = connection.query_opt(sql::READ_SLOT, &[&slot]).await?;
        let row = row.ok_or(Failure::StaleSlot)?;
        let list_key = read_key(connection).await?;
        Ok(Self {
            connection,
            state,
            slot,
            epoch: get(&row, 1)?,
            list_key,
        })
    }

    /// Returns which of the addresses are listed, with the id of their sign-up.
    pub(super) async fn find_listed(
        &mut self,
        keys: &[&[u8]],
    ) -> Result<HashMap<Vec<u8>, Uuid>, Failure> {
        let rows = self.connection.query(sql::FIND_LISTED, &[&keys]).await?;
        let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&rows, 0)?, column(&rows, 1)?);
        Ok(keys.into_iter().zip(ids).collect())
    }

    /// Runs a statement that counts in the slot, and returns its row.
    pub(super) async fn change(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let row = self.connection.query_opt(statement, params).await?;
        let row = row.ok_or(Failure::StaleSlot)?;
        self.state.set_slot(self.slot, get(&row, 0)?);
        Ok(row)
    }

    /// Like [`change`](Self::change), for a statement that raises the epoch. Returns the ids of the sign-ups that it
    /// changed.
    pub(super) async fn raise_epoch(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Uuid>, Failure> {
        let row = self.change(statement, params).await?;
        self.epoch = get(&row, 1)?;
        self.state.note_epoch(self.epoch);
        get(&row, 2)
    }

    /// Runs [`suppression_sql::ERASE_AND_SUPPRESS`]. Returns the ids of the sign-ups that were erased.
    pub(super) async fn erase_and_suppress(
        &mut self,
        (keys, ids): (&[&[u8]], &[Uuid]),
        mut hashes: Vec<Vec<u8>>,
    ) -> Result<Vec<Uuid>, Failure> {
        // The order prevents deadlocks between instances.
        hashes.sort_unstable();
        let (slot, epoch) = (self.slot, self.epoch);
        let departures: Vec<_> = keys.iter().map(|_| Uuid::new_v4()).collect();
        let params: [&(dyn ToSql + Sync); 6] = [&keys, &ids, &slot, &epoch, &hashes, &departures];
        self.raise_epoch(suppression_sql::ERASE_AND_SUPPRESS, &params)
            .await
    }
}
