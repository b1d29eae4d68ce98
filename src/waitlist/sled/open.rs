//! Opens the list, creates it the first time, and refuses a store that is damaged or of another version.
//!
//! A list is opened twice. First a copy of it is opened and read from end to end ([`Trial`]), while the
//! original is only read. When the copy is in order, sled opens the original, where its recovery takes
//! the same steps. That recovery can be interrupted at any moment and begun again. Undoing it can't:
//! earlier versions put a copy back over a store that they refused, and lost lists. So nothing is ever
//! written back.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    thread::sleep,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    OpenError,
    deadline::{Problem, in_time},
    files::{create_private, drop_from_page_cache, is_at, remove_tree, sync_ancestors, sync_tree},
    lock::{LOCK_TIMEOUT, Locks, RETRY_INTERVAL, lock_log},
    mark::Mark,
    stock::Stock,
    trial::{LOG, Trial},
};

/// sled's page cache, in bytes.
const CACHE_BYTES: u64 = 16 << 20;

/// The store's own directory inside the data directory.
const STORE: &str = "waitlist";
/// Where a new store is created before it gets its name.
const NEW_STORE: &str = "waitlist.new";
/// The copy that is opened first.
const TRIAL: &str = "waitlist.trial";
/// A copy of the store that earlier versions made, and put back over a store that they refused. When that
/// was interrupted it was the only whole one, so it is never removed here.
const FORMER_COPY: &str = "waitlist.copy";

/// Version of what is stored, see `super::record`. It stands in sled's default tree.
const FORMAT_KEY: &str = "format";
const FORMAT: u64 = 2;
/// The tree of the records.
const ENTRIES: &str = "entries";

/// An open list.
pub(super) struct Opened {
    pub(super) database: ::sled::Db,
    pub(super) entries: ::sled::Tree,
    pub(super) stock: Stock,
    pub(super) mark: Mark,
    /// sled's log, opened once more to sync it.
    pub(super) log: File,
    pub(super) log_path: PathBuf,
    /// The list belongs to this process for as long as this exists.
    pub(super) locks: Locks,
}

/// Whether there is something that may be a list.
pub(super) fn is_in(data: &Path) -> io::Result<bool> {
    data.join(STORE).try_exists()
}

/// The copy of the list that an earlier version has left in a data directory.
pub(super) fn former_copy(data: &Path) -> Option<PathBuf> {
    let copy = data.join(FORMER_COPY);
    copy.is_dir().then_some(copy)
}

/// Opens the list in the data directory `data`, creating both when missing (mode 0700). When `stop`
/// becomes true it gives up, as long as nothing was written.
pub(super) fn open(data: &Path, stop: &AtomicBool) -> Result<Opened, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    // sled panics with such a clock.
    if SystemTime::now() < UNIX_EPOCH {
        return Err(io(io::Error::other(
            "the clock of this machine is before 1970",
        )));
    }
    let mut directories = DirBuilder::new();
    let created = directories.recursive(true).mode(0o700).create(data);
    created.map_err(io)?;
    let mut locks = Locks::of_data(data)?;
    let store = data.join(STORE);
    if !store.try_exists().map_err(io)? {
        create(data)?;
    }
    locks.add_store(&store)?;
    let log_path = std::path::absolute(store.join(LOG)).map_err(io)?;
    if !log_path.is_file() {
        let what = "it holds no database; nothing was changed".into();
        return Err(OpenError::Store(store, what));
    }
    let log = File::open(&log_path).map_err(io)?;
    lock_log(&log, data)?;
    let stock = try_out(data, &store, &log, stop)?;

    if !is_at(&log, &log_path).map_err(io)? {
        return Err(io(io::Error::other(
            "its files were replaced while it was opened",
        )));
    }
    // sled locks it next.
    let _ = log.unlock();
    let ((database, entries, mark), stock) = in_time(len(&log), &AtomicBool::new(false), {
        let store = store.clone();
        move || Ok((open_in_place(&store, &stock)?, stock))
    })
    .map_err(|problem| problem.at(data, &store))?;
    // An earlier start may have been interrupted before it came to this.
    sync_ancestors(data).map_err(io)?;
    Ok(Opened {
        database,
        entries,
        stock,
        mark,
        log,
        log_path,
        locks,
    })
}

/// Creates a store beside its final place, syncs all of it, and renames it: after a power cut it is
/// there whole or not at all.
fn create(data: &Path) -> Result<(), OpenError> {
    let new = data.join(NEW_STORE);
    let store = data.join(STORE);
    let work = {
        let store = store.clone();
        move || {
            remove_tree(&new)?;
            // The data directory may have been there, open to others; sled creates its files by umask.
            create_private(&new)?;
            Mark::create(&new)?;
            let database = config(&new).open()?;
            database.insert(FORMAT_KEY, &FORMAT.to_be_bytes())?;
            database.open_tree(ENTRIES)?;
            database.flush()?;
            drop(database);
            sync_tree(&new)?;
            Ok(fs::rename(&new, store)?)
        }
    };
    in_time(0, &AtomicBool::new(false), work).map_err(|problem| match problem {
        Problem::Store(what) => OpenError::Io(data.to_owned(), io::Error::other(what)),
        problem => problem.at(data, &store),
    })
}

/// Opens a copy of a store and reads all of it.
fn try_out(data: &Path, store: &Path, log: &File, stop: &AtomicBool) -> Result<Stock, OpenError> {
    let io = |error| OpenError::Io(data.to_owned(), error);
    let refused = |what: String| {
        let mut what = format!("{what}; nothing was changed");
        if let Some(copy) = former_copy(data) {
            what += &format!(
                ". An earlier version left a copy in {}: if that was interrupted, the copy is whole. To \
                 use it, rename {} and give the copy its name",
                copy.display(),
                store.display()
            );
        }
        OpenError::Store(store.to_owned(), what)
    };
    drop_from_page_cache(log).map_err(io)?;
    let trial = Trial::new(store, data.join(TRIAL)).map_err(io)?;
    let directory = trial.directory().to_owned();
    let read = move || {
        let (_database, entries) = open_sled(&directory)?;
        let mark = Mark::open(&directory).and_then(|mark| mark.get());
        let mark = mark
            .map_err(|error| Problem::Store(format!("its file `mark` can't be read: {error}. Without it \
             lost entries can't be noticed: put it back, or make one of 32 zero bytes to open the list as \
             it is")))?;
        Stock::take(&entries, mark).map_err(Problem::Store)
    };
    in_time(len(log), stop, read).map_err(|problem| match problem {
        Problem::Store(what) => refused(what),
        problem => problem.at(data, store),
    })
}

/// Opens a store whose copy was in order.
fn open_in_place(store: &Path, stock: &Stock) -> Result<(::sled::Db, ::sled::Tree, Mark), Problem> {
    let (database, entries) = open_sled(store)?;
    let tip = entries
        .last()?
        .map(|(key, bytes)| (key.to_vec(), bytes.to_vec()));
    let expected =
        (stock.progress().end > 0).then(|| (stock.tip.key().to_vec(), stock.tip.bytes().to_vec()));
    if tip != expected {
        return Err(Problem::Store("it changed while it was opened".into()));
    }
    let mark = Mark::open(store)?;
    mark.set(stock.progress())?;
    database.flush()?;
    sync_tree(store)?;
    File::open(store.parent().unwrap_or(store))?.sync_all()?;
    Ok((database, entries, mark))
}

/// Has sled open a directory, which it writes to.
fn open_sled(directory: &Path) -> Result<(::sled::Db, ::sled::Tree), Problem> {
    remove_half_written_snapshots(directory)?;
    let begun = Instant::now();
    let database = loop {
        match config(directory).open() {
            // It is locked: a handle that was just dropped lingers for milliseconds.
            Err(::sled::Error::Io(error))
                if error.kind() == io::ErrorKind::Other && begun.elapsed() < LOCK_TIMEOUT =>
            {
                sleep(RETRY_INTERVAL);
            }
            opened => break opened?,
        }
    };
    let format = match database.get(FORMAT_KEY)? {
        Some(format) if *format == FORMAT.to_be_bytes() => {
            let entries = database.open_tree(ENTRIES)?;
            return Ok((database, entries));
        }
        Some(format) => match format.as_ref().try_into().map(u64::from_be_bytes) {
            Ok(number) => format!("format {number}"),
            Err(_) => "an unknown format".into(),
        },
        None if database.contains_key("\0format")? => "format 1".into(),
        None => return Err(Problem::Store("it is not a waitlist".into())),
    };
    Err(Problem::Store(format!(
        "it has {format}, and this version of the program reads format {FORMAT}: run the version \
         that wrote it"
    )))
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

/// Removes snapshots whose writing was interrupted; sled never does.
fn remove_half_written_snapshots(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn len(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}
