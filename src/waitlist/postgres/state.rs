//! The state that the tasks of an instance share: the count and the outage.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Instant,
};

use tokio::sync::watch;
use tokio_postgres::Row;

use super::{
    super::{error::StoreError, store_panic::locked},
    connection::Connection,
    error::Failure,
    rows::{column, get},
    sql,
};

/// A period in which the database does not respond, or responds with errors.
#[derive(Clone, Debug)]
pub struct Outage {
    /// When it began.
    pub since: Instant,
    /// A description for the owner. It contains no address.
    pub reason: String,
    /// The error for requests that wait for the database.
    pub(super) error: StoreError,
}

/// The state that the tasks of a list share.
#[derive(Debug)]
pub(super) struct State {
    slots: Mutex<Slots>,
    /// The highest epoch that this instance has seen.
    epoch: AtomicI64,
    pub(super) count: watch::Sender<u64>,
    pub(super) outage: watch::Sender<Option<Outage>>,
}

/// The rows of the count.
#[derive(Debug, Default)]
struct Slots {
    by_id: HashMap<i64, Slot>,
    /// How often this instance has changed a row.
    own_changes: u64,
}

#[derive(Debug, Default)]
struct Slot {
    entries: i64,
    /// [`Slots::own_changes`] when this instance last changed the row. A read that began before then is outdated.
    changed_at: u64,
}

impl State {
    /// Creates the state of a list that was not read yet.
    pub(super) fn new() -> Self {
        Self {
            slots: Mutex::default(),
            epoch: AtomicI64::new(i64::MIN),
            count: watch::Sender::new(0),
            outage: watch::Sender::new(None),
        }
    }

    /// Notes the number of entries and the epoch in the row of a slot, and returns the epoch. Sign-ups of this instance must
    /// not go out with an older one.
    pub(super) fn note_slot(&self, slot: i64, row: &Row) -> Result<i64, Failure> {
        self.set_slot(slot, get(row, 0)?);
        let epoch = get(row, 1)?;
        self.epoch.fetch_max(epoch, Ordering::SeqCst);
        Ok(epoch)
    }

    /// Returns the highest epoch that this instance has seen.
    pub(super) fn epoch(&self) -> i64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Records that this instance has changed a slot, which now counts `entries`.
    pub(super) fn set_slot(&self, slot: i64, entries: i64) {
        let mut slots = locked(&self.slots);
        slots.own_changes += 1;
        let changed_at = slots.own_changes;
        let cached = slots.by_id.entry(slot).or_default();
        (cached.entries, cached.changed_at) = (entries, changed_at);
        self.publish(&slots);
    }

    /// Reads the slots of all instances. It must not run concurrently.
    pub(super) async fn refresh_count(&self, connection: &mut Connection) -> Result<(), Failure> {
        let before = locked(&self.slots).own_changes;
        let rows = connection.query(sql::READ_SLOTS, &[]).await?;
        let ids = column::<i64>(&rows, 0)?.into_iter();
        let read: HashMap<_, _> = ids.zip(column::<i64>(&rows, 1)?).collect();
        let mut slots = locked(&self.slots);
        slots
            .by_id
            .retain(|slot, cached| cached.changed_at > before || read.contains_key(slot));
        for (slot, entries) in read {
            let cached = slots.by_id.entry(slot).or_default();
            if cached.changed_at <= before {
                cached.entries = entries;
            }
        }
        self.publish(&slots);
        Ok(())
    }

    /// Publishes the count. The caller holds the lock, so that no older count is published later.
    fn publish(&self, slots: &Slots) {
        let sum: i64 = slots.by_id.values().map(|slot| slot.entries).sum();
        let new_count = u64::try_from(sum).unwrap_or(0);
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, new_count);
            before != new_count
        });
    }

    /// Ends the outage, after a write has shown that sign-ups work.
    pub(super) fn end_outage(&self) {
        let take = |outage: &mut Option<Outage>| outage.take().is_some();
        self.outage.send_if_modified(take);
    }

    /// Begins an outage, or updates the reason of the current one.
    pub(super) fn begin_outage(&self, failure: Failure) {
        self.outage.send_if_modified(|outage| {
            let since = outage.as_ref().map(|outage| outage.since);
            *outage = Some(Outage {
                since: since.unwrap_or_else(Instant::now),
                // The newest reason. The first one is in the log.
                reason: failure.reason.clone(),
                error: failure.into(),
            });
            since.is_none()
        });
    }
}
