//! Keeps the list in PostgreSQL, or a database that speaks its protocol, for several instances of the server.
//!
//! - `url`, `tls`: the URL of a database and its TLS options.
//! - `connector`: opens connections to the hosts of a URL. `connection`: one of them, with a timeout for each statement.
//! - `sql`, `ledger_sql`: the statements. `rows`: their values. `schema`: the tables they need.
//! - `open`: finds or creates the list when it is opened, and checks privileges.
//! - `writer`: changes the list in an epoch. `committer`, `batch`: commit sign-ups with it, in batches.
//! - `owner`: erasures, corrections, facts, suppressions and the count. `pool`: runs and repeats them, and the ledger's
//!   statements.
//! - `state`: the count and the outage, shared by the tasks of an instance.
//! - `entries`: reads the list.
//! - `ledger`: the ledger. `events`: the events for the webhook.
//! - `restore`: restores a backup.
//! - `timeouts`: the longest waits. `error`, `open_error`: errors.

mod batch;
mod committer;
mod connection;
mod connector;
mod entries;
mod error;
mod events;
mod ledger;
mod ledger_sql;
mod open;
mod open_error;
mod owner;
mod pool;
mod restore;
mod rows;
mod schema;
mod sql;
mod state;
mod timeouts;
mod tls;
mod url;
mod writer;

use std::{
    future::ready,
    sync::{Arc, OnceLock, mpsc},
    time::SystemTime,
};

use tokio::{runtime::Handle, sync::watch};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::{
    email::Email,
    entry::{EntryStream, Fact, Selection, WaitlistEntry},
    error::{StoreError, StoreFuture},
    event::{Event, PendingEvents},
    queue::{Queue, READY_TIMEOUT, REPLY_TIMEOUT},
    store::{Compaction, CorrectOutcome, Erasure, JoinOutcome, OwnerList, Waitlist, check_call},
    store_panic::store_task,
    suppression::{ListKey, Suppressions},
};
use batch::Request;
use committer::PostgresCommitter;
use connector::Connector;
use open_error::OpenProblem;
use pool::Pool;
use rows::listed_entries;
use state::State;
use writer::parse_list_key;

pub use open_error::PostgresOpenError;
pub use state::Outage;
pub use tls::TlsError;
pub use url::{DatabaseUrl, InvalidDatabaseUrl};

/// A list in a database.
pub struct PostgresWaitlist {
    queue: Arc<Queue<Request>>,
    reader_connector: Arc<Connector>,
    state: Arc<State>,
    runtime: Handle,
    warning: Option<String>,
    /// Identifies this process among those that ask for the events.
    process: Uuid,
    /// Runs what changes the list, except sign-ups and restores, and the reads that must be durable.
    writes: Pool,
    /// Runs what only looks something up. If a standby is missing, changes wait for it and keep the connections of the
    /// other pool.
    reads: Pool,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl PostgresWaitlist {
    /// Opens the list in a database, and creates a missing one if `create_missing`. The tasks of the list run on `runtime`.
    /// This blocks, so do not call it from a task.
    ///
    /// # Errors
    /// [`PostgresOpenError`] says what was found and what to do.
    pub fn open(
        url: &DatabaseUrl,
        runtime: &Handle,
        create_missing: bool,
    ) -> Result<Self, PostgresOpenError> {
        let schema = Arc::new(OnceLock::new());
        let open_error = |problem| PostgresOpenError::new(url, problem);
        let writer_connector = Connector::new(url, Arc::clone(&schema));
        let writer_connector = writer_connector.map_err(|error| open_error(error.into()))?;
        // The permits are separate, so that readers cannot exhaust the writer's connections.
        let (reader_connector, writer_connector) = (
            Arc::new(writer_connector.with_own_permits()),
            Arc::new(writer_connector),
        );
        let state = Arc::new(State::new());
        let (sender, receiver) = mpsc::channel();
        // Not `block_on`: the caller may be a task of another runtime.
        {
            let (reader_connector, state) = (Arc::clone(&reader_connector), Arc::clone(&state));
            runtime.spawn(async move {
                let opened = open::open(&reader_connector, &schema, &state, create_missing).await;
                // The receiver is waiting below.
                let _ = sender.send(opened);
            });
        }
        let opened = receiver.recv().unwrap_or_else(|_| {
            let reason = "an internal error while opening the list";
            Err(OpenProblem::Unavailable(reason.to_owned()))
        });
        let (warning, connection) = opened.map_err(open_error)?;
        let (queue, requests) = Queue::new();
        let queue = Arc::new(queue);
        let committer = PostgresCommitter::new(writer_connector, Arc::clone(&state));
        let committer = store_task(committer.run(requests));
        let count_poller = store_task(committer::poll_count(
            Arc::clone(&reader_connector),
            Some(connection),
            Arc::clone(&state),
            Arc::clone(&queue),
        ));
        Ok(Self {
            queue,
            writes: Pool::new(reader_connector.with_own_permits(), &state),
            reads: Pool::new(reader_connector.with_own_permits(), &state),
            reader_connector,
            state,
            process: Uuid::new_v4(),
            _tasks: [runtime.spawn(committer), runtime.spawn(count_poller)]
                .map(AbortOnDropHandle::new),
            runtime: runtime.clone(),
            warning: warning.map(|warning| format!("{url} has {warning}")),
        })
    }

    /// Returns a warning for the owner if a setting of the database puts the list at risk.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Subscribes to outages of the database.
    pub fn outage(&self) -> watch::Receiver<Option<Outage>> {
        self.state.outage.subscribe()
    }

    /// Returns the error of the outage, if it has lasted longer than a client waits for a reply.
    fn outage_error(&self) -> Option<StoreError> {
        let outage = self.state.outage.borrow();
        let lasting = outage.as_ref();
        let lasting = lasting.filter(|outage| outage.since.elapsed() > REPLY_TIMEOUT);
        lasting.map(|outage| outage.error.clone())
    }

    /// Begins a call with this number of items, and waits for its end. Fails at once in a lasting outage.
    fn call<'a, T, F>(&'a self, items: usize, begin: impl FnOnce() -> F) -> StoreFuture<'a, T>
    where
        T: Send + 'a,
        F: Future<Output = Result<T, StoreError>> + Send + 'a,
    {
        if let Some(error) = check_call(items).err().or_else(|| self.outage_error()) {
            return Box::pin(ready(Err(error)));
        }
        let call = begin();
        Box::pin(async move {
            call.await.map_err(|error| {
                let outage = self.state.outage.borrow();
                match (error, outage.as_ref()) {
                    // The outage is the cause of the timeout.
                    (StoreError::TimedOut, Some(outage)) => outage.error.clone(),
                    (error, _) => error,
                }
            })
        })
    }
}

impl OwnerList for PostgresWaitlist {
    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        self.call(entries.len(), || {
            let joins = entries.into_iter().map(|entry| Request::join(entry, true));
            self.queue.enqueue_all(joins)
        })
    }

    fn erase(&self, emails: &[Email], erasure: Erasure) -> StoreFuture<'_, Vec<bool>> {
        self.call(emails.len(), || {
            owner::erase(&self.writes, emails.to_vec(), erasure)
        })
    }

    fn find(&self, emails: &[Email]) -> StoreFuture<'_, Vec<Option<WaitlistEntry>>> {
        let keys: Vec<_> = emails.iter().map(|it| it.key().into_bytes()).collect();
        Box::pin(async move {
            check_call(keys.len())?;
            let listed = listed_entries(&self.reads.query(sql::FIND_LISTED, &[&keys]).await?)?;
            let entry = |key| listed.get(key).map(|found| found.entry.clone());
            Ok(keys.iter().map(entry).collect())
        })
    }

    fn list_key(&self) -> StoreFuture<'_, ListKey> {
        Box::pin(async move {
            let rows = self.reads.query(sql::READ_LIST_KEY, &[]).await?;
            Ok(parse_list_key(rows.first())?)
        })
    }

    fn suppress(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.call(emails.len(), || {
            owner::suppress(&self.writes, emails.to_vec())
        })
    }

    fn lift(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.call(emails.len(), || owner::lift(&self.writes, emails.to_vec()))
    }

    fn suppressions(&self) -> StoreFuture<'_, Suppressions> {
        Box::pin(entries::suppressions(&self.reader_connector))
    }

    fn is_suppressed(&self, email: &Email) -> StoreFuture<'_, bool> {
        Box::pin(owner::is_suppressed(&self.writes, email.clone()))
    }

    fn correct(&self, old: &Email, new: &Email) -> StoreFuture<'_, CorrectOutcome> {
        self.call(1, || owner::correct(&self.writes, old.clone(), new.clone()))
    }

    fn compact(&self) -> StoreFuture<'_, Compaction> {
        let reason = "a list in a database is compacted by its database: as the owner of the tables, run VACUUM (FULL) \
                      waitlist_entries, waitlist_suppressed, and after a webhook waitlist_events; sign-ups wait meanwhile";
        Box::pin(ready(Err(StoreError::NotCompacted(reason.into()))))
    }

    fn recount(&self) -> StoreFuture<'_, i64> {
        self.call(0, || owner::recount(&self.writes))
    }

    fn pending_events(&self) -> StoreFuture<'_, Option<PendingEvents>> {
        Box::pin(events::pending(&self.reads))
    }

    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError> {
        entries::entries(&self.runtime, Arc::clone(&self.reader_connector), selection)
    }
}

impl Waitlist for PostgresWaitlist {
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        self.call(1, || {
            self.queue
                .request(REPLY_TIMEOUT, Request::join(entry, false))
        })
    }

    fn add_fact(&self, email: &Email, joined_at: SystemTime, fact: Fact) -> StoreFuture<'_, bool> {
        let email = email.clone();
        self.call(1, || owner::add_fact(&self.writes, email, joined_at, fact))
    }

    fn record_events(&self, is_on: bool) -> StoreFuture<'_, ()> {
        self.call(1, || events::record(&self.writes, is_on))
    }

    fn events_after(&self, number: u64) -> StoreFuture<'_, Option<Vec<(u64, Event)>>> {
        self.call(0, || events::after(&self.writes, number, self.process))
    }

    fn finish_events(&self, events: Vec<(u64, Uuid)>) -> StoreFuture<'_, ()> {
        self.call(events.len(), || events::finish(&self.writes, events))
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        if let Some(outage) = self.state.outage.borrow().as_ref() {
            return Box::pin(ready(Err(outage.error.clone())));
        }
        self.call(0, || self.queue.request(READY_TIMEOUT, Request::Ready))
    }

    /// While the database responds, the count is at most a quarter of a second old.
    fn watch_count(&self) -> watch::Receiver<u64> {
        self.state.count.subscribe()
    }
}
