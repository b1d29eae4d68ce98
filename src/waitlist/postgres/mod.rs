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
    Email, EntryStream, JoinOutcome, Selection, StoreError, StoreFuture, Waitlist, WaitlistEntry,
    queue::{Erasure, Queue, REPLY_TIMEOUT, store_task},
};
use committer::{BATCH_MAX_ENTRIES, Committer};
use connector::Connector;
use state::State;

pub use error::PostgresOpenError;
pub use state::Outage;
pub use url::DatabaseUrl;

/// Maximum number of connections to a host that write, and of those that read. One writes, one reads the count, and
/// each export has one; the others were given up, and their statements still run.
const MAX_CONNECTIONS_PER_HOST: usize = 4;

/// The list in a database.
#[derive(Debug)]
pub struct PostgresWaitlist {
    queue: Queue,
    reader_connector: Arc<Connector>,
    state: Arc<State>,
    runtime: Handle,
    warning: Option<String>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl PostgresWaitlist {
    /// Opens the list in a database. Waits, so it is not for a task; the list has some on `runtime`.
    ///
    /// # Errors
    /// [`PostgresOpenError`] says what was found and what to do. [`PostgresOpenError::NoList`] when there is none.
    pub fn open(url: &DatabaseUrl, runtime: &Handle) -> Result<Self, PostgresOpenError> {
        Self::open_list(url, runtime, false)
    }

    /// Opens the list in a database, making it when there is none, and what this program needs of one of
    /// an earlier format. Waits, like [`open`](Self::open).
    ///
    /// # Errors
    /// [`PostgresOpenError`] says what was found and what to do.
    pub fn open_or_create(url: &DatabaseUrl, runtime: &Handle) -> Result<Self, PostgresOpenError> {
        Self::open_list(url, runtime, true)
    }

    fn open_list(
        url: &DatabaseUrl,
        runtime: &Handle,
        create_missing: bool,
    ) -> Result<Self, PostgresOpenError> {
        let schema = Arc::new(OnceLock::new());
        let writer_connector = Connector::new(url, Arc::clone(&schema), MAX_CONNECTIONS_PER_HOST);
        let writer_connector = writer_connector.map_err(PostgresOpenError::Settings)?;
        // Separate, so that readers cannot exhaust the writer's connections.
        let (reader_connector, writer_connector) = (
            Arc::new(writer_connector.with_own_permits()),
            Arc::new(writer_connector),
        );
        let state = Arc::new(State::new());
        let (sender, receiver) = mpsc::channel();
        {
            let (url, schema) = (url.clone(), Arc::clone(&schema));
            let (reader_connector, state) = (Arc::clone(&reader_connector), Arc::clone(&state));
            runtime.spawn(async move {
                let opened =
                    open::open(&url, &reader_connector, &schema, &state, create_missing).await;
                // Who asked waits.
                let _ = sender.send(opened);
            });
        }
        let opened = receiver.recv();
        let (warning, connection) = opened.map_err(|_| {
            PostgresOpenError::Settings("an internal error while opening the list".into())
        })??;
        let (queue, requests) = Queue::new(BATCH_MAX_ENTRIES);
        let committer = Committer::new(writer_connector, Arc::clone(&state));
        let committer = store_task(committer.run(requests));
        let watch = store_task(state::poll_count(
            Arc::clone(&reader_connector),
            Some(connection),
            Arc::clone(&state),
            queue.clone(),
        ));
        Ok(Self {
            queue,
            reader_connector,
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
    pub fn outage(&self) -> watch::Receiver<Option<Outage>> {
        self.state.outage.subscribe()
    }

    /// Fails at once when the outage is longer than anybody waits.
    fn fail_fast_in_outage<'a, T: 'a + Send>(
        &'a self,
        send: impl FnOnce(&'a Queue) -> StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        let outage_error = {
            let outage = self.state.outage.borrow();
            let outage_error = outage.as_ref();
            let outage_error = outage_error.filter(|outage| outage.since.elapsed() > REPLY_TIMEOUT);
            outage_error.map(Outage::error)
        };
        if let Some(outage_error) = outage_error {
            return Box::pin(std::future::ready(Err(outage_error)));
        }
        let reply = send(&self.queue);
        Box::pin(async move {
            reply.await.map_err(|error| {
                let outage = self.state.outage.borrow();
                match (error, outage.as_ref()) {
                    // It was not slow.
                    (StoreError::TimedOut, Some(outage)) => outage.error(),
                    (error, _) => error,
                }
            })
        })
    }
}

impl Waitlist for PostgresWaitlist {
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        self.fail_fast_in_outage(|queue| queue.join(entry))
    }

    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        self.fail_fast_in_outage(|queue| queue.join_all(entries))
    }

    fn erase(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.fail_fast_in_outage(|queue| queue.erase(Erasure::without_search(emails)))
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        if let Some(outage) = self.state.outage.borrow().as_ref() {
            return Box::pin(std::future::ready(Err(outage.error())));
        }
        self.fail_fast_in_outage(Queue::ready)
    }

    /// As of a quarter of a second ago or later, while the database answers.
    fn count(&self) -> u64 {
        *self.state.count.borrow()
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        self.state.count.subscribe()
    }

    fn recount(&self) -> StoreFuture<'_, i64> {
        Box::pin(recount::recount(&self.reader_connector))
    }

    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError> {
        entries::entries(&self.runtime, Arc::clone(&self.reader_connector), selection)
    }
}
