//! Opening the list's directory: its first creation, what must be synced before anything is built
//! upon it, and what is refused.

use std::{
    fmt,
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use super::{
    super::Entry,
    files::{
        copy_tree, create_private, forget_what_is_not_on_disk, put_back, remove_tree,
        sync_ancestors, sync_tree,
    },
    known::Known,
    lock::{LOCK_PATIENCE, lock},
    mark::Mark,
    reason,
    record::{self, Record},
};

/// sled's page cache, in bytes.
const CACHE_BYTES: u64 = 16 << 20;
/// How long opening may take: a damaged log can make sled hang. A million entries open in a second.
const OPEN_PATIENCE: Duration = Duration::from_secs(60);
/// And so much longer for each of these bytes, as a slow disk reads them in a second.
const OPEN_BYTES_A_SECOND: u64 = 1 << 20;

/// The store's own directory inside the data directory.
const STORE: &str = "waitlist";
/// Where a new store is made before it gets its name.
const STORE_IN_MAKING: &str = "waitlist.new";
/// What the store was before sled opened it, which changes it even when it can't read it.
const COPY: &str = "waitlist.copy";

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
    pub(super) mark: Mark,
    /// People on the list.
    pub(super) count: u64,
}

/// Whether there is something that may be a list.
pub(super) fn is_in(data: &Path) -> io::Result<bool> {
    data.join(STORE).try_exists()
}

/// Opens the list in the data directory `data`, making both when missing (mode 0700).
pub(super) fn open(data: &Path) -> Result<Opened, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    let mut directories = DirBuilder::new();
    let made = directories.recursive(true).mode(0o700).create(data);
    made.map_err(io)?;
    let lock = lock(data)?;
    let store = data.join(STORE);
    if !store.try_exists().map_err(io)? {
        in_time(data, create)?;
    }
    let Ok(log) = File::open(store.join("db")) else {
        return Err(OpenError::Store(store, "it holds no database".into()));
    };
    forget_what_is_not_on_disk(&log).map_err(io)?;
    let store = open_or_leave(data, &store)?;
    // An earlier start may have been cut off before it came to this.
    sync_ancestors(data).map_err(io)?;
    Ok(Opened { store, log, lock })
}

/// Makes a store beside its final place, syncs all of it, and renames it: after a power cut it is
/// there whole or not at all.
fn create(data: &Path) -> Result<(), OpenError> {
    let create = || -> ::sled::Result<()> {
        let making = data.join(STORE_IN_MAKING);
        remove_tree(&making)?;
        // The data directory may have been there, open to others; sled makes its files by umask.
        create_private(&making)?;
        Mark::create(&making)?;
        let database = config(&making).open()?;
        database.insert(FORMAT_KEY, &FORMAT.to_be_bytes())?;
        database.open_tree(ENTRIES)?;
        database.flush()?;
        drop(database);
        sync_tree(&making)?;
        fs::rename(&making, data.join(STORE))?;
        Ok(())
    };
    create().map_err(|error| OpenError::Io(data.to_owned(), io_error(error)))
}

/// Opens a store, or leaves it as it was.
fn open_or_leave(data: &Path, store: &Path) -> Result<Store, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    let copy = data.join(COPY);
    // Of a start that was cut off.
    remove_tree(&copy).map_err(io)?;
    copy_tree(store, &copy)
        .inspect_err(|_| {
            // Half a copy is of no use, and a full disk needs the space. The reason is told already.
            let _ = remove_tree(&copy);
        })
        .map_err(io)?;
    let opened = in_time(store, open_store);
    if opened.is_err() {
        put_back(&copy, store).map_err(io)?;
    }
    remove_tree(&copy).map_err(io)?;
    opened
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

/// Does it on a thread of its own: sled can hang on what is damaged, and that must be told.
fn in_time<T: Send + 'static>(
    place: &Path,
    open: fn(&Path) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let (sender, opened) = mpsc::channel();
    let path = place.to_owned();
    thread::spawn(move || {
        // Nobody listens any more once the time is up.
        let _ = sender.send(open(&path));
    });
    let bytes = fs::metadata(place.join("db")).map_or(0, |database| database.len());
    let patience = OPEN_PATIENCE + Duration::from_secs(bytes / OPEN_BYTES_A_SECOND);
    opened.recv_timeout(patience).unwrap_or_else(|error| {
        let told = match error {
            RecvTimeoutError::Timeout => {
                format!("opening took more than {} s", patience.as_secs())
            }
            RecvTimeoutError::Disconnected => "it is damaged (see above)".to_owned(),
        };
        Err(OpenError::Store(place.to_owned(), told))
    })
}

fn open_store(store: &Path) -> Result<Store, OpenError> {
    let damaged = |what: String| OpenError::Store(store.to_owned(), what);
    let io = |error| OpenError::Io(store.to_owned(), error);
    let failed = |error| match error {
        ::sled::Error::Io(error) => io(error),
        other => damaged(reason(other)),
    };
    remove_half_written_snapshots(store).map_err(io)?;

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
            let found = found.map(|number| format!("format {number}"));
            let found = found.unwrap_or("an unknown format".into());
            return Err(damaged(other_format(&found)));
        }
        None if database.contains_key("\0format").map_err(failed)? => {
            return Err(damaged(other_format("format 1")));
        }
        None => return Err(damaged("it is not a waitlist".into())),
    }
    let entries = database.open_tree(ENTRIES).map_err(failed)?;
    let mark = Mark::open(store);
    let mark = mark.map_err(|error| damaged(format!("its file `mark` can't be read: {error}")))?;
    let mut opened = Store {
        database,
        entries,
        known: Known::default(),
        tip: Record::starting_at(0),
        mark,
        count: 0,
    };
    opened.take_stock().map_err(damaged)?;

    opened.database.flush().map_err(failed)?;
    sync_tree(store).map_err(io)?;
    let parent = store.parent().unwrap_or(store);
    let synced = File::open(parent).and_then(|data| data.sync_all());
    synced.map_err(io)?;
    Ok(opened)
}

fn other_format(found: &str) -> String {
    format!(
        "it has {found}, and this version of the program reads format {FORMAT}: run the version \
         that wrote it"
    )
}

impl Store {
    /// Reads every entry. Says what is wrong with the store when there is something.
    fn take_stock(&mut self) -> Result<(), String> {
        let told = |error: io::Error| error.to_string();
        for found in &self.entries {
            let (key, bytes) = found.map_err(reason)?;
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
        let (end, mark) = (self.tip.end(), self.mark.get().map_err(told)?);
        if end < mark {
            return Err(format!(
                "the entries from number {end} to {mark} are missing"
            ));
        }
        self.mark.set(end).map_err(told)
    }
}

fn io_error(error: ::sled::Error) -> io::Error {
    match error {
        ::sled::Error::Io(error) => error,
        other => io::Error::other(other),
    }
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
                 name another with --store",
                data.display()
            ),
            Self::Io(data, error) => write!(
                f,
                "the data directory {} can't be used: {error}; see to its disk, owner and rights, \
                 or name another with --store",
                data.display()
            ),
            Self::Store(store, what) => write!(
                f,
                "the waitlist in {} can't be opened: {what}; nothing was changed. Restore it from \
                 a copy, or name another place with --store",
                store.display()
            ),
        }
    }
}

impl std::error::Error for OpenError {}
