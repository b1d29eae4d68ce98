//! The list in PostgreSQL, or what speaks its protocol: for several instances of the site.

mod batch;
mod committer;
mod connection;
mod connector;
mod entries;
mod error;
mod open;
mod recount;
mod schema;
mod sql;
mod state;
mod tls;
mod url;
mod writer;

use std::sync::{Arc, OnceLock, mpsc};

use tokio::{runtime::Handle, sync::watch};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Answer, Email, Entries, Entry, Joined, Selection, StoreError, Waitlist,
    queue::{ANSWER_PATIENCE, Erasure, Queue, of_the_store},
};
use committer::{BATCH_MAX, Committer};
use connector::Connector;
use state::State;

pub use error::DatabaseError;
pub use state::Trouble;
pub use url::DatabaseUrl;

/// Maximum number of connections to a host that write, and of those that read. One writes, one reads the count, and
/// each export has one; the others were given up, and their statements still run.
const CONNECTIONS_MAX: usize = 4;

/// The list in a database.
#[derive(Debug)]
pub struct PostgresWaitlist {
    queue: Queue,
    reading: Arc<Connector>,
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
        let schema = Arc::new(OnceLock::new());
        let writing = Connector::new(url, Arc::clone(&schema), CONNECTIONS_MAX);
        let writing = writing.map_err(DatabaseError::Settings)?;
        // Separate, so that readers cannot exhaust the writer's connections.
        let (reading, writing) = (Arc::new(writing.another()), Arc::new(writing));
        let state = Arc::new(State::new());
        let (tell, told) = mpsc::channel();
        {
            let (url, schema) = (url.clone(), Arc::clone(&schema));
            let (reading, state) = (Arc::clone(&reading), Arc::clone(&state));
            runtime.spawn(async move {
                let opened = open::open(&url, &reading, &schema, &state, make).await;
                // Who asked waits.
                let _ = tell.send(opened);
            });
        }
        let opened = told.recv();
        let (warning, connection) = opened.map_err(|_| {
            DatabaseError::Settings("an internal error while opening the list".into())
        })??;
        let (queue, requests) = Queue::new(BATCH_MAX);
        let committer = Committer::new(writing, Arc::clone(&state));
        let committer = of_the_store(committer.run(requests));
        let watch = of_the_store(state::watch(
            Arc::clone(&reading),
            Some(connection),
            Arc::clone(&state),
            queue.clone(),
        ));
        Ok(Self {
            queue,
            reading,
            state,
            _tasks: [runtime.spawn(committer), runtime.spawn(watch)].map(AbortOnDropHandle::new),
            runtime: runtime.clone(),
            warning: warning.map(|warning| format!("{url} has {warning}")),
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

    /// Fails at once when the outage is longer than anybody waits.
    fn unless_lost<'a, T: 'a + Send>(
        &'a self,
        answer: impl FnOnce(&'a Queue) -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        let lost = {
            let trouble = self.state.trouble.borrow();
            let lost = trouble.as_ref();
            let lost = lost.filter(|trouble| trouble.since.elapsed() > ANSWER_PATIENCE);
            lost.map(Trouble::error)
        };
        if let Some(lost) = lost {
            return Box::pin(std::future::ready(Err(lost)));
        }
        let answer = answer(&self.queue);
        Box::pin(async move {
            answer.await.map_err(|error| {
                let trouble = self.state.trouble.borrow();
                match (error, trouble.as_ref()) {
                    // It was not slow.
                    (StoreError::TimedOut, Some(trouble)) => trouble.error(),
                    (error, _) => error,
                }
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
        if let Some(trouble) = self.state.trouble.borrow().as_ref() {
            return Box::pin(std::future::ready(Err(trouble.error())));
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

    fn recount(&self) -> Answer<'_, i64> {
        Box::pin(recount::recount(&self.reading))
    }

    fn entries(&self, selection: Selection) -> Result<Entries, StoreError> {
        entries::entries(&self.runtime, Arc::clone(&self.reading), selection)
    }
}
