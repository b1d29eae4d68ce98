//! Opens the list, creates it on the first start, and rejects a store that is damaged or has another format.
//!
//! A list is opened twice. First a copy of it is opened and read from end to end ([`ScratchCopy`]), while the
//! original is only read. If the copy is intact, sled opens the original, and its recovery takes the same steps
//! there. This recovery can be interrupted at any moment and repeated. Undoing it is not safe: earlier versions
//! restored a backup over a store that they rejected, and lost lists. So no backup is ever restored here.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    super::suppression::ListKey,
    SledWaitlist,
    committer::SledCommitter,
    compaction,
    contents::Contents,
    database,
    deadline::run_with_deadline,
    error::{OpenFailure, SledOpenError, UnusableReason, io_error},
    file_guard::{self, CREATED_FILE, FileGuard, HighWaterMark},
    files::{
        STORE_DIR, create_private_dir, drop_from_page_cache, is_not_found, is_same_file,
        remove_dir_if_exists, sync_ancestors, sync_tree,
    },
    lock::{lock_data_dir, lock_log, remove_lock_file},
    record::FORMAT_WITHOUT_EVENTS,
    restore::{self, RESTORE_DIR},
    scratch_copy::{LOG_FILE, ScratchCopy},
};
use crate::exit::print_stderr;

/// The directory of a new store until it is renamed to [`STORE_DIR`].
const NEW_STORE_DIR: &str = "waitlist.new";
/// The directory of the copy that is opened first.
const SCRATCH_COPY_DIR: &str = "waitlist.trial";

impl SledWaitlist {
    /// Returns whether there is a list in a data directory.
    ///
    /// # Errors
    /// Fails if the directory cannot be read, or if no list may be created in it: its list was removed, or a restore was
    /// interrupted.
    pub fn exists_in(data: &Path) -> Result<bool, SledOpenError> {
        let exists = |name| data.join(name).try_exists().map_err(io_error(data));
        if exists(STORE_DIR)? {
            Ok(true)
        } else if exists(CREATED_FILE)? || exists(RESTORE_DIR)? {
            Err(SledOpenError::Missing(data.to_owned()))
        } else {
            Ok(false)
        }
    }
}

/// Opens the list in the data directory `data`, and creates both if they are missing (mode 0700). A new list has the key
/// `new_list_key`. Also returns the file that reserves the list for this process.
pub(super) fn open(
    data: &Path,
    new_list_key: ListKey,
) -> Result<(SledCommitter, File), SledOpenError> {
    let to_open_error = io_error(data);
    // sled panics with such a clock.
    if SystemTime::now() < UNIX_EPOCH {
        return Err(SledOpenError::Clock);
    }
    let lock = lock_or_create(data, new_list_key)?;
    let store = data.join(STORE_DIR);
    let log_path = std::path::absolute(store.join(LOG_FILE)).map_err(to_open_error)?;
    let log = match File::open(&log_path) {
        Err(error) if is_not_found(&error) => {
            return Err(SledOpenError::Unusable {
                store,
                reason: UnusableReason::NoDatabase,
                is_unchanged: true,
            });
        }
        opened => opened.map_err(to_open_error)?,
    };
    lock_log(&log, &store)?;
    drop_from_page_cache(&log).map_err(to_open_error)?;
    let copy = ScratchCopy::new(&store, data.join(SCRATCH_COPY_DIR)).map_err(to_open_error)?;
    let contents = check_copy(data, &store, &log, copy, new_list_key)?;

    if !is_same_file(&log, &log_path).map_err(to_open_error)? {
        return Err(to_open_error(io::Error::other(
            "its files were replaced while it was opened",
        )));
    }
    // sled locks the log next.
    let _ = log.unlock();
    let ((database, records, high_water_mark), contents) = run_with_deadline(file_len(&log), {
        let store = store.clone();
        move || Ok((open_in_place(&store, &contents)?, contents))
    })
    .map_err(|failure| failure.into_open_error(data, &store, false))?;
    compaction::remove_leftovers(&store).map_err(to_open_error)?;
    file_guard::note_creation(data);
    // An earlier start may have been interrupted before this step.
    sync_ancestors(data).map_err(to_open_error)?;
    let files = FileGuard::new(log, log_path, high_water_mark);
    Ok((SledCommitter::new(database, records, contents, files), lock))
}

/// Locks a data directory, and creates it and its store if they are missing. If that fails, nothing remains.
fn lock_or_create(data: &Path, new_list_key: ListKey) -> Result<File, SledOpenError> {
    let to_open_error = io_error(data);
    let is_new_directory = !data.exists();
    let lock = lock_data_dir(data)?;
    if SledWaitlist::exists_in(data)? {
        restore::remove_leftovers(data).map_err(to_open_error)?;
        return Ok(lock);
    }
    if let Err(error) = create(data, new_list_key) {
        remove_lock_file(data);
        if is_new_directory {
            // If this fails, an empty directory remains.
            let _ = fs::remove_dir(data);
        }
        return Err(error);
    }
    Ok(lock)
}

/// Creates a store beside its final place, syncs it, and renames it. After a power cut it is either complete or
/// missing. If this fails, for example because the disk is full, nothing remains.
fn create(data: &Path, list_key: ListKey) -> Result<(), SledOpenError> {
    let new = data.join(NEW_STORE_DIR);
    let store = data.join(STORE_DIR);
    let work = {
        let store = store.clone();
        move || {
            remove_dir_if_exists(&new)?;
            let created = create_at(&new, list_key).and_then(|()| Ok(fs::rename(&new, store)?));
            created.inspect_err(|_| {
                // If this fails too, the next start removes it.
                let _ = remove_dir_if_exists(&new);
            })
        }
    };
    run_with_deadline(0, work).map_err(|failure| match failure {
        OpenFailure::Unusable(reason) => io_error(data)(io::Error::other(reason)),
        failure => failure.into_open_error(data, &store, false),
    })
}

/// Creates an empty store, and syncs it.
fn create_at(directory: &Path, list_key: ListKey) -> Result<(), OpenFailure> {
    // The data directory may have existed with open permissions, and sled's files follow the umask.
    create_private_dir(directory)?;
    HighWaterMark::create(directory)?;
    database::create(directory, list_key)?;
    Ok(sync_tree(directory)?)
}

/// Opens a copy of a store and reads it from end to end.
fn check_copy(
    data: &Path,
    store: &Path,
    log: &File,
    copy: ScratchCopy,
    new_list_key: ListKey,
) -> Result<Contents, SledOpenError> {
    let directory = copy.directory().to_owned();
    // The owner's file, not that of the copy.
    let mark_path = file_guard::mark_path(store);
    let read = move || {
        let (database, records) = database::open(&directory)?;
        let mark = HighWaterMark::open(&directory).and_then(|mark| mark.read());
        let end = mark.map_err(|error| UnusableReason::Mark {
            path: mark_path.clone(),
            error,
        })?;
        if end.is_none() {
            print_stderr(&format!(
                "{} is damaged, so missing sign-ups or erasures cannot be detected this time; compare the count with \
                 your last backup",
                mark_path.display()
            ));
        }
        let list_key = database::list_key(&database)?;
        Contents::read(&records, list_key, new_list_key, end.unwrap_or(0))
    };
    run_with_deadline(file_len(log), read)
        .map_err(|failure| failure.into_open_error(data, store, true))
}

/// Opens a store whose copy is intact.
fn open_in_place(
    store: &Path,
    contents: &Contents,
) -> Result<(::sled::Db, ::sled::Tree, HighWaterMark), OpenFailure> {
    let (database, records) = database::open(store)?;
    let tail = records
        .last()?
        .map(|(record_key, bytes)| (record_key.to_vec(), bytes.to_vec()));
    let expected = (contents.tail.end() > 0)
        .then(|| (contents.tail.key().to_vec(), contents.tail.bytes().to_vec()));
    if tail != expected {
        return Err(UnusableReason::Changed.into());
    }
    let high_water_mark = HighWaterMark::open(store)?;
    high_water_mark.write(contents.tail.end())?;
    database::raise_format(&database, FORMAT_WITHOUT_EVENTS)?;
    database::set_list_key(&database, contents.suppressions.list_key())?;
    database.flush()?;
    sync_tree(store)?;
    File::open(store.parent().unwrap_or(store))?.sync_all()?;
    Ok((database, records, high_water_mark))
}

fn file_len(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}
