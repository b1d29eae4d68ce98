//! Opens a database of sled.

use std::{fs, io, path::Path};

use super::{
    super::suppression::ListKey,
    error::{OpenFailure, UnusableReason},
    record::{FORMAT_VERSION, FORMAT_WITHOUT_EVENTS, OLDEST_FORMAT},
};

/// sled's page cache, in bytes.
const CACHE_BYTES: u64 = 16 << 20;

/// Key of the version of the format in sled's default tree.
const FORMAT_KEY: &str = "format";
/// Key of the key of the list in sled's default tree.
const LIST_KEY: &str = "list key";
/// Name of the tree with the records.
const RECORDS_TREE: &str = "entries";

/// Creates the database of an empty list with this key, and its tree with the records.
pub(super) fn create(
    directory: &Path,
    list_key: ListKey,
) -> Result<(::sled::Db, ::sled::Tree), ::sled::Error> {
    let database = sled_config(directory).open()?;
    raise_format(&database, FORMAT_WITHOUT_EVENTS)?;
    set_list_key(&database, list_key)?;
    let records = database.open_tree(RECORDS_TREE)?;
    database.flush()?;
    Ok((database, records))
}

/// Raises the format of a database to this one, which contains the earlier ones.
pub(super) fn raise_format(database: &::sled::Db, format: u64) -> Result<(), ::sled::Error> {
    let format = format.to_be_bytes();
    let found = database.get(FORMAT_KEY)?;
    if found.is_none_or(|found| found[..] < format[..]) {
        database.insert(FORMAT_KEY, &format)?;
    }
    Ok(())
}

/// Returns the key of the list. A list that an earlier version has created may have none.
pub(super) fn list_key(database: &::sled::Db) -> Result<Option<ListKey>, ::sled::Error> {
    let found = database.get(LIST_KEY)?;
    Ok(found.and_then(|bytes| ListKey::from_slice(&bytes)))
}

/// Sets the key of the list.
pub(super) fn set_list_key(database: &::sled::Db, list_key: ListKey) -> Result<(), ::sled::Error> {
    database.insert(LIST_KEY, list_key.as_bytes())?;
    Ok(())
}

/// Opens a database, and its tree with the records. sled writes to the directory when it opens it.
pub(super) fn open(directory: &Path) -> Result<(::sled::Db, ::sled::Tree), OpenFailure> {
    remove_half_written_snapshots(directory)?;
    let database = sled_config(directory).open()?;
    let format = database
        .get(FORMAT_KEY)?
        .ok_or(UnusableReason::NotAWaitlist)?;
    let format = format.as_ref().try_into().map(u64::from_be_bytes).ok();
    if !format.is_some_and(|it| (OLDEST_FORMAT..=FORMAT_VERSION).contains(&it)) {
        return Err(UnusableReason::Format(format).into());
    }
    let records = database.open_tree(RECORDS_TREE)?;
    Ok((database, records))
}

/// Returns the settings of sled.
///
/// `make bench NAME=store` measured each setting with the others unchanged. Below are sign-ups per second with 64
/// clients (132,000 with all defaults; runs of the same setting differ by 8 %), then figures for a list of a million
/// entries. The chosen value is in bold.
///
/// | setting | values | results |
/// |---|---|---|
/// | cache | 4, **16**, 64, 256 MiB (default 1 GiB) | 130,000, 123,000, 144,000, 122,000; memory 116 to 119 MB, because only exports read pages again |
/// | segment | 64, 128, **512 KiB**, 4 MiB | 129,000, 135,000, 132,000, 137,000; 75, 78, 76, 88 bytes per entry; one batch would begin several small segments |
/// | mode | **low space**, high throughput | 132,000, 130,000; both 76 bytes per entry, because there is little to clean |
/// | flush interval | **none**, 500 ms (default) | 132,000, 144,000; nothing may be written outside the committer's batches |
/// | snapshot interval | **default** | no effect in 0.34.7, which writes a snapshot at each start |
fn sled_config(directory: &Path) -> ::sled::Config {
    ::sled::Config::new()
        .path(directory)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None)
}

/// Removes snapshots whose writing was interrupted, because sled never does.
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
