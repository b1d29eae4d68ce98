//! Compaction: copies the store without the entries of erased people and without old addresses, and puts the copy in its
//! place.
//!
//! The committer does it between two batches, and exchanges the two directories in one step. A crash at any moment leaves
//! the old store or the new one, whole. The next start removes the other one.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{
    super::{store::Compaction, store_panic::locked},
    committer::SledCommitter,
    contents::Contents,
    database,
    deadline::catch_panic,
    entries::Snapshot,
    error::{OpenFailure, or_exit},
    file_guard::{FileGuard, HighWaterMark},
    files::{create_private_dir, free_bytes, remove_dir_if_exists, sync_tree},
    record::{FORMAT_VERSION, Record},
    scratch_copy::LOG_FILE,
};

/// The directory of the copy, in the data directory. After the exchange, it holds the old store.
const COMPACTION_DIR: &str = "waitlist.compact";

/// Space on the disk that a copy leaves free for sign-ups, in bytes. The copy itself may be a few percent larger than
/// the store: 7 % after an import of 40,000 people.
const RESERVE_BYTES: u64 = 8 << 20;

/// Removes the directory that an interrupted compaction left beside an intact store. It may contain addresses that were
/// erased since.
pub(super) fn remove_leftovers(store: &Path) -> io::Result<()> {
    let leftovers = copy_dir(store);
    remove_dir_if_exists(&leftovers).map_err(|error| {
        let text = format!(
            "cannot remove {}, which a compaction left: {error}; remove it",
            leftovers.display()
        );
        io::Error::new(error.kind(), text)
    })
}

impl SledCommitter {
    /// Replaces the store by a copy that is free of old addresses. If that fails, the store is unchanged, or its old files
    /// could not be removed.
    pub(super) fn compact(&mut self) -> Result<Compaction, OpenFailure> {
        self.files.exit_if_missing();
        let log_path = self.files.log_path.clone();
        let store = log_path.parent().unwrap_or(&log_path);
        let bytes_before = size(store)?;
        let compacted = self.replace_by_copy(store);
        // Also if the copy is incomplete. If this fails too, the next start removes it.
        let removed = remove_leftovers(store);
        compacted?;
        removed?;
        Ok(Compaction {
            bytes_before,
            bytes_after: size(store)?,
        })
    }

    fn replace_by_copy(&mut self, store: &Path) -> Result<(), OpenFailure> {
        let snapshot = locked(&self.published.snapshot).clone();
        let contents = &self.contents;
        let directory = create_copy_dir(store)?;
        let (database, records, tail) =
            catch_panic(|| write_copy(&directory, &snapshot, contents))?;
        let high_water_mark = HighWaterMark::open(&directory)?;
        let log = File::open(directory.join(LOG_FILE))?;
        exchange_directories(store)?;

        // sled keeps the log open, and uses a path only for files that a list never has (see `scratch_copy`).
        let log_path = self.files.log_path.clone();
        self.files = FileGuard::new(log, log_path, high_water_mark);
        (self.database, self.records) = (database, records);
        self.contents.tail = tail;
        locked(&self.published.snapshot).records = self.records.clone();
        Ok(())
    }
}

/// Writes a copy, and syncs it. Returns its database, its records and the last one of them.
fn write_copy(
    directory: &Path,
    snapshot: &Snapshot,
    contents: &Contents,
) -> Result<(::sled::Db, ::sled::Tree, Record), OpenFailure> {
    HighWaterMark::create(directory)?;
    let list_key = contents.suppressions.list_key();
    let (database, records) = database::create(directory, list_key)?;
    if contents.outbox.is_recording {
        database::raise_format(&database, FORMAT_VERSION)?;
    }
    let mut tail = Record::starting_at(0);
    snapshot.for_each_item(|number, item| {
        let item = contents.changes.current(number, item);
        let item = contents.outbox.current(number, item);
        tail.make_room(item.len(), &records)?;
        tail.push(&item);
        Ok::<_, OpenFailure>(())
    })?;
    tail.insert_into(&records)?;
    HighWaterMark::open(directory)?.write(tail.end())?;
    database.flush()?;
    sync_tree(directory)?;
    Ok((database, records, tail))
}

/// Creates the directory for a copy of a store. A copy that was interrupted is removed first.
///
/// # Errors
/// If the store is a link, or the disk has no room.
fn create_copy_dir(store: &Path) -> io::Result<PathBuf> {
    if !fs::symlink_metadata(store)?.is_dir() {
        return Err(io::Error::other(format!(
            "{} is a link, and only a directory can be replaced; put the directory in its place",
            store.display()
        )));
    }
    remove_leftovers(store)?;
    check_room(store)?;
    let directory = copy_dir(store);
    create_private_dir(&directory)?;
    Ok(directory)
}

/// Fails if the disk has no room for a copy of the store.
fn check_room(store: &Path) -> io::Result<()> {
    let size = size(store)?;
    let needed = size + size / 4 + RESERVE_BYTES;
    let room = free_bytes(store)?;
    if room >= needed {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::StorageFull,
        format!(
            "the copy needs {needed} bytes, and the disk of {} has {room} bytes left; free some there",
            store.display()
        ),
    ))
}

/// Returns the size of the files in a directory, in bytes.
fn size(directory: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(directory)? {
        size += entry?.metadata()?.len();
    }
    Ok(size)
}

/// Exchanges a store and its copy, which must be synced.
///
/// Nothing may be acknowledged before the exchange is durable: a crash could bring back the old store, which would not
/// have it. So the process ends if the exchange cannot be synced.
fn exchange_directories(store: &Path) -> io::Result<()> {
    let exchanged = renameat_with(CWD, copy_dir(store), CWD, store, RenameFlags::EXCHANGE);
    exchanged.map_err(|error| {
        io::Error::other(format!(
            "{} cannot be exchanged with another directory ({error}); back up the list, and restore it into a new directory",
            store.display()
        ))
    })?;
    or_exit(File::open(store.parent().unwrap_or(store)).and_then(|data| data.sync_all()));
    Ok(())
}

/// Returns the directory of the copy of a store.
fn copy_dir(store: &Path) -> PathBuf {
    store.with_file_name(COMPACTION_DIR)
}
