//! Keeps the list in sled, an embedded database. One thread owns every write.
//!
//! - `open`: opens or creates the list, by way of a copy (`scratch_copy`), with a `deadline` and under a `lock`.
//! - `database`: sled's settings, and the format check.
//! - `contents`: reads the whole list at the start.
//! - `record`: the stored format.
//! - `committer`: the thread that writes.
//! - `file_guard`: ends the process when another program changes the files (`overwrite_monitor`, `high_water_mark`).
//! - `key_set`: the addresses on the list, in memory.
//! - `search`: finds the records of the addresses to erase.
//! - `entries`: reads the list.
//! - `files`: helpers for files and directories.
//! - `error`: why a list cannot be opened.

mod committer;
mod contents;
mod database;
mod deadline;
mod entries;
mod error;
mod file_guard;
mod files;
mod high_water_mark;
mod key_set;
mod lock;
mod open;
mod overwrite_monitor;
mod record;
mod scratch_copy;
mod search;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use tokio::{sync::watch, task::spawn_blocking};

use super::{
    email::Email,
    entry::WaitlistEntry,
    entry_stream::{EntryStream, Selection},
    error::StoreError,
    queue::{Erasure, Queue},
    store::{JoinOutcome, StoreFuture, Waitlist},
    store_panic::COMMITTER_THREAD_NAME,
};
use committer::{BATCH_MAX_ENTRIES, Committer, Published, Snapshot};
use error::io_error;
use file_guard::FileGuard;
use files::FileState;
use lock::Locks;
use overwrite_monitor::OverwriteMonitor;

pub use error::{SledOpenError, UnusableReason};

/// A list in a data directory on this machine. Dropping it commits the requests in the queue.
#[derive(Debug)]
pub struct SledWaitlist {
    queue: Queue,
    committer: Option<thread::JoinHandle<()>>,
    records: ::sled::Tree,
    snapshot: Arc<Mutex<Snapshot>>,
    syncs: Arc<AtomicU64>,
    count: watch::Receiver<u64>,
    _locks: Locks,
}

impl SledWaitlist {
    /// Returns whether there is a list in a data directory.
    ///
    /// # Errors
    /// Fails if the directory cannot be read.
    pub fn exists_in(data: &Path) -> io::Result<bool> {
        open::exists_in(data)
    }

    /// Returns the backup of the list that an earlier version left in a data directory.
    pub fn legacy_backup(data: &Path) -> Option<PathBuf> {
        open::legacy_backup(data)
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
        let open::OpenedStore {
            database,
            records,
            contents,
            high_water_mark,
            log,
            log_path,
            locks,
        } = open::open(data, stop)?;
        let (publish, count) = watch::channel(contents.count);
        let snapshot = Arc::new(Mutex::new(Snapshot {
            end: contents.tail.end(),
            count: contents.count,
        }));
        let syncs = Arc::default();
        let published = Published {
            snapshot: Arc::clone(&snapshot),
            syncs: Arc::clone(&syncs),
            count: publish,
        };
        let log_state = FileState::from_file(&log);
        let log_state = log_state.map_err(io_error(data))?;
        let committer = Committer {
            database,
            records: records.clone(),
            files: FileGuard {
                log_state,
                overwrite_monitor: OverwriteMonitor::watch(&log_path),
                log,
                log_path,
                high_water_mark,
            },
            keys: contents.keys,
            tail: contents.tail,
            published,
        };
        let (queue, requests) = Queue::new(BATCH_MAX_ENTRIES);
        let committer = thread::Builder::new()
            .name(COMMITTER_THREAD_NAME.into())
            .spawn(move || committer.run(requests))
            .map_err(io_error(data))?;
        Ok(Self {
            queue,
            committer: Some(committer),
            records,
            snapshot,
            syncs,
            count,
            _locks: locks,
        })
    }

    /// Returns the state of the list after the last batch.
    fn snapshot(&self) -> Snapshot {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of syncs since the list was opened, for benchmarks. Sign-ups that wait at the same
    /// time share one sync.
    pub fn sync_count(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }
}

impl Waitlist for SledWaitlist {
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        self.queue.join(entry)
    }

    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        self.queue.join_all(entries)
    }

    fn erase(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let erasure = Erasure::without_search(emails);
        let (records, end) = (self.records.clone(), self.snapshot().end);
        Box::pin(async move {
            // The search reads the whole list. In the committer it would delay every sign-up.
            let search = spawn_blocking(move || search::find_records(&records, end, erasure));
            let erasure = search.await.map_err(|_| StoreError::Unreadable)??;
            self.queue.erase(erasure).await
        })
    }

    fn erased_count(&self) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            self.queue.barrier().await?;
            let Snapshot { end, count } = self.snapshot();
            Ok(end - count)
        })
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        self.queue.ready()
    }

    fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        self.count.clone()
    }

    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError> {
        let Snapshot { end, count } = self.snapshot();
        let (selected, entries) = entries::entries(self.records.clone(), end, selection)?;
        let count = if selection.is_everything() {
            count
        } else {
            selected
        };
        Ok(EntryStream::new(count, entries))
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
