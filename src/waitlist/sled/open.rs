//! Opening the list's directory: the lock, the first creation, and what must be synced before
//! anything is built upon it.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use super::{
    super::Entry,
    known::Known,
    record::{self, Record},
};

/// sled's page cache, in bytes.
const CACHE_BYTES: u64 = 16 << 20;
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

/// Version of what is stored, see `super::record`. It stands in sled's default tree.
const FORMAT_KEY: &str = "format";
const FORMAT: u64 = 2;
/// The tree of the records.
const ENTRIES: &str = "entries";

/// An open list.
pub(super) struct Opened {
    pub(super) store: Store,
    /// sled's log, opened once more to sync it.
    pub(super) log: File,
    /// The data directory is this process's for as long as this is open.
    pub(super) lock: File,
}

/// What was found in the store.
pub(super) struct Store {
    pub(super) database: ::sled::Db,
    pub(super) entries: ::sled::Tree,
    pub(super) known: Known,
    /// The last record.
    pub(super) tip: Record,
    /// People on the list.
    pub(super) count: u64,
}

/// Opens the list in the data directory `data`, making both when missing (mode 0700).
pub(super) fn open(data: &Path) -> Result<Opened, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .map_err(io)?;
    let lock = lock(data)?;
    Ok(Opened {
        store: open_in_time(data)?,
        log: File::open(data.join(STORE).join("db")).map_err(io)?,
        lock,
    })
}

/// Takes the data directory for this process, until the file is closed.
fn lock(data: &Path) -> Result<File, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    let path = data.join(LOCK);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(io)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_PATIENCE => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).map_err(io)?;
                return Err(OpenError::Held(data.to_owned(), holder.trim().to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
    }
    // Of an id that was being written when the power went, any part may be there, or zeros.
    let mut before = Vec::new();
    file.read_to_end(&mut before).map_err(io)?;
    if !before.iter().all(|byte| b"0123456789\n\0".contains(byte)) {
        return Err(io(io::Error::other(
            "its file `lock` is of another program",
        )));
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
    // The data directory may have been there, open to others; sled makes its files by umask.
    fs::DirBuilder::new().mode(0o700).create(&making)?;
    let database = config(&making).open()?;
    database.insert(FORMAT_KEY, &FORMAT.to_be_bytes())?;
    database.open_tree(ENTRIES)?;
    database.flush()?;
    drop(database);
    sync_tree(&making)?;
    fs::rename(&making, data.join(STORE))?;
    File::open(data)?.sync_all()?;
    Ok(sync_ancestors(data)?)
}

/// Syncs the names of directories that may just have been made.
fn sync_ancestors(directory: &Path) -> io::Result<()> {
    for ancestor in directory.canonicalize()?.ancestors().skip(1) {
        match File::open(ancestor).and_then(|open| open.sync_all()) {
            // What we may not read, and what can't be synced, we did not make.
            Err(error) if is_not_ours(&error) => break,
            synced => synced?,
        }
    }
    Ok(())
}

fn is_not_ours(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
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

/// How sled is set. `make bench-store` with one setting changed at a time, sign-ups a second with 64
/// clients (132,000 by default; runs of the same setting differ by 8 %) and with a million entries:
///
/// | setting | tried | |
/// |---|---|---|
/// | cache | 4, **16**, 64, 256 MiB (default 1 GiB) | 130,000, 123,000, 144,000, 122,000; memory of a million 116 to 119 MB: only who exports reads pages again |
/// | segment | 64, 128, **512 KiB**, 4 MiB | 129,000, 135,000, 132,000, 137,000; 75, 78, 76, 88 bytes an entry; small ones would be begun by one batch |
/// | mode | **low space**, high throughput | 132,000, 130,000; both 76 bytes an entry: there is little to clean |
/// | flush interval | **none**, 500 ms (default) | 132,000, 144,000; nothing may be written outside the committer's rhythm |
/// | snapshot interval | **default** | the setting has no effect in 0.34.7: a snapshot is made at each start |
fn config(store: &Path) -> ::sled::Config {
    ::sled::Config::new()
        .path(store)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None)
}

/// Opens the store, on a thread of its own: an `open()` that hangs must be told.
fn open_in_time(data: &Path) -> Result<Store, OpenError> {
    let (sender, opened) = mpsc::channel();
    let path = data.to_owned();
    thread::spawn(move || {
        // Nobody listens any more once the time is up.
        let _ = sender.send(open_or_create(&path));
    });
    opened.recv_timeout(OPEN_PATIENCE).unwrap_or_else(|error| {
        let told = match error {
            RecvTimeoutError::Timeout => {
                format!("opening took more than {} s", OPEN_PATIENCE.as_secs())
            }
            RecvTimeoutError::Disconnected => "it is damaged (see above)".to_owned(),
        };
        Err(OpenError::Store(data.join(STORE), told))
    })
}

fn open_or_create(data: &Path) -> Result<Store, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    let store = data.join(STORE);
    if !store.try_exists().map_err(io)? {
        create(data).map_err(|error| io(io_error(error)))?;
    }
    open_store(&store)
}

fn open_store(store: &Path) -> Result<Store, OpenError> {
    let failed = |error: ::sled::Error| OpenError::Store(store.to_owned(), error.to_string());
    let damaged = |what: String| OpenError::Store(store.to_owned(), what);
    let log = File::open(store.join("db")).map_err(|_| damaged("it holds no database".into()))?;
    forget_what_is_not_on_disk(&log).map_err(|error| failed(error.into()))?;
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
        Some(format) if *format == FORMAT.to_be_bytes() => {}
        Some(format) => {
            let found = format.as_ref().try_into().map(u64::from_be_bytes);
            return Err(damaged(format!(
                "it has {}, this version of the program reads format {FORMAT}: run the version \
                 that wrote it",
                found.map_or("an unknown format".into(), |found| format!(
                    "format {found}"
                ))
            )));
        }
        None => return Err(damaged("it is not a waitlist".into())),
    }
    let entries = database.open_tree(ENTRIES).map_err(failed)?;
    let mut opened = Store {
        database,
        entries,
        known: Known::default(),
        tip: Record::starting_at(0),
        count: 0,
    };
    opened.take_stock().map_err(damaged)?;

    opened.database.flush().map_err(failed)?;
    sync_tree(store).map_err(|error| failed(error.into()))?;
    let parent = store.parent().unwrap_or(store);
    let synced = File::open(parent).and_then(|data| data.sync_all());
    synced.map_err(|error| failed(error.into()))?;
    Ok(opened)
}

impl Store {
    /// Reads every entry. Says what is wrong with the store when there is something.
    fn take_stock(&mut self) -> Result<(), String> {
        for found in &self.entries {
            let (key, bytes) = found.map_err(|error| error.to_string())?;
            let next = self.tip.end();
            let (first, places) = record::parse(&key, &bytes)
                .ok_or_else(|| format!("the entries from number {next} on are damaged"))?;
            if first != next {
                return Err(format!(
                    "the entries from number {next} to {first} are missing"
                ));
            }
            for entry in places.iter().copied().flatten() {
                self.known.insert(&Entry::from(entry).email.key());
                self.count += 1;
            }
            self.tip = Record::of(first, &places);
        }
        Ok(())
    }
}

fn io_error(error: ::sled::Error) -> io::Error {
    match error {
        ::sled::Error::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// What an earlier life left in the page cache must not be built upon. Unwritten pages are written;
/// and pages that could not be, which the kernel keeps and calls clean after a failed sync, are
/// dropped, so that what is read next is what the disk holds.
fn forget_what_is_not_on_disk(file: &File) -> io::Result<()> {
    file.sync_all()?;
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
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

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
