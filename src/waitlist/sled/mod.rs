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
    io, panic,
    path::Path,
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};

use super::{Answer, Email, Entries, Entry, Joined, Selection, StoreError, Waitlist};
use committer::{BATCH_MAX, Committer, Moment, Published, Request};

pub use open::OpenError;

/// The name of the thread that writes.
const COMMITTER: &str = "committer";
/// Requests that may wait for the committer. Beyond it they are turned away at once.
const QUEUE_MAX: usize = 4096;

/// How long an answer may take. A disk that does not write any more must not keep people waiting.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// The list in a directory on this machine. Dropping it commits what is accepted.
#[derive(Debug)]
pub struct SledWaitlist {
    /// `None` only while dropping.
    queue: Option<mpsc::Sender<Request>>,
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
        let (queue, requests) = mpsc::channel(QUEUE_MAX);
        let committer = thread::Builder::new()
            .name(COMMITTER.into())
            .spawn(move || committer.run(requests))
            .map_err(|error| OpenError::Io(data.to_owned(), error))?;
        Ok(Self {
            queue: Some(queue),
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
            in_time(answered).await
        })
    }

    /// For the owner, who is not turned away.
    async fn wait_for_room(&self, request: Request) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Stopped)?;
        let sent = queue.send(request).await;
        sent.map_err(|_| StoreError::Stopped)
    }
}

async fn in_time<T>(answered: oneshot::Receiver<T>) -> Result<T, StoreError> {
    let answered = timeout(ANSWER_PATIENCE, answered).await;
    let answered = answered.map_err(|_| StoreError::TimedOut)?;
    answered.map_err(|_| StoreError::Stopped)
}

/// From now on the process ends when a thread of the store panics: sled's own would leave those who
/// wait for a write waiting, and without the committer nobody could sign up. Who watches over the
/// process starts it anew.
pub fn stop_if_the_store_panics() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or_default();
        if name == COMMITTER || name.starts_with("sled-io-") {
            // Not by the log, which may write it too late.
            let place = panic.location().map(ToString::to_string);
            eprintln!(
                "landing: a fault of the store at {}; it stops, with everything that was acknowledged \
                 on the disk. Start it again",
                place.as_deref().unwrap_or("a place unknown")
            );
            process::exit(1);
        }
        tell(panic);
    }));
}

impl Waitlist for SledWaitlist {
    fn join(&self, entry: Entry) -> Answer<'_, Joined> {
        self.ask(|answer| Request::Join(entry, answer))
    }

    fn join_all(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Joined>> {
        Box::pin(async move {
            let (mut entries, mut waiting) = (entries.into_iter(), Vec::new());
            while entries.len() > 0 {
                let batch = entries.by_ref().take(BATCH_MAX).collect();
                let (answer, answered) = oneshot::channel();
                self.wait_for_room(Request::JoinAll(batch, answer)).await?;
                waiting.push(answered);
            }
            let mut joined = Vec::new();
            for answered in waiting {
                joined.extend(in_time(answered).await?);
            }
            Ok(joined)
        })
    }

    fn erase(&self, emails: &[Email]) -> Answer<'_, Vec<bool>> {
        let keys = emails.iter().map(Email::key).collect();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.wait_for_room(Request::Erase(keys, answer)).await?;
            in_time(answered).await
        })
    }

    fn ready(&self) -> Answer<'_, ()> {
        self.ask(Request::Ready)
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
        self.queue = None;
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
