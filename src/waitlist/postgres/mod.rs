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
use tokio::{
    runtime::{self, Handle, Runtime},
    sync::watch,
};
use tokio_postgres::{Client, Error};

use super::{
    Answer, Email, Entries, Entry, Joined, Selection, StoreError, Waitlist,
    queue::{ANSWER_PATIENCE, COMMITTER, Queue},
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
    runtime: Background,
}

impl PostgresWaitlist {
    /// Opens the list in a database.
    ///
    /// # Errors
    /// [`DatabaseError`] says what was found and what to do. [`DatabaseError::NoList`] when there is none.
    pub fn open(url: &DatabaseUrl) -> Result<Self, DatabaseError> {
        Self::look(url, false)
    }

    /// Opens the list in a database, making it when there is none, and what this program needs of one of
    /// an earlier format.
    ///
    /// # Errors
    /// [`DatabaseError`] says what was found and what to do.
    pub fn open_or_make(url: &DatabaseUrl) -> Result<Self, DatabaseError> {
        Self::look(url, true)
    }

    fn look(url: &DatabaseUrl, make: bool) -> Result<Self, DatabaseError> {
        let runtime = Background::new()?;
        let pool = pool::pool(url).map_err(DatabaseError::Settings)?;
        let (tell, told) = mpsc::channel();
        {
            let (url, pool) = (url.clone(), pool.clone());
            runtime.handle().spawn(async move {
                let opened = open::open(&url, &pool, make).await;
                // Who asked waits.
                let _ = tell.send(opened);
            });
        }
        let opened = told.recv();
        let count = opened.map_err(|_| DatabaseError::Settings("a fault of ours".into()))??;
        let state = Arc::new(State::of(count));
        let slot = schema::any_slot();
        let (queue, requests) = Queue::new(BATCH_MAX);
        let committer = Committer {
            pool: pool.clone(),
            slot,
            state: Arc::clone(&state),
        };
        runtime.handle().spawn(committer.run(requests));
        let watch = state::watch(pool.clone(), slot, Arc::clone(&state));
        runtime.handle().spawn(watch);
        Ok(Self {
            queue,
            pool,
            state,
            runtime,
        })
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
        self.unless_lost(|queue| queue.erase(emails))
    }

    fn ready(&self) -> Answer<'_, ()> {
        if self.state.trouble.borrow().is_some() {
            return Box::pin(std::future::ready(Err(StoreError::Unreachable)));
        }
        self.unless_lost(Queue::ready)
    }

    /// At most a second old, while the database answers.
    fn count(&self) -> u64 {
        *self.state.count.borrow()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.state.count.subscribe()
    }

    fn entries(&self, selection: Selection) -> Result<Entries, StoreError> {
        entries::entries(self.runtime.handle(), self.pool.clone(), selection)
    }
}

/// A runtime of a list's own, so that it can be opened and read from anywhere: a thread.
#[derive(Debug)]
struct Background(Option<Runtime>);

impl Background {
    fn new() -> Result<Self, DatabaseError> {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(COMMITTER)
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| DatabaseError::Settings(error.to_string()))?;
        Ok(Self(Some(runtime)))
    }

    fn handle(&self) -> &Handle {
        let runtime = self.0.as_ref();
        runtime.expect("it is there until it is dropped").handle()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // To wait for it is nothing for a task, which this may be in. What was answered is kept.
            runtime.shutdown_background();
        }
    }
}

/// How many are on the list.
async fn count(client: &Client) -> Result<i64, Error> {
    let count = "SELECT sum(entries)::bigint FROM waitlist_count";
    client.query_typed_one(count, &[]).await?.try_get(0)
}
