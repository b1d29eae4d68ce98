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
    /// [`Failure::NoSlot`] if the row is missing and cannot be created.
    pub(super) async fn connect(
        connector: &Connector,
        state: &Arc<State>,
        slot: i64,
    ) -> Result<Self, Failure> {
        let mut connection = connector.connect().await?;
        let mut read = read_slot(&mut connection, state, slot).await;
        if let Err(Failure::NoSlot) = read {
            match connection.execute(sql::CREATE_MISSING_SLOTS).await {
                Err(Failure::Database(failure)) if failure.kind == FailureKind::Permanent => {
                    return Err(Failure::NoSlot);
                }
                created => created?,
            }
            read = read_slot(&mut connection, state, slot).await;
        }
        let (epoch, list_key) = read?;
        Ok(Self {
            connection,
            state: Arc::clone(state),
            slot,
            epoch,
            list_key,
        })
    }

    /// Returns the epoch of the list, which every change raises except sign-ups and facts.
    pub(super) fn epoch(&self) -> i64 {
        self.epoch
    }

    pub(super) fn is_usable(&self) -> bool {
        self.connection.is_usable()
    }

    /// Inserts sign-ups. Those of visitors lift the suppressions of their addresses, unless they await a confirmation.
    ///
    /// # Errors
    /// [`Failure::OtherEpoch`] if the list was changed since the last statement. The writer then has the new epoch, or is
    /// no longer usable, for example because the slot is missing.
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
        let inserted = self.connection.query_one(statement, params).await;
        if let Err(Failure::OtherEpoch) = inserted {
            // The statement has no effect, even if this fails. Then the writer is no longer usable.
            let refreshed = self.refresh_slot().await;
            if refreshed.is_ok() && self.epoch == epoch {
                // The slot is unchanged, so a trigger divided by zero.
                return Err(Failure::RowRejected("division by zero (22012)".into()));
            }
        }
        let row = inserted?;
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

    /// Reads the slot, its epoch and the key of the list again. If this fails, the writer is no longer usable: it must not
    /// go on with an old epoch, or with the new epoch and the old key.
    async fn refresh_slot(&mut self) -> Result<(), Failure> {
        let read = read_slot(&mut self.connection, &self.state, self.slot).await;
        if read.is_err() {
            self.connection.mark_failed();
        }
        (self.epoch, self.list_key) = read?;
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
}

/// Reads a slot, and returns its epoch and the key of the list.
///
/// The key is read after the epoch: a restore that changes the key in between raises the epoch. One statement could not
/// read both, because it may wait for the row of the slot, and then returns the new epoch with the old key.
async fn read_slot(
    connection: &mut Connection,
    state: &State,
    slot: i64,
) -> Result<(i64, ListKey), Failure> {
    let row = connection.query_opt(sql::READ_SLOT, &[&slot]).await?;
    // At once: while the key is read, an erasure may note a newer count.
    let epoch = state.note_slot(slot, &row.ok_or(Failure::NoSlot)?)?;
    Ok((epoch, read_key(connection).await?))
}

/// Returns the hash of an address, see [`Email::key`](super::super::email::Email::key).
pub(super) fn hash_bytes(key: &ListKey, address: &[u8]) -> Vec<u8> {
    key.hash(address).as_bytes().to_owned()
}
