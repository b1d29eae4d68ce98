//! Keeps the list in sled, an embedded database. One thread owns every write.
//!
//! - `open`: opens or creates the list, by way of a copy (`scratch_copy`), with a `deadline` and under a `lock`.
//! - `database`: sled's settings, and the format check.
//! - `contents`: what the committer knows of the list, which it reads at the start. `changes`: the
//!   changes to entries.
//! - `record`, `items`: the stored format.
//! - `committer`: the thread that writes. `ledger`, `ledger_states`: its ledger. `events`: the events for the webhook.
//! - `compaction`: replaces the store by a copy without its erased addresses.
//! - `file_guard`: ends the process when another program changes the files, reveals a log that lost its end, and notes that
//!   a list was created.
//! - `entries`: what the committer publishes, and reads the list.
//! - `restore`: restores a backup.
//! - `files`: helpers for files and directories.
//! - `error`: why a list cannot be opened.

mod changes;
mod committer;
mod compaction;
mod contents;
mod database;
mod deadline;
mod entries;
mod error;
mod events;
mod file_guard;
mod files;
mod items;
mod ledger;
mod ledger_states;
mod lock;
mod open;
mod record;
mod restore;
mod scratch_copy;

use std::{fs::File, path::Path, sync::Arc, thread, time::SystemTime};

use tokio::sync::watch;
use uuid::Uuid;

use super::{
    email::Email,
    entry::{EntryStream, Fact, Selection, WaitlistEntry},
    error::{StoreError, StoreFuture},
    event::{Event, PendingEvents},
    queue::{NO_TIMEOUT, Queue, READY_TIMEOUT, REPLY_TIMEOUT},
    store::{
        CALL_MAX, Compaction, CorrectOutcome, Erasure, JoinOutcome, OwnerList, Waitlist, check_call,
    },
    store_panic::{COMMITTER_THREAD_NAME, locked},
    suppression::{ListKey, Suppressions},
};
use committer::{Job, SledCommitter};
use entries::Published;
use error::io_error;

pub use error::SledOpenError;

/// A list in a data directory on this machine. Dropping it commits the requests in the queue.
pub struct SledWaitlist {
    queue: Queue<Job>,
    committer: Option<thread::JoinHandle<()>>,
    published: Arc<Published>,
    /// Reserves the data directory for this process.
    _lock: File,
}

impl SledWaitlist {
    /// Opens the list in the data directory `data`, and creates both if they are missing (mode 0700).
    ///
    /// # Errors
    /// [`SledOpenError`] says what was found and what to do.
    pub fn open(data: &Path) -> Result<Self, SledOpenError> {
        Self::open_with_list_key(data, ListKey::generate())
    }

    /// Like [`open`](Self::open). A new list has the key `new_list_key`.
    fn open_with_list_key(data: &Path, new_list_key: ListKey) -> Result<Self, SledOpenError> {
        let (committer, lock) = open::open(data, new_list_key)?;
        let published = Arc::clone(&committer.published);
        let (queue, requests) = Queue::new();
        let committer = thread::Builder::new()
            .name(COMMITTER_THREAD_NAME.into())
            .spawn(move || committer.run(requests))
            .map_err(io_error(data))?;
        Ok(Self {
            queue,
            committer: Some(committer),
            published,
            _lock: lock,
        })
    }

    /// Runs a job of the owner in the committer, which takes the place of `cost` entries in a batch.
    fn run<T: Send + 'static>(
        &self,
        cost: usize,
        work: impl FnOnce(&mut SledCommitter) -> T + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(async move {
            check_call(cost)?;
            let job = move |reply| Job::new(cost, reply, work);
            self.queue.enqueue(REPLY_TIMEOUT, job).await
        })
    }

    /// Runs a function for each item in the committer, each of which takes the place of an entry in a batch.
    fn run_for_each<I: Send + 'static, T: Send + 'static>(
        &self,
        items: Vec<I>,
        work: impl Fn(&mut SledCommitter, I) -> T + Send + 'static,
    ) -> StoreFuture<'_, Vec<T>> {
        self.run(items.len(), move |committer| {
            let done = items.into_iter().map(|item| work(committer, item));
            done.collect()
        })
    }

    /// Runs a function for the key of each address in the committer, like [`run_for_each`](Self::run_for_each).
    fn run_for_keys<T: Send + 'static>(
        &self,
        emails: &[Email],
        work: impl Fn(&mut SledCommitter, &str) -> T + Send + 'static,
    ) -> StoreFuture<'_, Vec<T>> {
        let keys = emails.iter().map(Email::key).collect();
        self.run_for_each(keys, move |committer, key: String| work(committer, &key))
    }

    /// Parses a record as it is stored, and writes its items again. For the fuzzer: the result has the same bytes.
    /// Returns `None` if the record is damaged.
    pub fn rewrite_record(bytes: &[u8]) -> Option<Vec<u8>> {
        let (first, items) = record::parse(&record::key(0), bytes)?;
        let mut record = record::Record::starting_at(first);
        items.iter().for_each(|item| record.push(item));
        Some(record.bytes().to_vec())
    }
}

impl Drop for SledWaitlist {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(committer) = self.committer.take() {
            // This fails only if the thread panicked, which was printed.
            let _ = committer.join();
        }
    }
}

impl OwnerList for SledWaitlist {
    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        self.run_for_each(entries, SledCommitter::join_imported)
    }

    fn erase(&self, emails: &[Email], erasure: Erasure) -> StoreFuture<'_, Vec<bool>> {
        self.run_for_keys(emails, move |committer, key| committer.erase(key, erasure))
    }

    fn find(&self, emails: &[Email]) -> StoreFuture<'_, Vec<Option<WaitlistEntry>>> {
        let found = self.run_for_keys(emails, |committer, key| committer.find(key));
        Box::pin(async move { found.await?.into_iter().collect() })
    }

    fn list_key(&self) -> StoreFuture<'_, ListKey> {
        self.run(0, |committer| committer.contents.suppressions.list_key())
    }

    fn suppress(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.run_for_keys(emails, SledCommitter::suppress_unlisted)
    }

    fn lift(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.run_for_keys(emails, SledCommitter::lift_address)
    }

    fn suppressions(&self) -> StoreFuture<'_, Suppressions> {
        self.run(0, |committer| committer.contents.suppressions.clone())
    }

    fn is_suppressed(&self, email: &Email) -> StoreFuture<'_, bool> {
        let key = email.key();
        self.run(0, move |committer| {
            committer.find_suppression(&key).is_some()
        })
    }

    fn correct(&self, old: &Email, new: &Email) -> StoreFuture<'_, CorrectOutcome> {
        let (old, new) = (old.key(), new.clone());
        self.run(1, move |committer| committer.correct(&old, new))
    }

    fn compact(&self) -> StoreFuture<'_, Compaction> {
        Box::pin(async move {
            // It costs a whole batch, so nothing else changes the list in the same one.
            let job = |reply| Job::new(CALL_MAX, reply, SledCommitter::compact);
            let compacted = self.queue.enqueue(NO_TIMEOUT, job).await?;
            compacted.map_err(|error| StoreError::NotCompacted(error.to_string().into()))
        })
    }

    fn pending_events(&self) -> StoreFuture<'_, Option<PendingEvents>> {
        self.run(0, |committer| committer.pending_events())
    }

    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError> {
        let snapshot = locked(&self.published.snapshot).clone();
        entries::entries(snapshot, selection)
    }
}

impl Waitlist for SledWaitlist {
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        let job = |reply| Job::new(1, reply, move |committer| committer.join(entry));
        self.queue.request(REPLY_TIMEOUT, job)
    }

    fn add_fact(&self, email: &Email, joined_at: SystemTime, fact: Fact) -> StoreFuture<'_, bool> {
        let key = email.key();
        self.run(1, move |committer| {
            committer.add_fact(&key, joined_at, fact)
        })
    }

    fn record_events(&self, is_on: bool) -> StoreFuture<'_, ()> {
        self.run(1, move |committer| committer.record_events(is_on))
    }

    /// Needs no lease: no other process has the list.
    fn events_after(&self, number: u64) -> StoreFuture<'_, Option<Vec<(u64, Event)>>> {
        self.run(0, move |committer| committer.events_after(number))
    }

    fn finish_events(&self, events: Vec<(u64, Uuid)>) -> StoreFuture<'_, ()> {
        self.run(events.len(), |committer| committer.finish_events(events))
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        let job = |reply| Job::new(0, reply, |_| ());
        self.queue.request(READY_TIMEOUT, job)
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        self.published.count.subscribe()
    }
}
