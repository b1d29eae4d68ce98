//! Opens the list, creates it the first time, and refuses a store that is damaged or of another version.
//!
//! A list is opened twice. First a copy of it is opened and read from end to end ([`ScratchCopy`]), while the
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
    SledOpenError,
    contents::Contents,
    deadline::{OpenFailure, run_with_deadline},
    files::{
        create_private_dir, drop_from_page_cache, is_same_file, remove_dir_if_exists,
        sync_ancestors, sync_tree,
    },
    high_water_mark::HighWaterMark,
    lock::{LOCK_TIMEOUT, Locks, RETRY_INTERVAL, lock_log},
    scratch_copy::{LOG_FILE, ScratchCopy},
};

/// sled's page cache, in bytes.
const CACHE_BYTES: u64 = 16 << 20;

/// The store's own directory inside the data directory.
const STORE_DIR: &str = "waitlist";
/// Where a new store is created before it gets its name.
const NEW_STORE_DIR: &str = "waitlist.new";
/// The copy that is opened first.
const SCRATCH_COPY_DIR: &str = "waitlist.trial";
/// A copy of the store that earlier versions made, and put back over a store that they refused. When that
/// was interrupted it was the only whole one, so it is never removed here.
const LEGACY_BACKUP_DIR: &str = "waitlist.copy";

/// Version of what is stored, see `super::record`. It stands in sled's default tree.
const FORMAT_KEY: &str = "format";
const FORMAT_VERSION: u64 = 2;
/// The tree of the records.
const RECORDS_TREE: &str = "entries";

/// An open list.
pub(super) struct OpenedStore {
    pub(super) database: ::sled::Db,
    pub(super) records: ::sled::Tree,
    pub(super) contents: Contents,
    pub(super) high_water_mark: HighWaterMark,
    /// sled's log, opened once more to sync it.
    pub(super) log: File,
    pub(super) log_path: PathBuf,
    /// The list belongs to this process for as long as this exists.
    pub(super) locks: Locks,
}

/// Whether there is something that may be a list.
pub(super) fn exists_in(data: &Path) -> io::Result<bool> {
    data.join(STORE_DIR).try_exists()
}

/// The copy of the list that an earlier version has left in a data directory.
pub(super) fn legacy_backup(data: &Path) -> Option<PathBuf> {
    let backup = data.join(LEGACY_BACKUP_DIR);
    backup.is_dir().then_some(backup)
}

/// Opens the list in the data directory `data`, creating both when missing (mode 0700). When `stop`
/// becomes true it gives up, as long as nothing was written.
pub(super) fn open(data: &Path, stop: &AtomicBool) -> Result<OpenedStore, SledOpenError> {
    let io = |error| SledOpenError::Io(data.to_owned(), error);
    // sled panics with such a clock.
    if SystemTime::now() < UNIX_EPOCH {
        return Err(io(io::Error::other(
            "the clock of this machine is before 1970",
        )));
    }
    let mut directories = DirBuilder::new();
    let created = directories.recursive(true).mode(0o700).create(data);
    created.map_err(io)?;
    let mut locks = Locks::lock_data_dir(data)?;
    let store = data.join(STORE_DIR);
    if !store.try_exists().map_err(io)? {
        create(data)?;
    }
    locks.lock_store(&store)?;
    let log_path = std::path::absolute(store.join(LOG_FILE)).map_err(io)?;
    if !log_path.is_file() {
        let what = "it holds no database; nothing was changed".into();
        return Err(SledOpenError::Unusable(store, what));
    }
    let log = File::open(&log_path).map_err(io)?;
    lock_log(&log, data)?;
    let contents = check_scratch_copy(data, &store, &log, stop)?;

    if !is_same_file(&log, &log_path).map_err(io)? {
        return Err(io(io::Error::other(
            "its files were replaced while it was opened",
        )));
    }
    // sled locks it next.
    let _ = log.unlock();
    let ((database, records, high_water_mark), contents) =
        run_with_deadline(file_len(&log), &AtomicBool::new(false), {
            let store = store.clone();
            move || Ok((open_in_place(&store, &contents)?, contents))
        })
        .map_err(|failure| failure.into_open_error(data, &store))?;
    // An earlier start may have been interrupted before it came to this.
    sync_ancestors(data).map_err(io)?;
    Ok(OpenedStore {
        database,
        records,
        contents,
        high_water_mark,
        log,
        log_path,
        locks,
    })
}

/// Creates a store beside its final place, syncs all of it, and renames it: after a power cut it is
/// there whole or not at all.
fn create(data: &Path) -> Result<(), SledOpenError> {
    let new = data.join(NEW_STORE_DIR);
    let store = data.join(STORE_DIR);
    let work = {
        let store = store.clone();
        move || {
            remove_dir_if_exists(&new)?;
            // The data directory may have been there, open to others; sled creates its files by umask.
            create_private_dir(&new)?;
            HighWaterMark::create(&new)?;
            let database = sled_config(&new).open()?;
            database.insert(FORMAT_KEY, &FORMAT_VERSION.to_be_bytes())?;
            database.open_tree(RECORDS_TREE)?;
            database.flush()?;
            drop(database);
            sync_tree(&new)?;
            Ok(fs::rename(&new, store)?)
        }
    };
    run_with_deadline(0, &AtomicBool::new(false), work).map_err(|failure| match failure {
        OpenFailure::Unusable(what) => SledOpenError::Io(data.to_owned(), io::Error::other(what)),
        failure => failure.into_open_error(data, &store),
    })
}

/// Opens a copy of a store and reads all of it.
fn check_scratch_copy(
    data: &Path,
    store: &Path,
    log: &File,
    stop: &AtomicBool,
) -> Result<Contents, SledOpenError> {
    let io = |error| SledOpenError::Io(data.to_owned(), error);
    let unusable = |what: String| {
        let mut what = format!("{what}; nothing was changed");
        if let Some(backup) = legacy_backup(data) {
            what += &format!(
                ". An earlier version left a copy in {}: if that was interrupted, the copy is whole. To \
                 use it, rename {} and give the copy its name",
                backup.display(),
                store.display()
            );
        }
        SledOpenError::Unusable(store.to_owned(), what)
    };
    drop_from_page_cache(log).map_err(io)?;
    let copy = ScratchCopy::new(store, data.join(SCRATCH_COPY_DIR)).map_err(io)?;
    let directory = copy.directory().to_owned();
    let read = move || {
        let (_database, records) = open_sled(&directory)?;
        let high_water_mark =
            HighWaterMark::open(&directory).and_then(|high_water_mark| high_water_mark.read());
        let progress = high_water_mark
            .map_err(|error| OpenFailure::Unusable(format!("its file `mark` can't be read: {error}. Without it \
             lost entries can't be noticed: put it back, or make one of 32 zero bytes to open the list as \
             it is")))?;
        Contents::read(&records, progress).map_err(OpenFailure::Unusable)
    };
    run_with_deadline(file_len(log), stop, read).map_err(|failure| match failure {
        OpenFailure::Unusable(what) => unusable(what),
        failure => failure.into_open_error(data, store),
    })
}

/// Opens a store whose copy was in order.
fn open_in_place(
    store: &Path,
    contents: &Contents,
) -> Result<(::sled::Db, ::sled::Tree, HighWaterMark), OpenFailure> {
    let (database, records) = open_sled(store)?;
    let tail = records
        .last()?
        .map(|(key, bytes)| (key.to_vec(), bytes.to_vec()));
    let expected = (contents.progress().end > 0)
        .then(|| (contents.tail.key().to_vec(), contents.tail.bytes().to_vec()));
    if tail != expected {
        return Err(OpenFailure::Unusable(
            "it changed while it was opened".into(),
        ));
    }
    let high_water_mark = HighWaterMark::open(store)?;
    high_water_mark.write(contents.progress())?;
    database.flush()?;
    sync_tree(store)?;
    File::open(store.parent().unwrap_or(store))?.sync_all()?;
    Ok((database, records, high_water_mark))
}

/// Has sled open a directory, which it writes to.
fn open_sled(directory: &Path) -> Result<(::sled::Db, ::sled::Tree), OpenFailure> {
    remove_half_written_snapshots(directory)?;
    let started = Instant::now();
    let database = loop {
        match sled_config(directory).open() {
            // It is locked: a handle that was just dropped lingers for milliseconds.
            Err(::sled::Error::Io(error))
                if error.kind() == io::ErrorKind::Other && started.elapsed() < LOCK_TIMEOUT =>
            {
                sleep(RETRY_INTERVAL);
            }
            opened => break opened?,
        }
    };
    let format = match database.get(FORMAT_KEY)? {
        Some(format) if *format == FORMAT_VERSION.to_be_bytes() => {
            let records = database.open_tree(RECORDS_TREE)?;
            return Ok((database, records));
        }
        Some(format) => match format.as_ref().try_into().map(u64::from_be_bytes) {
            Ok(number) => format!("format {number}"),
            Err(_) => "an unknown format".into(),
        },
        None if database.contains_key("\0format")? => "format 1".into(),
        None => return Err(OpenFailure::Unusable("it is not a waitlist".into())),
    };
    Err(OpenFailure::Unusable(format!(
        "it has {format}, and this version of the program reads format {FORMAT_VERSION}: run the version \
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
fn sled_config(store: &Path) -> ::sled::Config {
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

fn file_len(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}
