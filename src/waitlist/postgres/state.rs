//! What a copy knows of the list and its database, and the task that looks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use deadpool_postgres::Pool;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};

use super::pool::{Failure, TRY_PATIENCE, connection, settle, write};

/// How often the count is read, which other copies change too.
const PERIOD: Duration = Duration::from_millis(250);

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
    pub(super) count: watch::Sender<u64>,
    pub(super) trouble: watch::Sender<Option<Trouble>>,
    /// Counts that were published: what was read before the last of them is old.
    published: AtomicU64,
}

impl State {
    /// Of a list that counts so many.
    pub(super) fn of(count: i64) -> Self {
        Self {
            count: watch::Sender::new(u64::try_from(count).unwrap_or(0)),
            trouble: watch::Sender::new(None),
            published: AtomicU64::new(0),
        }
    }

    pub(super) fn publish(&self, count: i64) {
        self.published.fetch_add(1, Ordering::SeqCst);
        let fresh = u64::try_from(count).unwrap_or(0);
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, fresh);
            before != fresh
        });
    }

    /// Something was written, or could be.
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

/// Reads the count again and again, also while others wait for a commit; and, when there is trouble, whether
/// it is over.
pub(super) async fn watch(pool: Pool, slot: i64, state: Arc<State>) {
    let mut is_due = interval(PERIOD);
    is_due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        is_due.tick().await;
        if let Err(Failure::Trouble(why)) = look(&pool, slot, &state).await {
            state.is_in_trouble(why);
        }
    }
}

async fn look(pool: &Pool, slot: i64, state: &State) -> Result<(), Failure> {
    let client = connection(pool, slot).await?;
    let published = state.published.load(Ordering::SeqCst);
    let work = async {
        let count = super::count(&client).await?;
        if state.published.load(Ordering::SeqCst) == published {
            state.publish(count);
        }
        // That it can be read does not say that it can be written.
        if state.trouble.borrow().is_some() {
            write(&client, slot).await?;
            state.is_well();
        }
        Ok(())
    };
    let done = timeout(TRY_PATIENCE, work).await;
    settle(client, done)
}
