//! What an instance knows of the list and its database, and the task that reads the count.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};

use super::{
    super::{StoreError, queue::Queue},
    connection::Connection,
    connector::Connector,
    error::{Failure, Outage},
    sql,
};

/// How often the count is read, which other instances change too.
const COUNT_INTERVAL: Duration = Duration::from_millis(250);

/// The database does not answer, or refuses.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Since when.
    pub since: Instant,
    /// In words for the owner, without anybody's address.
    pub why: String,
    /// Whether the database has said it.
    is_answer: bool,
}

impl Trouble {
    /// What those get who wait for the database.
    pub(super) fn error(&self) -> StoreError {
        if self.is_answer {
            StoreError::Refused(self.why.as_str().into())
        } else {
            StoreError::Unreachable
        }
    }
}

/// Shared by the tasks of a list.
#[derive(Debug)]
pub(super) struct State {
    slots: Mutex<Slots>,
    pub(super) count: watch::Sender<u64>,
    pub(super) trouble: watch::Sender<Option<Trouble>>,
}

/// The rows of the count.
#[derive(Debug, Default)]
struct Slots {
    entries: HashMap<i64, Slot>,
    /// How often this instance has changed one.
    changes: u64,
}

#[derive(Debug, Default)]
struct Slot {
    entries: i64,
    /// [`Slots::changes`] when this instance changed it last: what was read before that is old.
    changed: u64,
}

impl State {
    /// Of a list that nothing is known of yet.
    pub(super) fn new() -> Self {
        Self {
            slots: Mutex::default(),
            count: watch::Sender::new(0),
            trouble: watch::Sender::new(None),
        }
    }

    /// This instance has changed a slot, which counts so many now.
    pub(super) fn set_slot(&self, slot: i64, entries: i64) {
        let mut slots = self.slots();
        slots.changes += 1;
        let changed = slots.changes;
        slots.entries.insert(slot, Slot { entries, changed });
        self.publish(&slots);
    }

    /// Reads what all instances count. It must not run concurrently.
    pub(super) async fn look(&self, connection: &mut Connection) -> Result<(), Failure> {
        let before = self.slots().changes;
        let mut read = HashMap::new();
        for row in connection.query(sql::COUNT, &[]).await? {
            let slot = || Ok((row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?));
            let (slot, entries) = slot().map_err(|error| Failure::from(&error))?;
            read.insert(slot, entries);
        }
        let mut slots = self.slots();
        slots
            .entries
            .retain(|slot, known| known.changed > before || read.contains_key(slot));
        for (slot, entries) in read {
            let known = slots.entries.entry(slot).or_default();
            if known.changed <= before {
                known.entries = entries;
            }
        }
        self.publish(&slots);
        Ok(())
    }

    /// Before the lock is released, so that no older count is published after it.
    fn publish(&self, slots: &Slots) {
        let sum: i64 = slots.entries.values().map(|slot| slot.entries).sum();
        let fresh = u64::try_from(sum).unwrap_or(0);
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, fresh);
            before != fresh
        });
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An entry was written, or could be.
    pub(super) fn end_outage(&self) {
        let trouble = |trouble: &mut Option<Trouble>| trouble.take().is_some();
        self.trouble.send_if_modified(trouble);
    }

    pub(super) fn begin_outage(&self, Outage { why, kind }: Outage) {
        self.trouble.send_if_modified(|trouble| {
            let since = trouble.as_ref().map(|trouble| trouble.since);
            *trouble = Some(Trouble {
                since: since.unwrap_or_else(Instant::now),
                // The newest reason. The log has the first.
                why,
                is_answer: kind.is_answer(),
            });
            since.is_none()
        });
    }
}

/// Reads the count again and again, also while others wait for a commit. A successful read does not prove that
/// writes work, nor the reverse: the committer's writes alone raise and clear [`Trouble`]. It is asked for one when the count cannot be read, and during an outage.
pub(super) async fn watch(
    connector: Arc<Connector>,
    mut connection: Option<Connection>,
    state: Arc<State>,
    committer: Queue,
) {
    let mut is_due = interval(COUNT_INTERVAL);
    is_due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        is_due.tick().await;
        let done = look(&connector, &mut connection, &state).await;
        if matches!(done, Err(Failure::Outage(_))) || state.trouble.borrow().is_some() {
            // What came of it is in the state.
            let _ = committer.ready().await;
        }
    }
}

async fn look(
    connector: &Connector,
    connection: &mut Option<Connection>,
    state: &State,
) -> Result<(), Failure> {
    let usable = match connection.take().filter(Connection::is_usable) {
        Some(usable) => usable,
        None => connector.connect().await?,
    };
    state.look(connection.insert(usable)).await
}
