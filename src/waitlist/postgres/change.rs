//! A change of the list, in one epoch.

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
};

/// An attempt to change the list. Its statements take effect only in its epoch, or name the sign-ups that they change.
pub(super) struct Change<'a> {
    pub(super) connection: &'a mut Connection,
    state: &'a State,
    /// The slot in which the attempt counts.
    pub(super) slot: i64,
    /// The epoch of the list, which the attempt may raise.
    pub(super) epoch: i64,
    /// The key of the list, as it was in this epoch or later. Then no statement takes effect.
    pub(super) list_key: ListKey,
}

impl<'a> Change<'a> {
    /// Reads the epoch, and then the key: a restore that changes the key in between raises the epoch.
    pub(super) async fn begin(
        connection: &'a mut Connection,
        state: &'a State,
    ) -> Result<Self, Failure> {
        let slot = schema::random_slot(None);
        let row = connection.query_opt(sql::READ_SLOT, &[&slot]).await?;
        let epoch = get(&row.ok_or(Failure::NoSlot)?, 1)?;
        let list_key = read_key(connection).await?;
        Ok(Self {
            connection,
            state,
            slot,
            epoch,
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

    /// Runs a statement that counts in the slot.
    pub(super) async fn run(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<(), Failure> {
        let row = self.connection.query_one(statement, params).await?;
        self.state.set_slot(self.slot, get(&row, 0)?);
        Ok(())
    }

    /// Runs a statement that counts in the slot and raises the epoch. Returns its row.
    pub(super) async fn raise_epoch(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let row = self.connection.query_one(statement, params).await?;
        self.epoch = self.state.note_slot(self.slot, &row)?;
        Ok(row)
    }

    /// Like [`raise_epoch`](Self::raise_epoch), for a statement that runs after [`sql::LOCK_LIST`].
    pub(super) async fn raise_epoch_of_locked_list(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let running = self
            .connection
            .run_transaction(sql::LOCK_LIST, statement, params);
        let row = running.await?;
        self.epoch = self.state.note_slot(self.slot, &row)?;
        Ok(row)
    }
}
