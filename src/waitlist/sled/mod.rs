//! The list in sled, an embedded store: one committer thread owns every write.
//!
//! sled's own `flush()` is not durable (0.34.7 calls `sync_file_range` and never `fsync`) and its
//! `flush_async()` deadlocks with eight and more tasks. So the committer takes what is waiting,
//! applies it as one batch, flushes, syncs the database file itself, and only then answers
//! everyone in the batch: those who wait share one sync, and who is alone waits for nobody.

mod open;

use std::{collections::HashSet, fs::File, path::Path, process, thread, time::UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot, watch};

use super::{Answer, Entry, Joined, StoreError, Waitlist};

pub use open::OpenError;

/// Sign-ups that may wait for the committer. Beyond it they are turned away at once.
const QUEUE_MAX: usize = 4096;
/// Sign-ups in one batch. Between two syncs at most one segment of sled's log (512 KiB) may be
/// begun: power-cut states with several unsynced segments made `open()` hang for good.
const BATCH_MAX: usize = 512;
/// Keys of our own begin with NUL, which no address contains.
const COUNT_KEY: &[u8] = b"\0count";

/// The list in a directory on this machine. Dropping it commits what is accepted.
#[derive(Debug)]
pub struct SledWaitlist {
    /// `None` only while dropping.
    queue: Option<mpsc::Sender<Waiting>>,
    committer: Option<thread::JoinHandle<()>>,
    count: watch::Receiver<u64>,
    _lock: File,
}

impl SledWaitlist {
    /// Opens the list in the data directory `data`, making both when missing (mode 0700).
    ///
    /// # Errors
    /// [`OpenError`] says what was found and what to do; nothing was overwritten.
    pub fn open(data: &Path) -> Result<Self, OpenError> {
        let open::Opened {
            database,
            log,
            count,
            lock,
        } = open::open(data)?;
        let (publish, count) = watch::channel(count);
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let committer = Committer {
            database,
            log,
            count: publish,
        };
        let committer = thread::Builder::new()
            .name("committer".into())
            .spawn(move || {
                let _stop = StopOnPanic;
                committer.run(waiting);
            })
            .map_err(|error| OpenError::Io(data.to_owned(), error))?;
        Ok(Self {
            queue: Some(queue),
            committer: Some(committer),
            count,
            _lock: lock,
        })
    }
}

impl Waitlist for SledWaitlist {
    fn join(&self, entry: Entry) -> Answer<'_, Joined> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let queue = self.queue.as_ref().ok_or(StoreError::Stopped)?;
            queue
                .try_send(Waiting { entry, answer })
                .map_err(|error| match error {
                    mpsc::error::TrySendError::Full(_) => StoreError::Busy,
                    mpsc::error::TrySendError::Closed(_) => StoreError::Stopped,
                })?;
            answered.await.map_err(|_| StoreError::Stopped)
        })
    }

    fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.count.clone()
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

/// A sign-up and the one who waits for its answer.
struct Waiting {
    entry: Entry,
    answer: oneshot::Sender<Joined>,
}

/// The one thread that writes.
struct Committer {
    database: ::sled::Db,
    /// sled's log, opened once more to sync it.
    log: File,
    count: watch::Sender<u64>,
}

impl Committer {
    /// Commits until the queue is closed and empty.
    fn run(self, mut queue: mpsc::Receiver<Waiting>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
            match self.commit(&batch) {
                Ok(outcomes) => {
                    for (waiting, joined) in batch.drain(..).zip(outcomes) {
                        // Who has gone away meanwhile needs no answer.
                        let _ = waiting.answer.send(joined);
                    }
                }
                Err(error) => {
                    // After a failed sync the kernel may drop the pages and call the next sync a
                    // success. Nothing this process could still do is safe; a restart reads what
                    // the disk really holds.
                    eprintln!("landing: the waitlist can't be written, so it stops: {error}");
                    process::exit(1);
                }
            }
        }
    }

    /// Makes a batch durable and says, in its order, how each sign-up ended.
    fn commit(&self, waiting: &[Waiting]) -> ::sled::Result<Vec<Joined>> {
        let mut fresh = HashSet::new();
        let mut batch = ::sled::Batch::default();
        let mut outcomes = Vec::with_capacity(waiting.len());
        for Waiting { entry, .. } in waiting {
            let key = entry.email.key();
            if fresh.contains(&key) || self.database.contains_key(&key)? {
                outcomes.push(Joined::AlreadyListed);
                continue;
            }
            batch.insert(key.as_bytes(), encode(entry));
            fresh.insert(key);
            outcomes.push(Joined::New);
        }
        if fresh.is_empty() {
            // Every earlier entry is durable: batches are committed one after the other.
            return Ok(outcomes);
        }
        let count = *self.count.borrow() + fresh.len() as u64;
        batch.insert(COUNT_KEY, &count.to_be_bytes());
        self.database.apply_batch(batch)?;
        self.database.flush()?;
        self.log.sync_data()?;
        self.count.send_replace(count);
        Ok(outcomes)
    }
}

/// A committer that panicked inside sled commits no more: the process stops like after a failed
/// write, so that whoever watches over it starts it anew.
struct StopOnPanic;

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            process::exit(1);
        }
    }
}

/// The value under an address in lower case: milliseconds since 1970 (big-endian `u64`), then the
/// address as typed.
fn encode(entry: &Entry) -> Vec<u8> {
    let since = entry
        .joined_at
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut value = u64::try_from(since.as_millis())
        .unwrap_or(u64::MAX)
        .to_be_bytes()
        .to_vec();
    value.extend_from_slice(entry.email.as_typed().as_bytes());
    value
}
