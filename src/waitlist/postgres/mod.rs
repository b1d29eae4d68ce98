//! Keeps the list in PostgreSQL, or a database that speaks its protocol, for several instances of the server.
//!
//! - `url`, `tls`: the URL of a database and its TLS options.
//! - `connector`, `hosts`: open connections to the hosts of a URL.
//! - `connection`: a connection, with a timeout for each statement.
//! - `sql`, `suppression_sql`: the statements. `rows`: their results. `schema`, `migrations`: the tables they need.
//! - `open`: finds, creates or updates the list when it is opened.
//! - `privileges`: whether the user may do what a server does.
//! - `committer`, `request`, `batch`, `replies`, `writer`: commit sign-ups in batches.
//! - `owner`: erasures, corrections and facts. `change`: the epoch in which they take effect. `pool`: runs and repeats
//!   them, and the ledger's statements.
//! - `state`: the count and the outage, shared by the tasks of an instance.
//! - `entries`: reads the list.
//! - `suppressions`: changes and reads the suppressed addresses.
//! - `ledger`, `ledger_sql`: the ledger, and its statements.
//! - `recount`: corrects the count. `restore`: restores a backup.
//! - `timeouts`: the longest waits. `error`, `open_error`, `url_error`: errors.

mod batch;
mod change;
mod committer;
mod connection;
mod connector;
mod entries;
mod error;
mod hosts;
mod ledger;
mod ledger_sql;
mod list_key;
mod migrations;
mod open;
mod open_error;
mod owner;
mod pool;
mod privileges;
mod recount;
mod replies;
mod request;
mod restore;
mod rows;
mod schema;
mod sql;
mod state;
mod suppression_sql;
mod suppressions;
mod timeouts;
mod tls;
mod url;
mod url_error;
mod writer;

use std::{
    collections::HashSet,
    future::ready,
    io,
    sync::{Arc, OnceLock, mpsc},
};

use tokio::{runtime::Handle, sync::watch};
use tokio_util::task::AbortOnDropHandle;

use super::{
    backup_item::{BackupItem, RestoreError},
    email::Email,
    entry::{Fact, WaitlistEntry},
    entry_stream::{EntryStream, Selection},
    error::{StoreError, StoreFuture},
    queue::{Queue, READY_TIMEOUT, REPLY_TIMEOUT},
    store::{Compaction, CorrectOutcome, Erasure, JoinOutcome, OwnerList, Waitlist, check_call},
    store_panic::store_task,
    suppression::{ListKey, Suppressions},
};
use committer::PostgresCommitter;
use connector::Connector;
use error::Failure;
use pool::Pool;
use request::Request;
use rows::column;
use state::State;

pub use open_error::PostgresOpenError;
pub use state::Outage;
pub use tls::TlsError;
pub use url::DatabaseUrl;
pub use url_error::InvalidDatabaseUrl;

/// Maximum number of connections to a host: for sign-ups, for each pool, and for everything else, which are the count,
/// exports, backups, recounts and restores. The statements of a pool that were abandoned still run on some of its
/// connections, so a pool uses at most half of them.
const CONNECTIONS_PER_HOST_MAX: usize = 4;

/// A list in a database.
#[derive(Debug)]
pub struct PostgresWaitlist {
    queue: Queue<Request>,
    reader_connector: Arc<Connector>,
    state: Arc<State>,
    runtime: Handle,
    warning: Option<String>,
    /// Runs what changes the list, except sign-ups, recounts and restores, and the reads that must be durable.
    writes: Pool,
    /// Runs what only looks something up. If a standby is missing, changes wait for it and keep the connections of the
    /// other pool.
    reads: Pool,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl PostgresWaitlist {
    /// Opens the list in a database. The tasks of the list run on `runtime`. This blocks, so do not call it from a
    /// task.
    ///
    /// # Errors
    /// [`PostgresOpenError`] says what was found and what to do. It is [`PostgresOpenError::NoList`] if the database
    /// has no list.
    pub fn open(url: &DatabaseUrl, runtime: &Handle) -> Result<Self, PostgresOpenError> {
        Self::open_list(url, runtime, false)
    }

    /// Opens the list in a database. Creates a missing list, and updates one of an earlier format. This blocks, like
    /// [`open`](Self::open).
    ///
    /// # Errors
    /// [`PostgresOpenError`] says what was found and what to do.
    pub fn open_or_create(url: &DatabaseUrl, runtime: &Handle) -> Result<Self, PostgresOpenError> {
        Self::open_list(url, runtime, true)
    }

    /// Returns whether the user of this URL may do what a server does. `runtime` must have its own threads. This blocks,
    /// like [`open`](Self::open).
    ///
    /// # Errors
    /// [`PostgresOpenError`], if the database cannot be asked.
    pub fn has_privileges(url: &DatabaseUrl, runtime: &Handle) -> Result<bool, PostgresOpenError> {
        runtime.block_on(privileges::has_privileges(url))
    }

    fn open_list(
        url: &DatabaseUrl,
        runtime: &Handle,
        create_missing: bool,
    ) -> Result<Self, PostgresOpenError> {
        let schema = Arc::new(OnceLock::new());
        let writer_connector = Connector::new(url, Arc::clone(&schema), CONNECTIONS_PER_HOST_MAX);
        let writer_connector = writer_connector.map_err(|error| PostgresOpenError::Tls {
            database: url.to_string(),
            error,
        })?;
        // The permits are separate, so that readers cannot exhaust the writer's connections.
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
                // The receiver is waiting below.
                let _ = sender.send(opened);
            });
        }
        let opened = receiver.recv();
        let (warning, connection) = opened.map_err(|_| PostgresOpenError::Internal)??;
        let (queue, requests) = Queue::new();
        let committer = PostgresCommitter::new(writer_connector, Arc::clone(&state));
        let committer = store_task(committer.run(requests));
        let count_poller = store_task(state::poll_count(
            Arc::clone(&reader_connector),
            Some(connection),
            Arc::clone(&state),
            queue.clone(),
        ));
        Ok(Self {
            queue,
            writes: Pool::new(reader_connector.with_own_permits(), &state),
            reads: Pool::new(reader_connector.with_own_permits(), &state),
            reader_connector,
            state,
            _tasks: [runtime.spawn(committer), runtime.spawn(count_poller)]
                .map(AbortOnDropHandle::new),
            runtime: runtime.clone(),
            warning: warning.map(|warning| format!("{url} has {warning}")),
        })
    }

    /// Restores a backup into the list, which must be empty. Everything is restored or nothing, whatever interrupts it.
    /// Deliveries that had begun are unknown. The stores of other
    /// instances notice it, but the instances must be started again: their servers keep what they have derived from the
    /// key. This blocks, like [`open`](Self::open).
    ///
    /// # Errors
    /// [`RestoreError`]. Then the list is as empty as before, unless the connection was lost during the commit.
    pub fn restore(
        &self,
        key: ListKey,
        items: impl Iterator<Item = io::Result<BackupItem>>,
    ) -> Result<(), RestoreError> {
        self.runtime
            .block_on(restore::restore(&self.reader_connector, key, items))
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
        lasting.map(Outage::error)
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
                    (StoreError::TimedOut, Some(outage)) => outage.error(),
                    (error, _) => error,
                }
            })
        })
    }
}

impl OwnerList for PostgresWaitlist {
    fn size(&self) -> StoreFuture<'_, u64> {
        Box::pin(ready(Ok(self.count())))
    }

    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        self.call(entries.len(), || {
            self.queue.enqueue(|reply| Request::JoinAll(entries, reply))
        })
    }

    fn erase(&self, emails: &[Email], erasure: Erasure) -> StoreFuture<'_, Vec<bool>> {
        let emails = emails.to_vec();
        self.call(emails.len(), || async move {
            owner::erase(&self.writes, &emails, erasure).await
        })
    }

    fn are_listed(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let keys: Vec<_> = emails.iter().map(|it| it.key().into_bytes()).collect();
        Box::pin(async move {
            check_call(keys.len())?;
            let rows = self.reads.query(sql::FIND_LISTED, &[&keys]).await?;
            let listed: HashSet<Vec<u8>> = column(&rows, 0)?.into_iter().collect();
            Ok(keys.iter().map(|key| listed.contains(key)).collect())
        })
    }

    fn key(&self) -> StoreFuture<'_, ListKey> {
        Box::pin(async move {
            let rows = self.reads.query(suppression_sql::READ_KEY, &[]).await?;
            Ok(list_key::parse_key(rows.first())?)
        })
    }

    fn suppress(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let emails = emails.to_vec();
        self.call(emails.len(), || async move {
            suppressions::suppress(&self.writes, &emails).await
        })
    }

    fn lift(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let emails = emails.to_vec();
        self.call(emails.len(), || async move {
            suppressions::lift(&self.writes, &emails).await
        })
    }

    fn suppressions(&self) -> StoreFuture<'_, Suppressions> {
        Box::pin(suppressions::read(&self.reader_connector))
    }

    fn is_suppressed(&self, email: &Email) -> StoreFuture<'_, bool> {
        let email = email.clone();
        Box::pin(async move { suppressions::is_suppressed(&self.writes, &email).await })
    }

    fn correct(&self, old: &Email, new: &Email) -> StoreFuture<'_, CorrectOutcome> {
        let (old, new) = (old.clone(), new.clone());
        self.call(1, || async move {
            owner::correct(&self.writes, &old, &new).await
        })
    }

    fn compact(&self, _: &mut (dyn FnMut(u64) + Send)) -> Result<Compaction, StoreError> {
        let reason = "a list in a database is compacted by its database: as the owner of the tables, run VACUUM (FULL) \
                      waitlist_entries, waitlist_facts, waitlist_suppressed; sign-ups wait meanwhile";
        Err(StoreError::NotCompacted(reason.into()))
    }

    fn recount(&self) -> StoreFuture<'_, i64> {
        Box::pin(recount::recount(&self.reader_connector))
    }

    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError> {
        entries::entries(&self.runtime, Arc::clone(&self.reader_connector), selection)
    }
}

impl Waitlist for PostgresWaitlist {
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        self.call(1, || {
            self.queue
                .request(REPLY_TIMEOUT, |reply| Request::Join(entry, reply))
        })
    }

    fn person(&self, email: &Email) -> StoreFuture<'_, Option<WaitlistEntry>> {
        let key = email.key();
        Box::pin(async move {
            let rows = self
                .reads
                .query(sql::FIND_PERSON, &[&key.as_bytes()])
                .await?;
            let person = rows.first().map(entries::entry_from_row).transpose();
            person.map_err(|error| Failure::from(&error).into())
        })
    }

    fn add_facts(&self, facts: Vec<(Email, Fact)>) -> StoreFuture<'_, Vec<bool>> {
        self.call(facts.len(), || owner::add_facts(&self.writes, facts))
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        if let Some(outage) = self.state.outage.borrow().as_ref() {
            return Box::pin(ready(Err(outage.error())));
        }
        self.call(0, || self.queue.request(READY_TIMEOUT, Request::Ready))
    }

    /// While the database responds, the count is at most a quarter of a second old.
    fn count(&self) -> u64 {
        *self.state.count.borrow()
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        self.state.count.subscribe()
    }
}
