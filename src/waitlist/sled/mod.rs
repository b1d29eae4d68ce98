//! Keeps the list in sled, an embedded database. One thread owns every write.
//!
//! - `open`: opens or creates the list, by way of a copy (`scratch_copy`), with a `deadline` and under a `lock`.
//! - `database`: sled's settings, and the format check.
//! - `contents`: what the committer knows of the list, which it reads at the start. `person_index`: the addresses.
//! - `record`, `items`, `ledger_items`: the stored format. `bytes`: reads it.
//! - `committer`: the thread that writes. `suppress`: its suppressions.
//!   `ledger`, `ledger_states`: its ledger. `snapshot`: what it publishes.
//! - `compaction`: copies the store without its erased addresses. `exchange`: puts the copy in its place.
//! - `file_guard`: ends the process when another program changes the files (`overwrite_monitor`, `high_water_mark`).
//! - `list`: the trait of a list. That of its ledger is in `ledger`.
//! - `entries`: reads the list, with its `changes`. `read_ledger`: reads the ledger.
//! - `restore`: restores a backup.
//! - `files`: helpers for files and directories.
//! - `error`: why a list cannot be opened.

mod bytes;
mod changes;
mod committer;
mod compaction;
mod contents;
mod database;
mod deadline;
mod entries;
mod error;
mod exchange;
mod file_guard;
mod files;
mod high_water_mark;
mod items;
mod ledger;
mod ledger_items;
mod ledger_states;
mod list;
mod lock;
mod open;
mod overwrite_monitor;
mod person_index;
mod read_ledger;
mod record;
mod restore;
mod scratch_copy;
mod snapshot;
mod suppress;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use tokio::{sync::watch, task::spawn_blocking};

use super::{
    backup_item::{BackupItem, RestoreError},
    error::{StoreError, StoreFuture},
    queue::Queue,
    store::{CALL_MAX, check_call},
    store_panic::COMMITTER_THREAD_NAME,
    suppression::ListKey,
};
use committer::{Job, SledCommitter};
use error::{OpenFailure, io_error};
use file_guard::FileGuard;
use files::FileState;
use lock::Locks;
use overwrite_monitor::OverwriteMonitor;
use scratch_copy::ScratchCopy;
use snapshot::{Published, Snapshot};

pub use error::SledOpenError;

/// Maximum number of compactions in a row, if people are erased during each of them.
const COMPACTIONS_MAX: usize = 3;

/// A list in a data directory on this machine. Dropping it commits the requests in the queue.
#[derive(Debug)]
pub struct SledWaitlist {
    queue: Queue<Job>,
    committer: Option<thread::JoinHandle<()>>,
    snapshot: Arc<Mutex<Snapshot>>,
    syncs: Arc<AtomicU64>,
    count: watch::Receiver<u64>,
    /// Locked while a compaction runs.
    compaction: Mutex<()>,
    locks: Mutex<Locks>,
    /// The store's directory.
    store: PathBuf,
    /// The copy that this list is in, if it is one.
    _copy: Option<ScratchCopy>,
}

impl SledWaitlist {
    /// Returns whether there is a list in a data directory.
    ///
    /// # Errors
    /// Fails if the directory cannot be read.
    pub fn exists_in(data: &Path) -> io::Result<bool> {
        open::exists_in(data)
    }

    /// Opens a copy in memory of the list of the data directory `data`, which needs the empty directory `directory`
    /// too. A full disk of `data` does not prevent this. Entries that are added to the copy do not reach the list.
    ///
    /// # Errors
    /// Like [`open`](Self::open).
    pub fn open_copy(data: &Path, directory: &Path) -> Result<Self, SledOpenError> {
        let copy = open::copy_store(data, directory)?;
        let mut list = Self::open(directory)?;
        list._copy = Some(copy);
        Ok(list)
    }

    /// Opens the list in the data directory `data`, and creates both if they are missing (mode 0700).
    ///
    /// # Errors
    /// [`SledOpenError`] says what was found and what to do. A rejected list is not written to.
    pub fn open(data: &Path) -> Result<Self, SledOpenError> {
        Self::open_interruptible(&AtomicBool::new(false), data)
    }

    /// Like [`open`](Self::open), but gives up when `stop` becomes true, unless it has begun to write. Then it finishes
    /// in a moment.
    ///
    /// # Errors
    /// Like [`open`](Self::open), and [`SledOpenError::Interrupted`].
    pub fn open_interruptible(stop: &AtomicBool, data: &Path) -> Result<Self, SledOpenError> {
        Self::open_with_key(stop, data, open::new_list_key(data)?)
    }

    /// Like [`open_interruptible`](Self::open_interruptible). A new list has the key `new_key`.
    fn open_with_key(
        stop: &AtomicBool,
        data: &Path,
        new_key: ListKey,
    ) -> Result<Self, SledOpenError> {
        let open::OpenedStore {
            database,
            records,
            contents,
            high_water_mark,
            log,
            log_path,
            locks,
            store,
        } = open::open(data, stop, new_key)?;
        let (publish, count) = watch::channel(contents.people.len());
        let snapshot = Arc::new(Mutex::new(Snapshot {
            records: records.clone(),
            end: contents.tail.end(),
            count: contents.people.len(),
        }));
        let syncs = Arc::default();
        let published = Published {
            snapshot: Arc::clone(&snapshot),
            syncs: Arc::clone(&syncs),
            count: publish,
        };
        let log_state = FileState::from_file(&log);
        let log_state = log_state.map_err(io_error(data))?;
        let committer = SledCommitter {
            database,
            records,
            files: FileGuard {
                log_state,
                overwrite_monitor: OverwriteMonitor::watch(&log_path),
                log,
                log_path,
                high_water_mark,
            },
            contents,
            has_erased: false,
            published,
        };
        let (queue, requests) = Queue::new();
        let committer = thread::Builder::new()
            .name(COMMITTER_THREAD_NAME.into())
            .spawn(move || committer.run(requests))
            .map_err(io_error(data))?;
        Ok(Self {
            queue,
            committer: Some(committer),
            snapshot,
            syncs,
            count,
            compaction: Mutex::default(),
            locks: Mutex::new(locks),
            store,
            _copy: None,
        })
    }

    /// Restores a backup into the data directory `data`, which must have an empty list or none. Everything is restored,
    /// durably, or nothing, whatever interrupts it. Deliveries that had begun are unknown. It blocks on the disk.
    ///
    /// # Errors
    /// [`RestoreError`]. Then the list is as empty as before.
    pub fn restore(
        data: &Path,
        key: ListKey,
        items: impl Iterator<Item = io::Result<BackupItem>>,
    ) -> Result<(), RestoreError> {
        restore::restore(data, key, items)
    }

    /// Returns the state of the list after the last batch.
    fn snapshot(&self) -> Snapshot {
        locked(&self.snapshot).clone()
    }

    /// Compacts the store. Returns whether its files are free of old addresses.
    fn compact_once(
        &self,
        report_copied: &mut (dyn FnMut(u64) + Send),
    ) -> Result<bool, OpenFailure> {
        let key = self
            .queue
            .blocking_request(|reply| Job::new(0, reply, |it| it.contents.suppressions.key()));
        let key = key.map_err(io::Error::other)?;
        let copy = compaction::copy(&self.store, &self.snapshot(), key, report_copied)?;
        let lock = lock::lock_store(&copy.directory).map_err(io::Error::other)?;
        // It costs a whole batch, so nothing else changes the list in the same one.
        let exchanged = self
            .queue
            .blocking_request(|reply| Job::new(CALL_MAX, reply, |it| it.exchange(copy)));
        let is_clean = exchanged.map_err(io::Error::other)??;
        locked(&self.locks).replace_store(lock);
        compaction::remove_leftovers(&self.store)?;
        Ok(is_clean)
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
            self.queue.enqueue(job).await
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

    /// Reads the whole list on another thread. In the committer that would delay every sign-up.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let snapshot = self.snapshot();
        let read = spawn_blocking(move || read(&snapshot));
        read.await.map_err(|_| StoreError::Unreadable)?
    }

    /// Parses a record as it is stored, and writes its items again. For the fuzzer: the result has the same bytes.
    /// Returns `None` if the record is damaged.
    pub fn rewrite_record(bytes: &[u8]) -> Option<Vec<u8>> {
        let (first, items) = record::parse(&record::key(0), bytes)?;
        let mut record = record::Record::starting_at(first);
        items.into_iter().for_each(|item| record.push(item));
        Some(record.bytes().to_vec())
    }

    /// Returns the number of syncs since the list was opened, for benchmarks. Sign-ups that wait at the same
    /// time share one sync.
    pub fn sync_count(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }
}

/// Locks a mutex. A thread that panicked with the lock has left a whole value in it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
