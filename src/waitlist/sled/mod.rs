//! The list in sled, an embedded store: one thread owns every write.

mod committer;
mod entries;
mod files;
mod known;
mod lock;
mod mark;
mod open;
mod record;

use std::{
    fs::File,
    io,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use tokio::sync::watch;

use super::{
    Answer, Email, Entries, Entry, Joined, Selection, StoreError, Waitlist,
    queue::{Queue, THREAD},
};
use committer::{BATCH_MAX, Committer, Moment, Published};

pub use open::OpenError;

/// The list in a directory on this machine. Dropping it commits what is accepted.
#[derive(Debug)]
pub struct SledWaitlist {
    queue: Queue,
    committer: Option<thread::JoinHandle<()>>,
    entries: ::sled::Tree,
    durable: Arc<Mutex<Moment>>,
    syncs: Arc<AtomicU64>,
    count: watch::Receiver<u64>,
    _lock: File,
}

impl SledWaitlist {
    /// Whether there is a list in a data directory.
    ///
    /// # Errors
    /// When it can't be told.
    pub fn is_in(data: &Path) -> io::Result<bool> {
        open::is_in(data)
    }

    /// Opens the list in the data directory `data`, making both when missing (mode 0700).
    ///
    /// # Errors
    /// [`OpenError`] says what was found and what to do; nothing was overwritten.
    pub fn open(data: &Path) -> Result<Self, OpenError> {
        let open::Opened { store, log, lock } = open::open(data)?;
        let (publish, count) = watch::channel(store.count);
        let durable = Arc::new(Mutex::new(Moment {
            end: store.tip.end(),
            count: store.count,
        }));
        let syncs = Arc::default();
        let published = Published {
            durable: Arc::clone(&durable),
            syncs: Arc::clone(&syncs),
            count: publish,
        };
        let entries = store.entries.clone();
        let committer = Committer {
            database: store.database,
            entries: store.entries,
            log,
            known: store.known,
            tip: store.tip,
            mark: store.mark,
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
            _lock: lock,
        })
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
        self.queue.erase(emails)
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
        let Moment { end, count } = *self.durable.lock().unwrap_or_else(PoisonError::into_inner);
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
