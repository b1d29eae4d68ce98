//! The list in sled, an embedded store: one committer thread owns every write.
//!
//! sled's own `flush()` is not durable (0.34.7 calls `sync_file_range` and never `fsync`) and its
//! `flush_async()` deadlocks with eight and more tasks. So the committer takes what is waiting,
//! applies it as one batch, flushes, syncs the database file itself, and only then answers
//! everyone in the batch: those who wait share one sync, and who is alone waits for nobody.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc as std_mpsc,
    },
    thread,
    time::{Duration, Instant, UNIX_EPOCH},
};

use tokio::sync::{mpsc, oneshot};

use super::{Answer, Entry, Joined, StoreError, Waitlist};

/// Sign-ups that may wait for the committer. Beyond it they are turned away at once.
const QUEUE_MAX: usize = 4096;
/// Sign-ups in one batch. Between two syncs at most one segment of sled's log (512 KiB) may be
/// begun: power-cut states with several unsynced segments made `open()` hang for good.
const BATCH_MAX: usize = 512;
/// sled's page cache, in bytes. Its own default is 1 GiB.
const CACHE_BYTES: u64 = 64 << 20;
/// The lock of a handle that was just dropped lingers for milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// A damaged log can make `open()` hang; a million entries open in about a second.
const OPEN_PATIENCE: Duration = Duration::from_secs(60);

/// The store's own directory inside the data directory.
const STORE: &str = "waitlist";
/// Where a new store is made before it gets its name.
const STORE_IN_MAKING: &str = "waitlist.new";
/// Locked while a process uses the data directory; holds its id.
const LOCK: &str = "lock";

/// Keys of our own begin with NUL, which no address contains.
const FORMAT_KEY: &[u8] = b"\0format";
const COUNT_KEY: &[u8] = b"\0count";
/// Version of what is stored: address in lower case → milliseconds since 1970 (big-endian `u64`),
/// then the address as typed.
const FORMAT: &[u8] = b"1";

/// The list in a directory on this machine. Dropping it commits what is accepted.
#[derive(Debug)]
pub struct SledWaitlist {
    /// `None` only while dropping.
    queue: Option<mpsc::Sender<Waiting>>,
    committer: Option<thread::JoinHandle<()>>,
    count: Arc<AtomicU64>,
    _lock: File,
}

impl SledWaitlist {
    /// Opens the list in the data directory `data`, making both when missing (mode 0700).
    ///
    /// # Errors
    /// [`OpenError`] says what was found and what to do; nothing was overwritten.
    pub fn open(data: &Path) -> Result<Self, OpenError> {
        let io = |error| OpenError::Io(data.to_owned(), error);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data)
            .map_err(io)?;
        let lock = lock(data)?;
        let store = data.join(STORE);
        if !store.try_exists().map_err(io)? {
            create(data).map_err(|error| OpenError::Store(data.to_owned(), error.to_string()))?;
        }

        let (database, count) = open_in_time(&store)?;
        let file = File::open(store.join("db")).map_err(io)?;
        let count = Arc::new(AtomicU64::new(count));
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let committer = Committer {
            database,
            file,
            count: Arc::clone(&count),
        };
        let committer = thread::Builder::new()
            .name("committer".into())
            .spawn(move || committer.run(waiting))
            .map_err(io)?;
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
        self.count.load(Ordering::Acquire)
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
    file: File,
    count: Arc<AtomicU64>,
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
        let count = self.count.load(Ordering::Acquire) + fresh.len() as u64;
        batch.insert(COUNT_KEY, &count.to_be_bytes());
        self.database.apply_batch(batch)?;
        self.database.flush()?;
        self.file.sync_data()?;
        self.count.store(count, Ordering::Release);
        Ok(outcomes)
    }
}

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

/// Takes the data directory for this process, until the file is closed.
fn lock(data: &Path) -> Result<File, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(data.join(LOCK))
        .map_err(io)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_PATIENCE => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder).map_err(io)?;
                return Err(OpenError::Held(data.to_owned(), holder.trim().to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
    }
    file.set_len(0).map_err(io)?;
    file.rewind().map_err(io)?;
    writeln!(file, "{}", process::id()).map_err(io)?;
    Ok(file)
}

/// Makes a store beside its final place, syncs all of it, and renames it: after a power cut it is
/// there whole or not at all.
fn create(data: &Path) -> ::sled::Result<()> {
    let making = data.join(STORE_IN_MAKING);
    if making.try_exists()? {
        fs::remove_dir_all(&making)?;
    }
    let database = config(&making).open()?;
    let mut batch = ::sled::Batch::default();
    batch.insert(FORMAT_KEY, FORMAT);
    batch.insert(COUNT_KEY, &0u64.to_be_bytes());
    database.apply_batch(batch)?;
    database.flush()?;
    drop(database);
    sync_tree(&making)?;
    fs::rename(&making, data.join(STORE))?;
    File::open(data)?.sync_all()?;
    sync_ancestors(data)
}

/// Syncs the names of directories that may just have been made.
fn sync_ancestors(directory: &Path) -> ::sled::Result<()> {
    for ancestor in directory.canonicalize()?.ancestors().skip(1) {
        match File::open(ancestor) {
            Ok(open) => open.sync_all()?,
            // What we may not even read, we did not make.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn sync_tree(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::open(&path)?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()
}

fn config(store: &Path) -> ::sled::Config {
    ::sled::Config::new()
        .path(store)
        .cache_capacity(CACHE_BYTES)
        // Nothing is written outside the committer's own rhythm.
        .flush_every_ms(None)
}

/// Opens a store that exists, on a thread of its own: an `open()` that hangs must be told.
fn open_in_time(store: &Path) -> Result<(::sled::Db, u64), OpenError> {
    let (sender, opened) = std_mpsc::channel();
    let path = store.to_owned();
    thread::spawn(move || {
        // Nobody listens any more once the time is up.
        let _ = sender.send(open(&path));
    });
    opened.recv_timeout(OPEN_PATIENCE).unwrap_or_else(|_| {
        let told = format!("opening took more than {} s", OPEN_PATIENCE.as_secs());
        Err(OpenError::Store(store.to_owned(), told))
    })
}

fn open(store: &Path) -> Result<(::sled::Db, u64), OpenError> {
    let failed = |error: ::sled::Error| OpenError::Store(store.to_owned(), error.to_string());
    let damaged = |what: &str| OpenError::Store(store.to_owned(), what.to_owned());
    // What an earlier life left in the page cache must not be built upon.
    let log = File::open(store.join("db")).map_err(|_| damaged("it holds no database"))?;
    log.sync_all().map_err(|error| failed(error.into()))?;
    remove_half_written_snapshots(store).map_err(|error| failed(error.into()))?;

    let begun = Instant::now();
    let database = loop {
        match config(store).open() {
            Ok(database) => break database,
            Err(::sled::Error::Io(error))
                if error.kind() == io::ErrorKind::Other && begun.elapsed() < LOCK_PATIENCE =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(failed(error)),
        }
    };
    match database.get(FORMAT_KEY).map_err(failed)? {
        Some(format) if format == FORMAT => {}
        Some(_) => return Err(damaged("it was written by a newer version of this program")),
        None => return Err(damaged("it is not a waitlist")),
    }
    let count = database.get(COUNT_KEY).map_err(failed)?;
    let count = count
        .and_then(|bytes| Some(u64::from_be_bytes(bytes.as_ref().try_into().ok()?)))
        .ok_or_else(|| damaged("its count is missing"))?;

    database.flush().map_err(failed)?;
    sync_tree(store).map_err(|error| failed(error.into()))?;
    sync_ancestors(store).map_err(failed)?;
    Ok((database, count))
}

/// A snapshot whose writing was cut off; sled never removes it.
fn remove_half_written_snapshots(store: &Path) -> io::Result<()> {
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Why the list can't be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process, of this id, uses the data directory.
    Held(PathBuf, String),
    /// The data directory can't be read or written.
    Io(PathBuf, io::Error),
    /// What is in it can't be used.
    Store(PathBuf, String),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Held(data, holder) => write!(
                f,
                "the data directory {} is in use by process {holder}; stop that one first, or \
                 name another with --data",
                data.display()
            ),
            Self::Io(data, error) => write!(
                f,
                "the data directory {} can't be used: {error}; see to its owner and rights, or \
                 name another with --data",
                data.display()
            ),
            Self::Store(store, what) => write!(
                f,
                "the waitlist in {} can't be opened: {what}; nothing was changed. Restore it from \
                 a copy, or name another place with --data",
                store.display()
            ),
        }
    }
}

impl std::error::Error for OpenError {}
