//! Lists in earlier formats, as their versions of the program wrote them.

use std::{fs, os::unix::fs::DirBuilderExt, path::Path};

use crate::raw_store::open_database;

/// Maximum size of a record, in bytes.
const RECORD_MAX_BYTES: usize = 1 << 10;

/// Writes a list of format 2 to a data directory that has none. Each entry is an address and a time in milliseconds
/// since 1970. `None` is an erased entry.
pub(crate) fn write_old_list(data: &Path, entries: &[Option<(String, u64)>]) {
    let items = entries.iter().map(|entry| match entry {
        Some((address, millis)) => {
            let address = address.as_bytes();
            [&[address.len() as u8][..], &millis.to_be_bytes(), address].concat()
        }
        None => vec![0],
    });
    let erased = entries.iter().filter(|entry| entry.is_none()).count() as u64;
    write_items(data, 2, &items.collect::<Vec<_>>(), erased);
}

/// Writes items to a data directory that has no list. `erased` of them are erased.
pub(crate) fn write_items(data: &Path, format: u64, items: &[Vec<u8>], erased: u64) {
    let store = data.join("waitlist");
    let mut directories = fs::DirBuilder::new();
    let created = directories.recursive(true).mode(0o700).create(&store);
    created.expect("writable");
    let database = open_database(&store);
    let version = format.to_be_bytes();
    database.insert("format", &version).expect("writable");
    let records = database.open_tree("entries").expect("the tree opens");
    let (mut first, mut record) = (0u64, Vec::new());
    for (number, item) in (0u64..).zip(items) {
        if record.len() + item.len() > RECORD_MAX_BYTES {
            let full = std::mem::take(&mut record);
            let key = first.to_be_bytes();
            records.insert(key, full).expect("writable");
            first = number;
        }
        record.extend(item);
    }
    if !record.is_empty() {
        let key = first.to_be_bytes();
        records.insert(key, record).expect("writable");
    }
    drop((records, database));
    let end = items.len() as u64;
    let mark = [end, !end, erased, !erased].map(u64::to_be_bytes);
    fs::write(store.join("mark"), mark.as_flattened()).expect("writable");
}
