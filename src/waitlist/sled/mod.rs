//! The list in sled, an embedded store: one thread owns every write.

mod committer;
mod entries;
mod known;
mod open;
mod record;

use std::{
    fs::File,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use tokio::sync::{mpsc, oneshot, watch};

use super::{Answer, Email, Entries, Entry, Joined, StoreError, Waitlist};
use committer::{Committer, Published, Request};

pub use open::OpenError;

/// Requests that may wait for the committer. Beyond it they are turned away at once.
const QUEUE_MAX: usize = 4096;

/// The list in a directory on this machine. Dropping it commits what is accepted.
#[derive(Debug)]
pub struct SledWaitlist {
    /// `None` only while dropping.
    queue: Option<mpsc::Sender<Request>>,
    committer: Option<thread::JoinHandle<()>>,
    entries: ::sled::Tree,
    end: Arc<AtomicU64>,
    count: watch::Receiver<u64>,
    _lock: File,
}

impl SledWaitlist {
    /// Opens the list in the data directory `data`, making both when missing (mode 0700).
    ///
    /// # Errors
    /// [`OpenError`] says what was found and what to do; nothing was overwritten.
    pub fn open(data: &Path) -> Result<Self, OpenError> {
        let open::Opened { store, log, lock } = open::open(data)?;
        let end = Arc::new(AtomicU64::new(store.tip.end()));
        let (publish, count) = watch::channel(store.count);
        let entries = store.entries.clone();
        let committer = Committer {
            database: store.database,
            entries: store.entries,
            log,
            known: store.known,
            tip: store.tip,
            published: Published {
                end: Arc::clone(&end),
                count: publish,
            },
        };
        let (queue, requests) = mpsc::channel(QUEUE_MAX);
        let committer = thread::Builder::new()
            .name("committer".into())
            .spawn(move || committer.run(requests))
            .map_err(|error| OpenError::Io(data.to_owned(), error))?;
        Ok(Self {
            queue: Some(queue),
            committer: Some(committer),
            entries,
            end,
            count,
            _lock: lock,
        })
    }

    /// Asks the committer, and waits until what it answers is durable.
    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Answer<'_, T> {
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or(StoreError::Stopped);
        let sent = queue.and_then(|queue| {
            queue
                .try_send(request(answer))
                .map_err(|error| match error {
                    mpsc::error::TrySendError::Full(_) => StoreError::Busy,
                    mpsc::error::TrySendError::Closed(_) => StoreError::Stopped,
                })
        });
        Box::pin(async move {
            sent?;
            answered.await.map_err(|_| StoreError::Stopped)
        })
    }
}

impl Waitlist for SledWaitlist {
    fn join(&self, entry: Entry) -> Answer<'_, Joined> {
        self.ask(|answer| Request::Join(entry, answer))
    }

    fn erase(&self, email: &Email) -> Answer<'_, bool> {
        self.ask(|answer| Request::Erase(email.key(), answer))
    }

    fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.count.clone()
    }

    fn entries(&self) -> Result<Entries, StoreError> {
        let end = self.end.load(Ordering::Acquire);
        Ok(Box::new(entries::entries(self.entries.clone(), end)?))
    }
}

impl Drop for SledWaitlist {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(committer) = self.committer.take() {
            // It can only fail by a panic, which has been printed.
            let _ = committer.join();
        }
    }
}
