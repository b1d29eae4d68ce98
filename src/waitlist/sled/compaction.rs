//! Compaction: copies the store without the entries of erased people and without old addresses, and puts the copy in its
//! place.
//!
//! The copy is made beside the store while sign-ups continue. Then the committer adds what has changed since, syncs the
//! copy, and exchanges the two directories in one step. A crash at any moment leaves the old store or the new one,
//! whole. The next start removes the other one.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};

use super::{
    super::suppression::ListKey,
    changes::Changes,
    database,
    deadline::catch_panic,
    error::{OpenFailure, or_exit},
    files::{create_private_dir, free_bytes, remove_dir_if_exists, sync_tree},
    high_water_mark::{self, HighWaterMark},
    items::RecordItem,
    record::Record,
    scratch_copy::LOG_FILE,
    snapshot::Snapshot,
};

/// The directory of the copy, in the data directory. After the exchange, it holds the old store.
const COMPACTION_DIR: &str = "waitlist.compact";
/// Number of entries between two reports.
const REPORT_INTERVAL_ENTRIES: u64 = 10_000;

/// Space on the disk that a copy leaves free for sign-ups, in bytes. The copy itself may be a few percent larger than
/// the store: 7 % after an import of 40,000 people.
const RESERVE_BYTES: u64 = 8 << 20;

/// A copy of the store, as it was a moment ago.
#[derive(Debug)]
pub(super) struct CompactedCopy {
    pub(super) directory: PathBuf,
    /// The number after the last item that was copied.
    pub(super) end: u64,
    /// The last record.
    pub(super) tail: Record,
    pub(super) database: ::sled::Db,
    pub(super) records: ::sled::Tree,
}

/// Returns the directory of the copy of a store.
fn copy_dir(store: &Path) -> PathBuf {
    store.with_file_name(COMPACTION_DIR)
}

/// Removes the directory that an interrupted compaction left beside an intact store. It may contain addresses that were
/// erased since. A file or a directory of another program stays as it is.
pub(super) fn remove_leftovers(store: &Path) -> io::Result<()> {
    let leftovers = copy_dir(store);
    let is_directory = fs::symlink_metadata(&leftovers).is_ok_and(|found| found.is_dir());
    if !is_directory {
        return Ok(());
    }
    let remove = || {
        for entry in fs::read_dir(&leftovers)? {
            if !is_store_file(&entry?.file_name().to_string_lossy()) {
                return Ok(());
            }
        }
        remove_dir_if_exists(&leftovers)
    };
    remove().map_err(|error| {
        let text = format!(
            "cannot remove {}, which a compaction left: {error}; remove it",
            leftovers.display()
        );
        io::Error::new(error.kind(), text)
    })
}

/// Removes a copy that an interrupted compaction has not completed, to free its space. The high-water mark of such a
/// copy is zero. That of an old store, after an exchange, is not.
pub(super) fn remove_incomplete_copy(store: &Path) {
    let mark = HighWaterMark::open(&copy_dir(store)).and_then(|mark| mark.read());
    if mark.is_ok_and(|end| end == Some(0)) {
        // If this fails, `remove_leftovers` reports it.
        let _ = remove_leftovers(store);
    }
}

/// Returns whether a store has files of this name.
fn is_store_file(name: &str) -> bool {
    [LOG_FILE, high_water_mark::FILE_NAME, "conf", "blobs"].contains(&name)
        || name.starts_with("snap.")
}

/// Copies a store. Reports the number of copied entries.
///
/// # Errors
/// If the store is a link, or the disk has no room.
pub(super) fn copy(
    store: &Path,
    snapshot: &Snapshot,
    key: ListKey,
    report_copied: &mut (dyn FnMut(u64) + Send),
) -> Result<CompactedCopy, OpenFailure> {
    let directory = create_copy_dir(store)?;
    let (database, records, tail) = catch_panic(|| {
        HighWaterMark::create(&directory)?;
        database::create(&directory, key)?;
        let (database, records) = database::open(&directory)?;
        let changes = Changes::read(snapshot)?;
        let mut tail = Record::starting_at(0);
        let mut copied = 0;
        snapshot.for_each_item(|number, item| {
            let item = changes.apply(number, item);
            if matches!(item, RecordItem::Entry(_)) {
                if copied % REPORT_INTERVAL_ENTRIES == 0 {
                    report_copied(copied + 1);
                }
                copied += 1;
            }
            tail.make_room(item.len(), &records)?;
            tail.push(item);
            Ok::<_, OpenFailure>(())
        })?;
        // Most of the copy is written before sign-ups have to wait for the rest.
        database.flush()?;
        sync_tree(&directory)?;
        Ok((database, records, tail))
    })?;
    Ok(CompactedCopy {
        directory,
        end: snapshot.end,
        tail,
        database,
        records,
    })
}

/// Creates the directory for a copy of a store. A copy that was interrupted is removed first.
///
/// # Errors
/// If the store is a link, or the disk has no room.
pub(super) fn create_copy_dir(store: &Path) -> io::Result<PathBuf> {
    if !fs::symlink_metadata(store)?.is_dir() {
        return Err(io::Error::other(format!(
            "{} is a link, and only a directory can be replaced; put the directory in its place",
            store.display()
        )));
    }
    check_files(store)?;
    remove_leftovers(store)?;
    check_room(store)?;
    let directory = copy_dir(store);
    create_private_dir(&directory).map_err(|error| {
        let text = format!(
            "cannot create {}: {error}; move it away",
            directory.display()
        );
        io::Error::new(error.kind(), text)
    })?;
    Ok(directory)
}

/// Fails if a file in the store belongs to another program. The exchange would move it away.
fn check_files(store: &Path) -> io::Result<()> {
    for entry in fs::read_dir(store)? {
        let name = entry?.file_name();
        if !is_store_file(&name.to_string_lossy()) {
            return Err(io::Error::other(format!(
                "{} belongs to another program; move it away",
                store.join(name).display()
            )));
        }
    }
    Ok(())
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
            "the copy needs {needed} bytes, and the disk of {} has {room} bytes left; free at least {} bytes there",
            store.display(),
            needed - room
        ),
    ))
}

/// Returns the size of the files in a directory, in bytes.
pub(super) fn size(directory: &Path) -> io::Result<u64> {
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
pub(super) fn exchange_directories(store: &Path) -> io::Result<()> {
    renameat_with(CWD, copy_dir(store), CWD, store, RenameFlags::EXCHANGE)
        .map_err(|error| exchange_error(error, store))?;
    or_exit(File::open(store.parent().unwrap_or(store)).and_then(|data| data.sync_all()));
    Ok(())
}

/// Describes why two directories could not be exchanged.
fn exchange_error(error: Errno, store: &Path) -> io::Error {
    match error {
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::XDEV | Errno::BUSY => {
            io::Error::other(format!(
                "{} cannot be exchanged with another directory ({error}); back up the list, and restore it into a new \
                 directory",
                store.display()
            ))
        }
        error => error.into(),
    }
}
