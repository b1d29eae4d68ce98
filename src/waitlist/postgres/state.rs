//! What a copy knows of the list and its database, and the task that looks.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use deadpool_postgres::Pool;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_postgres::{Client, Error, types::Type};

use super::{
    super::queue::Queue,
    pool::{Failure, TRY_PATIENCE, connection, settle},
};

/// How often the count is read, which other copies change too.
const PERIOD: Duration = Duration::from_millis(250);

/// What a slot counts, and what all others do.
const COUNTED: &str = "
    SELECT
        coalesce(sum(entries) FILTER (WHERE slot = $1), 0)::bigint,
        coalesce(sum(entries) FILTER (WHERE slot <> $1), 0)::bigint
    FROM waitlist_count";

/// The database does not answer, or refuses.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Since when.
    pub since: Instant,
    /// In words for the owner, without anybody's address.
    pub why: String,
}

/// Shared by the tasks of a list.
#[derive(Debug)]
pub(super) struct State {
    /// Where this copy counts.
    pub(super) slot: i64,
    tally: Mutex<Tally>,
    pub(super) count: watch::Sender<u64>,
    pub(super) trouble: watch::Sender<Option<Trouble>>,
}

/// What the count is made of.
#[derive(Debug)]
struct Tally {
    /// What this copy's slot counts.
    ours: i64,
    /// What all other slots count.
    others: i64,
    /// How often this copy has changed its slot: what was read before is old.
    changes: u64,
}

impl State {
    /// Of a list that nothing is known of yet.
    pub(super) fn new(slot: i64) -> Self {
        Self {
            slot,
            tally: Mutex::new(Tally {
                ours: 0,
                others: 0,
                changes: 0,
            }),
            count: watch::Sender::new(0),
            trouble: watch::Sender::new(None),
        }
    }

    /// This copy has changed its slot, which counts so many now.
    pub(super) fn counts(&self, ours: i64) {
        let mut tally = self.tally();
        tally.ours = ours;
        tally.changes += 1;
        self.publish(&tally);
    }

    /// Looks at what all copies count. Not for two at a time: the older might come last.
    pub(super) async fn look(&self, client: &Client) -> Result<(), Error> {
        let changes = self.tally().changes;
        let row = client
            .query_typed_one(COUNTED, &[(&self.slot, Type::INT8)])
            .await?;
        let (ours, others) = (row.try_get(0)?, row.try_get(1)?);
        let mut tally = self.tally();
        tally.others = others;
        if tally.changes == changes {
            tally.ours = ours;
        }
        self.publish(&tally);
        Ok(())
    }

    /// Before the tally is let go of, so that no older one is published after it.
    fn publish(&self, tally: &Tally) {
        let fresh = u64::try_from(tally.ours + tally.others).unwrap_or(0);
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, fresh);
            before != fresh
        });
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An entry was written, or could be.
    pub(super) fn is_well(&self) {
        let trouble = |trouble: &mut Option<Trouble>| trouble.take().is_some();
        self.trouble.send_if_modified(trouble);
    }

    pub(super) fn is_in_trouble(&self, why: String) {
        self.trouble.send_if_modified(|trouble| {
            let is_news = trouble.is_none();
            trouble.get_or_insert(Trouble {
                since: Instant::now(),
                why,
            });
            is_news
        });
    }
}

/// Reads the count again and again, also while others wait for a commit. That it can be read does not say
/// that people can join, and that it can't does not say that they can't: the committer's writes alone raise
/// and clear [`Trouble`]. It is asked for one when the count can't be read, and while there is trouble.
pub(super) async fn watch(pool: Pool, state: Arc<State>, committer: Queue) {
    let mut is_due = interval(PERIOD);
    is_due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        is_due.tick().await;
        let looked = look(&pool, &state).await;
        if matches!(looked, Err(Failure::Trouble(_))) || state.trouble.borrow().is_some() {
            // What came of it is in the state.
            let _ = committer.ready().await;
        }
    }
}

async fn look(pool: &Pool, state: &State) -> Result<(), Failure> {
    let client = connection(pool, state.slot).await?;
    let done = timeout(TRY_PATIENCE, state.look(&client)).await;
    settle(client, done).map(|_| ())
}
