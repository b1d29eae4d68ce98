//! The connection of the committer, with the epoch of its slot.

use std::{collections::HashSet, sync::Arc, time::SystemTime};

use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    super::{
        entry::{Fact, from_unix_millis, unix_millis},
        suppression::ListKey,
    },
    connection::Connection,
    connector::Connector,
    error::{Failure, FailureKind},
    list_key::read_key,
    rows::get,
    schema, sql,
    state::State,
};

/// A connection for writing. Its sign-ups take effect only while its slot has the epoch that the writer knows.
pub(super) struct Writer {
    connection: Connection,
    state: Arc<State>,
    slot: i64,
    epoch: i64,
    /// The key of the list, as it was in this epoch or later.
    list_key: ListKey,
    /// Whether the row of the slot exists.
    has_slot: bool,
}

/// A sign-up to insert.
pub(super) struct NewEntry<'a> {
    pub(super) key: &'a [u8],
    pub(super) email: &'a str,
    pub(super) joined_at: SystemTime,
    pub(super) source: Option<&'a str>,
    /// The facts, with their ids.
    pub(super) facts: &'a [(Uuid, Fact)],
    pub(super) id: Uuid,
    /// Whether it comes from an import, which does not add suppressed addresses.
    pub(super) is_imported: bool,
}

impl NewEntry<'_> {
    /// See [`WaitlistEntry::awaits_confirmation`](super::super::entry::WaitlistEntry::awaits_confirmation).
    fn awaits_confirmation(&self) -> bool {
        let has_asked = |(_, fact): &(Uuid, Fact)| matches!(fact, Fact::AskedAt(_));
        let has_confirmed = |(_, fact): &(Uuid, Fact)| matches!(fact, Fact::ConfirmedAt(_));
        self.facts.iter().any(has_asked) && !self.facts.iter().any(has_confirmed)
    }
}

/// The result of an insertion.
#[derive(Default)]
pub(super) struct JoinedEntries {
    /// The ids of the sign-ups that are new.
    pub(super) new: HashSet<Uuid>,
    /// The keys of the addresses that are suppressed, and were not added.
    pub(super) suppressed: HashSet<Vec<u8>>,
}

/// Returns a fact as it is stored.
pub(super) fn kind_and_time(fact: Fact) -> (&'static str, SystemTime) {
    match fact {
        Fact::AskedAt(time) => (sql::ASKED, truncate_to_millis(time)),
        Fact::ConfirmedAt(time) => (sql::CONFIRMED, truncate_to_millis(time)),
    }
}

/// Truncates a time to milliseconds, as every store does.
pub(super) fn truncate_to_millis(time: SystemTime) -> SystemTime {
    from_unix_millis(unix_millis(time))
}

impl Writer {
    /// Connects, and waits until all earlier commits are durable, see [`sql::READ_SLOT`].
    ///
    /// # Errors
    /// [`Failure::StaleSlot`] if the row is missing and cannot be created.
    pub(super) async fn connect(
        connector: &Connector,
        state: &Arc<State>,
        slot: i64,
    ) -> Result<Self, Failure> {
        let mut connection = connector.connect().await?;
        let mut row = connection.query_opt(sql::READ_SLOT, &[&slot]).await?;
        if row.is_none() {
            match connection.execute(sql::CREATE_MISSING_SLOTS).await {
                Err(Failure::Database(failure)) if failure.kind == FailureKind::Permanent => {
                    return Err(Failure::StaleSlot);
                }
                created => created?,
            }
            row = connection.query_opt(sql::READ_SLOT, &[&slot]).await?;
        }
        let row = row.ok_or(Failure::StaleSlot)?;
        // At once: while the key is read, an erasure may note a newer count.
        let epoch = note_slot(state, slot, &row)?;
        let list_key = read_key(&mut connection).await?;
        Ok(Self {
            connection,
            state: Arc::clone(state),
            slot,
            epoch,
            list_key,
            has_slot: true,
        })
    }

    /// Returns the epoch of the list, which every change raises except sign-ups and facts.
    pub(super) fn epoch(&self) -> i64 {
        self.epoch
    }

    pub(super) fn is_usable(&self) -> bool {
        self.has_slot && self.connection.is_usable()
    }

    /// Inserts sign-ups. Those of visitors lift the suppressions of their addresses, unless they await a confirmation.
    ///
    /// # Errors
    /// [`Failure::StaleSlot`] if an entry was erased since the last statement, or if the slot is missing. After an
    /// erasure, the writer has the new epoch.
    pub(super) async fn join(
        &mut self,
        entries: &[NewEntry<'_>],
    ) -> Result<JoinedEntries, Failure> {
        let keys: Vec<_> = entries.iter().map(|entry| entry.key).collect();
        let emails: Vec<_> = entries.iter().map(|entry| entry.email).collect();
        let times: Vec<_> = entries.iter().map(|entry| entry.joined_at).collect();
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        let sources: Vec<_> = entries.iter().map(|entry| entry.source).collect();
        let (slot, epoch) = (self.slot, self.epoch);
        let facts = entries.iter().flat_map(|entry| {
            let facts = entry.facts.iter();
            facts.map(|(id, fact)| (entry.id, *id, kind_and_time(*fact)))
        });
        let facts: Vec<_> = facts.collect();
        let fact_entries: Vec<_> = facts.iter().map(|(entry, ..)| entry).collect();
        let fact_ids: Vec<_> = facts.iter().map(|(_, id, _)| id).collect();
        let (kinds, fact_times): (Vec<_>, Vec<_>) = facts.iter().map(|(.., fact)| *fact).unzip();
        let (imported, visitors): (Vec<_>, Vec<_>) = entries.iter().partition(|it| it.is_imported);
        let hash = |entry: &&NewEntry<'_>| hash_bytes(&self.list_key, entry.key);
        let imported_keys: Vec<_> = imported.iter().map(|entry| entry.key).collect();
        let imported_hashes: Vec<_> = imported.iter().map(hash).collect();
        let certain = visitors.iter().filter(|it| !it.awaits_confirmation());
        let lifted: Vec<_> = certain.map(hash).collect();
        let params: [&(dyn ToSql + Sync); 14] = [
            &keys,
            &emails,
            &times,
            &ids,
            &slot,
            &epoch,
            &sources,
            &fact_entries,
            &fact_ids,
            &kinds,
            &fact_times,
            &imported_keys,
            &imported_hashes,
            &lifted,
        ];
        let row = self.insert_in_epoch(sql::JOIN, &params).await?;
        Ok(JoinedEntries {
            new: get::<Vec<Uuid>>(&row, 1)?.into_iter().collect(),
            suppressed: get::<Vec<Vec<u8>>>(&row, 3)?.into_iter().collect(),
        })
    }

    /// Runs a statement that takes effect only in the current epoch. Returns its row.
    async fn insert_in_epoch(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let (slot, epoch) = (self.slot, self.epoch);
        let row = match self.connection.query_opt(statement, params).await {
            Err(Failure::StaleSlot) => {
                if self.refresh_slot().await.is_err() {
                    // It has the old epoch. The statement itself has no effect, even if the refresh fails.
                    self.connection.mark_failed();
                    return Err(Failure::StaleSlot);
                }
                // If the slot is unchanged, a trigger divided by zero.
                let is_from_trigger = self.has_slot && self.epoch == epoch;
                return Err(if is_from_trigger {
                    Failure::RowRejected("division by zero (22012)".into())
                } else {
                    Failure::StaleSlot
                });
            }
            changed => changed?.ok_or(Failure::StaleSlot)?,
        };
        self.state.set_slot(slot, get(&row, 0)?);
        Ok(row)
    }

    /// Reads the slot again if this instance has seen a newer epoch, for example of its own erasure. A sign-up with an old
    /// one has no effect, and if its response is lost, nobody knows that.
    pub(super) async fn follow_epoch(&mut self) -> Result<(), Failure> {
        match self.state.epoch() > self.epoch {
            true => self.refresh_slot().await,
            false => Ok(()),
        }
    }

    /// Switches to another slot, because another transaction may have locked the row of this one.
    pub(super) async fn change_slot(&mut self) -> Result<(), Failure> {
        self.slot = schema::random_slot(Some(self.slot));
        self.refresh_slot().await
    }

    pub(super) fn slot(&self) -> i64 {
        self.slot
    }

    /// Reads the slot, its epoch and the key of the list again.
    async fn refresh_slot(&mut self) -> Result<(), Failure> {
        let row = self
            .connection
            .query_opt(sql::READ_SLOT, &[&self.slot])
            .await?;
        self.has_slot = row.is_some();
        if let Some(row) = row {
            self.update_slot(&row)?;
        }
        self.read_list_key().await
    }

    /// Reads the key of the list. It must run after the epoch was read: a restore that changes the key in between raises
    /// the epoch. One statement could not read both, because it may wait for the row of the slot, and then returns the
    /// new epoch with the old key. If this fails, the writer must not go on with the new epoch and the old key.
    async fn read_list_key(&mut self) -> Result<(), Failure> {
        let key = read_key(&mut self.connection).await;
        if key.is_err() {
            self.connection.mark_failed();
        }
        self.list_key = key?;
        Ok(())
    }

    /// Checks that sign-ups work: inserts entries and rolls that back. If a constraint rejects these entries, sign-ups
    /// may still work, so that is not an error.
    pub(super) async fn probe(&mut self, entries: usize, width: usize) -> Result<(), Failure> {
        let probe = sql::probe(self.slot, entries, width, Uuid::now_v7());
        match self.connection.execute(&probe).await {
            Err(Failure::RowRejected(_)) => {
                // The transaction of the probe is still open.
                self.connection.mark_failed();
                Ok(())
            }
            Err(failure) => {
                self.connection.mark_failed();
                Err(failure)
            }
            Ok(()) => Ok(()),
        }
    }

    /// Returns the rows of a statement that reads.
    pub(super) async fn query(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        self.connection.query(statement, params).await
    }

    /// Takes the number of entries and the epoch of the slot from a row.
    fn update_slot(&mut self, row: &Row) -> Result<(), Failure> {
        self.epoch = note_slot(&self.state, self.slot, row)?;
        Ok(())
    }
}

/// Notes the count and the epoch in the row of a slot, and returns the epoch.
fn note_slot(state: &State, slot: i64, row: &Row) -> Result<i64, Failure> {
    state.set_slot(slot, get(row, 0)?);
    let epoch = get(row, 1)?;
    state.note_epoch(epoch);
    Ok(epoch)
}

/// Returns the hash of an address, see [`Email::key`](super::super::email::Email::key).
pub(super) fn hash_bytes(key: &ListKey, address: &[u8]) -> Vec<u8> {
    key.hash(address).as_bytes().to_owned()
}
