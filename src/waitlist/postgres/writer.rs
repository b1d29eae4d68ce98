//! Changes the list over a connection, in an epoch.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    super::{
        entry::{Source, WaitlistEntry},
        suppression::ListKey,
    },
    connection::Connection,
    error::{Failure, FailureKind},
    rows::{ListedEntry, get, listed_entries, truncate_to_millis},
    schema, sql,
    state::State,
};

/// A connection, and what it knows of the list. Its statements take effect only in its epoch.
pub(super) struct Writer {
    pub(super) connection: Connection,
    state: Arc<State>,
    /// The slot in which it counts.
    pub(super) slot: i64,
    /// The epoch of the list, which every change raises except sign-ups and facts.
    pub(super) epoch: i64,
    /// The key of the list. If it is of a later epoch, no statement takes effect.
    list_key: ListKey,
}

/// A sign-up to insert.
pub(super) struct NewEntry {
    pub(super) key: String,
    pub(super) entry: WaitlistEntry,
    pub(super) id: Uuid,
    /// Whether it comes from an import, which does not add suppressed addresses.
    pub(super) is_imported: bool,
}

/// The result of an insertion.
#[derive(Default)]
pub(super) struct JoinedEntries {
    /// The ids of the sign-ups that are new.
    pub(super) new: HashSet<Uuid>,
    /// The keys of the addresses that are suppressed, and were not added.
    pub(super) suppressed: HashSet<Vec<u8>>,
}

impl Writer {
    /// Reads the epoch, and waits until all earlier commits are durable, see [`sql::TOUCH_SLOT`].
    ///
    /// # Errors
    /// [`FailureKind::NoSlot`] if the row of the slot is missing and cannot be created.
    pub(super) async fn begin(
        mut connection: Connection,
        state: &Arc<State>,
        slot: i64,
    ) -> Result<Self, Failure> {
        let mut read = read_slot(&mut connection, state, slot).await;
        if has_kind(&read, FailureKind::NoSlot) {
            let created = connection.execute(&schema::create_missing_slots()).await;
            if has_kind(&created, FailureKind::Permanent) {
                return Err(Failure::no_slot());
            }
            created?;
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

    /// Returns the hash of an address by its key ([`Email::key`](super::super::email::Email::key)).
    pub(super) fn hash(&self, key: &[u8]) -> Vec<u8> {
        self.list_key.hash(key).as_bytes().to_owned()
    }

    /// Returns the entries with these keys.
    pub(super) async fn find_listed(
        &mut self,
        keys: &[&[u8]],
    ) -> Result<HashMap<Vec<u8>, ListedEntry>, Failure> {
        listed_entries(&self.connection.query(sql::FIND_LISTED, &[&keys]).await?)
    }

    /// Inserts sign-ups. Those of visitors lift the suppressions of their addresses, unless they await a confirmation.
    ///
    /// # Errors
    /// [`FailureKind::OtherEpoch`] if the list was changed since the last statement. The writer then has the new epoch, or
    /// is no longer usable, for example because the slot is missing.
    pub(super) async fn join(&mut self, entries: &[&NewEntry]) -> Result<JoinedEntries, Failure> {
        let key = |new: &&NewEntry| new.key.as_bytes().to_owned();
        let keys: Vec<_> = entries.iter().map(key).collect();
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        let people = entries.iter().map(|it| &it.entry);
        let emails: Vec<_> = people.clone().map(|it| it.email.as_typed()).collect();
        let joined_at = people.clone().map(|it| truncate_to_millis(it.joined_at));
        let joined_at: Vec<_> = joined_at.collect();
        let sources = people.clone().map(|it| it.source.as_ref());
        let sources: Vec<_> = sources.map(|it| it.map(Source::as_str)).collect();
        let asked_at = people.clone().map(|it| it.asked_at.map(truncate_to_millis));
        let asked_at: Vec<_> = asked_at.collect();
        let confirmed_at = people.map(|it| it.confirmed_at.map(truncate_to_millis));
        let confirmed_at: Vec<_> = confirmed_at.collect();
        let (imported, visitors): (Vec<_>, Vec<_>) = entries.iter().partition(|it| it.is_imported);
        let hash = |new: &&NewEntry| self.hash(new.key.as_bytes());
        let imported_keys: Vec<_> = imported.iter().map(key).collect();
        let imported_hashes: Vec<_> = imported.iter().map(hash).collect();
        let certain = visitors.iter().filter(|it| !it.entry.awaits_confirmation());
        let lifted: Vec<_> = certain.map(hash).collect();
        let params: [&(dyn ToSql + Sync); 10] = [
            &keys,
            &emails,
            &joined_at,
            &ids,
            &sources,
            &asked_at,
            &confirmed_at,
            &imported_keys,
            &imported_hashes,
            &lifted,
        ];
        let epoch = self.epoch;
        let inserted = self.run(sql::JOIN, &params).await;
        if has_kind(&inserted, FailureKind::OtherEpoch) {
            // The statement has no effect, even if this fails. Then the writer is no longer usable.
            let refreshed = self.refresh_slot().await;
            if refreshed.is_ok() && self.epoch == epoch {
                // The slot is unchanged, so a trigger divided by zero.
                let reason = "division by zero (22012)";
                return Err(Failure::new(FailureKind::RowRejected, reason));
            }
        }
        let row = inserted?;
        Ok(JoinedEntries {
            new: get::<Vec<Uuid>>(&row, 1)?.into_iter().collect(),
            suppressed: get::<Vec<Vec<u8>>>(&row, 3)?.into_iter().collect(),
        })
    }

    /// Runs a statement of sign-ups or facts in the epoch: its first parameters are the slot and the epoch. Returns its row.
    pub(super) async fn run(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let params = [&[&self.slot as &(dyn ToSql + Sync), &self.epoch], params].concat();
        let row = self.connection.query_one(statement, &params).await?;
        self.state.set_slot(self.slot, get(&row, 0)?);
        Ok(row)
    }

    /// Runs any other change of the list, which raises the epoch. Its first parameters are the slot and the epoch. Returns
    /// its row.
    pub(super) async fn change(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let params = [&[&self.slot as &(dyn ToSql + Sync), &self.epoch], params].concat();
        let begin = sql::lock_list();
        let running = self.connection.run_transaction(&begin, statement, &params);
        let row = running.await?;
        self.epoch = self.state.note_slot(self.slot, &row)?;
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

    /// Reads the slot, its epoch and the key of the list again. If this fails, the writer is no longer usable: it must not
    /// go on with an old epoch, or with the new epoch and the old key.
    async fn refresh_slot(&mut self) -> Result<(), Failure> {
        let read = read_slot(&mut self.connection, &self.state, self.slot).await;
        if read.is_err() {
            self.connection.has_failed = true;
        }
        (self.epoch, self.list_key) = read?;
        Ok(())
    }

    /// Checks that sign-ups work: inserts entries and rolls that back. If a constraint rejects these entries, sign-ups
    /// may still work, so that is not an error.
    pub(super) async fn probe(&mut self, entries: usize, width: usize) -> Result<(), Failure> {
        let probe = sql::probe(self.slot, entries, width, Uuid::now_v7());
        let done = self.connection.execute(&probe).await;
        if done.is_err() {
            // The transaction of the probe is still open.
            self.connection.has_failed = true;
        }
        match done {
            Err(failure) if failure.kind.is_caused_by_a_row() => Ok(()),
            done => done,
        }
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
    let row = connection.query_opt(sql::TOUCH_SLOT, &[&slot]).await?;
    // At once: while the key is read, an erasure may note a newer count.
    let epoch = state.note_slot(slot, &row.ok_or_else(Failure::no_slot)?)?;
    Ok((epoch, read_list_key(connection).await?))
}

/// Reads the key of the list.
pub(super) async fn read_list_key(connection: &mut Connection) -> Result<ListKey, Failure> {
    let row = connection.query_opt(sql::READ_LIST_KEY, &[]).await?;
    parse_list_key(row.as_ref())
}

/// Parses the row of [`sql::READ_LIST_KEY`].
pub(super) fn parse_list_key(row: Option<&Row>) -> Result<ListKey, Failure> {
    let bytes = row.map(|row| get::<&[u8]>(row, 0)).transpose()?;
    bytes.and_then(ListKey::from_slice).ok_or_else(|| {
        let reason = "the table waitlist_key has no key; restore a backup into a new database";
        Failure::new(FailureKind::Permanent, reason)
    })
}

/// Returns whether something failed in this way.
fn has_kind<T>(done: &Result<T, Failure>, kind: FailureKind) -> bool {
    done.as_ref().is_err_and(|failure| failure.kind == kind)
}
