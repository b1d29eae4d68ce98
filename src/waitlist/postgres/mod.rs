//! The list in PostgreSQL, or what speaks its protocol: for several copies of the site, each of which has
//! one of these.

mod batch;
mod committer;
mod entries;
mod error;
mod open;
mod pool;
mod schema;
mod state;
mod tls;
mod url;

use std::sync::{Arc, mpsc};

use deadpool_postgres::Pool;
use tokio::{runtime::Handle, sync::watch};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Answer, Email, Entries, Entry, Joined, Selection, StoreError, Waitlist,
    queue::{ANSWER_PATIENCE, Erasure, Queue, of_the_store},
};
use committer::{BATCH_MAX, Committer};
use state::State;

pub use error::DatabaseError;
pub use state::Trouble;
pub use url::DatabaseUrl;

/// The list in a database.
#[derive(Debug)]
pub struct PostgresWaitlist {
    queue: Queue,
    pool: Pool,
    state: Arc<State>,
    runtime: Handle,
    warning: Option<String>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl PostgresWaitlist {
    /// Opens the list in a database. Waits, so it is not for a task; the list has some on `runtime`.
    ///
    /// # Errors
    /// [`DatabaseError`] says what was found and what to do. [`DatabaseError::NoList`] when there is none.
    pub fn open(url: &DatabaseUrl, runtime: &Handle) -> Result<Self, DatabaseError> {
        Self::look(url, runtime, false)
    }

    /// Opens the list in a database, making it when there is none, and what this program needs of one of
    /// an earlier format. Waits, like [`open`](Self::open).
    ///
    /// # Errors
    /// [`DatabaseError`] says what was found and what to do.
    pub fn open_or_make(url: &DatabaseUrl, runtime: &Handle) -> Result<Self, DatabaseError> {
        Self::look(url, runtime, true)
    }

    fn look(url: &DatabaseUrl, runtime: &Handle, make: bool) -> Result<Self, DatabaseError> {
        let pool = |connections| pool::pool(url, connections).map_err(DatabaseError::Settings);
        // Apart, so that nobody who reads can take the connection from those who join.
        let (writing, pool) = (pool(1)?, pool(pool::READERS)?);
        let state = Arc::new(State::new(schema::any_slot()));
        let (tell, told) = mpsc::channel();
        {
            let (url, pool, state) = (url.clone(), pool.clone(), Arc::clone(&state));
            runtime.spawn(async move {
                let opened = open::open(&url, &pool, &state, make).await;
                // Who asked waits.
                let _ = tell.send(opened);
            });
        }
        let opened = told.recv();
        let warning = opened.map_err(|_| DatabaseError::Settings("a fault of ours".into()))??;
        let (queue, requests) = Queue::new(BATCH_MAX);
        let committer = Committer {
            pool: writing,
            state: Arc::clone(&state),
        };
        let committer = of_the_store(committer.run(requests));
        let watch = of_the_store(state::watch(
            pool.clone(),
            Arc::clone(&state),
            queue.clone(),
        ));
        Ok(Self {
            queue,
            pool,
            state,
            _tasks: [runtime.spawn(committer), runtime.spawn(watch)].map(AbortOnDropHandle::new),
            runtime: runtime.clone(),
            warning,
        })
    }

    /// A setting of the database that puts the list at risk, in words for the owner.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// What is wrong with the database, for whoever waits for it to change.
    pub fn trouble(&self) -> watch::Receiver<Option<Trouble>> {
        self.state.trouble.subscribe()
    }

    /// Nobody is kept waiting for a database that nobody could wait for. Whether it is back is looked at
    /// several times a second.
    fn is_lost(&self) -> bool {
        let trouble = self.state.trouble.borrow();
        let since = trouble.as_ref().map(|trouble| trouble.since);
        since.is_some_and(|since| since.elapsed() > ANSWER_PATIENCE)
    }

    fn unless_lost<'a, T: 'a + Send>(
        &'a self,
        answer: impl FnOnce(&'a Queue) -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        if self.is_lost() {
            return Box::pin(std::future::ready(Err(StoreError::Unreachable)));
        }
        let answer = answer(&self.queue);
        Box::pin(async move {
            answer.await.map_err(|error| match error {
                // It was not slow.
                StoreError::TimedOut if self.state.trouble.borrow().is_some() => {
                    StoreError::Unreachable
                }
                error => error,
            })
        })
    }
}

impl Waitlist for PostgresWaitlist {
    fn join(&self, entry: Entry) -> Answer<'_, Joined> {
        self.unless_lost(|queue| queue.join(entry))
    }

    fn join_all(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Joined>> {
        self.unless_lost(|queue| queue.join_all(entries))
    }

    fn erase(&self, emails: &[Email]) -> Answer<'_, Vec<bool>> {
        self.unless_lost(|queue| queue.erase(Erasure::of(emails)))
    }

    fn ready(&self) -> Answer<'_, ()> {
        if self.state.trouble.borrow().is_some() {
            return Box::pin(std::future::ready(Err(StoreError::Unreachable)));
        }
        self.unless_lost(Queue::ready)
    }

    /// As of a quarter of a second ago or later, while the database answers.
    fn count(&self) -> u64 {
        *self.state.count.borrow()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.state.count.subscribe()
    }

    fn entries(&self, selection: Selection) -> Result<Entries, StoreError> {
        entries::entries(&self.runtime, self.pool.clone(), selection)
    }
}
