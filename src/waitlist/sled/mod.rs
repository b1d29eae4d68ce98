//! The list in sled, an embedded store: one thread owns every write.

mod committer;
mod deadline;
mod entries;
mod error;
mod files;
mod known;
mod lock;
mod mark;
mod open;
mod overwrites;
mod record;
mod search;
mod stock;
mod trial;

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
    Answer, Email, Entries, Entry, Joined, Selection, StoreError, Waitlist,
    queue::{Erasure, Queue, THREAD},
};
use committer::{BATCH_MAX, Committer, Moment, Published};
use files::FileState;
use lock::Locks;
use overwrites::OverwriteMonitor;

pub use error::OpenError;

/// The list in a directory on this machine. Dropping it commits what is accepted.
#[derive(Debug)]
pub struct SledWaitlist {
    queue: Queue,
    committer: Option<thread::JoinHandle<()>>,
    entries: ::sled::Tree,
    durable: Arc<Mutex<Moment>>,
    syncs: Arc<AtomicU64>,
    count: watch::Receiver<u64>,
    _locks: Locks,
}

impl SledWaitlist {
    /// Whether there is a list in a data directory.
    ///
    /// # Errors
    /// When it can't be told.
    pub fn is_in(data: &Path) -> io::Result<bool> {
        open::is_in(data)
    }

    /// The copy of the list that an earlier version has left in a data directory.
    pub fn former_copy(data: &Path) -> Option<PathBuf> {
        open::former_copy(data)
    }

    /// Opens the list in the data directory `data`, creating both when missing (mode 0700).
    ///
    /// # Errors
    /// [`OpenError`] says what was found and what to do. A list that is refused is not written to.
    pub fn open(data: &Path) -> Result<Self, OpenError> {
        Self::open_unless(&AtomicBool::new(false), data)
    }

    /// Like [`open`](Self::open), until `stop` becomes true: then it gives up, unless it has begun to
    /// write and will be done in a moment.
    ///
    /// # Errors
    /// Like [`open`](Self::open), and [`OpenError::Interrupted`].
    pub fn open_unless(stop: &AtomicBool, data: &Path) -> Result<Self, OpenError> {
        let open::Opened {
            database,
            entries,
            stock,
            mark,
            log,
            log_path,
            locks,
        } = open::open(data, stop)?;
        let (publish, count) = watch::channel(stock.count);
        let durable = Arc::new(Mutex::new(Moment {
            end: stock.tip.end(),
            count: stock.count,
        }));
        let syncs = Arc::default();
        let published = Published {
            durable: Arc::clone(&durable),
            syncs: Arc::clone(&syncs),
            count: publish,
        };
        let log_state = FileState::of(&log);
        let log_state = log_state.map_err(|error| OpenError::Io(data.to_owned(), error))?;
        let committer = Committer {
            database,
            entries: entries.clone(),
            log_state,
            overwrites: OverwriteMonitor::of(&log_path),
            log,
            log_path,
            known: stock.known,
            tip: stock.tip,
            mark,
            published,
        };
        let (queue, requests) = Queue::new(BATCH_MAX);
        let committer = thread::Builder::new()
            .name(THREAD.into())
            .spawn(move || committer.run(requests))
            .map_err(|error| OpenError::Io(data.to_owned(), error))?;
        Ok(Self {
            queue,
            committer: Some(committer),
            entries,
            durable,
            syncs,
            count,
            _locks: locks,
        })
    }

    /// The list between two batches.
    fn durable(&self) -> Moment {
        *self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often it has made something durable since it was opened: sign-ups that waited together
    /// share one sync.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }
}

impl Waitlist for SledWaitlist {
    fn join(&self, entry: Entry) -> Answer<'_, Joined> {
        self.queue.join(entry)
    }

    fn join_all(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Joined>> {
        self.queue.join_all(entries)
    }

    fn erase(&self, emails: &[Email]) -> Answer<'_, Vec<bool>> {
        let erasure = Erasure::of(emails);
        let (entries, end) = (self.entries.clone(), self.durable().end);
        Box::pin(async move {
            // It reads the whole list. The committer would keep everybody waiting.
            let search = spawn_blocking(move || search::search(&entries, end, erasure));
            let erasure = search.await.map_err(|_| StoreError::Unreadable)??;
            self.queue.erase(erasure).await
        })
    }

    fn erasures(&self) -> Answer<'_, u64> {
        Box::pin(async move {
            self.queue.barrier().await?;
            let Moment { end, count } = self.durable();
            Ok(end - count)
        })
    }

    fn ready(&self) -> Answer<'_, ()> {
        self.queue.ready()
    }

    fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.count.clone()
    }

    fn entries(&self, selection: Selection) -> Result<Entries, StoreError> {
        let Moment { end, count } = self.durable();
        let entries = entries::entries(self.entries.clone(), end, selection)?;
        Ok(Entries::new(count, entries))
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
fn reason(error: ::sled::Error) -> String {
    match error {
        ::sled::Error::Io(error) => error.to_string(),
        ::sled::Error::Corruption { .. } => "it is damaged".to_owned(),
        other => other.to_string(),
    }
}
