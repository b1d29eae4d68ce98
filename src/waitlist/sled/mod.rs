//! The list in sled, an embedded store: one thread owns every write.

mod committer;
mod contents;
mod deadline;
mod entries;
mod error;
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
    Email, EntryStream, JoinOutcome, Selection, StoreError, StoreFuture, Waitlist, WaitlistEntry,
    queue::{COMMITTER_THREAD_NAME, Erasure, Queue},
};
use committer::{BATCH_MAX_ENTRIES, Committer, Published, Snapshot};
use files::FileState;
use lock::Locks;
use overwrite_monitor::OverwriteMonitor;

pub use error::SledOpenError;

/// The list in a directory on this machine. Dropping it commits what is accepted.
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
    /// Whether there is a list in a data directory.
    ///
    /// # Errors
    /// When it can't be told.
    pub fn exists_in(data: &Path) -> io::Result<bool> {
        open::exists_in(data)
    }

    /// The copy of the list that an earlier version has left in a data directory.
    pub fn legacy_backup(data: &Path) -> Option<PathBuf> {
        open::legacy_backup(data)
    }

    /// Opens the list in the data directory `data`, creating both when missing (mode 0700).
    ///
    /// # Errors
    /// [`SledOpenError`] says what was found and what to do. A list that is refused is not written to.
    pub fn open(data: &Path) -> Result<Self, SledOpenError> {
        Self::open_interruptible(&AtomicBool::new(false), data)
    }

    /// Like [`open`](Self::open), until `stop` becomes true: then it gives up, unless it has begun to
    /// write and will be done in a moment.
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
        let log_state = log_state.map_err(|error| SledOpenError::Io(data.to_owned(), error))?;
        let committer = Committer {
            database,
            records: records.clone(),
            log_state,
            overwrite_monitor: OverwriteMonitor::watch(&log_path),
            log,
            log_path,
            keys: contents.keys,
            tail: contents.tail,
            high_water_mark,
            published,
        };
        let (queue, requests) = Queue::new(BATCH_MAX_ENTRIES);
        let committer = thread::Builder::new()
            .name(COMMITTER_THREAD_NAME.into())
            .spawn(move || committer.run(requests))
            .map_err(|error| SledOpenError::Io(data.to_owned(), error))?;
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

    /// The list between two batches.
    fn snapshot(&self) -> Snapshot {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often it has made something durable since it was opened: sign-ups that waited together
    /// share one sync.
    pub fn syncs(&self) -> u64 {
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
            // It reads the whole list. The committer would keep everybody waiting.
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
        let entries = entries::entries(self.records.clone(), end, selection)?;
        Ok(EntryStream::new(count, entries))
    }
}

impl Drop for SledWaitlist {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(committer) = self.committer.take() {
            // It can only fail by a panic, which has been printed.
            let _ = committer.join();
        }
    }
}

/// What is wrong, in words for the owner.
fn describe(error: ::sled::Error) -> String {
    match error {
        ::sled::Error::Io(error) => error.to_string(),
        ::sled::Error::Corruption { .. } => "it is damaged".to_owned(),
        other => other.to_string(),
    }
}
