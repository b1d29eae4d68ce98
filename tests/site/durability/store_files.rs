//! Reads and restores the files of a store.

use std::{collections::BTreeMap, fs, path::Path};

use crate::process::write_locked;

/// The files of a store, by name.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Returns the files of a store.
pub(super) fn contents(store: &Path) -> Files {
    fs::read_dir(store)
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("readable"))
        })
        .collect()
}

/// Restores the files of a store, and removes files that were added.
pub(super) fn restore(store: &Path, files: &Files) {
    for name in contents(store).keys() {
        if !files.contains_key(name) {
            fs::remove_file(store.join(name)).expect("permitted");
        }
    }
    for (name, bytes) in files {
        write_locked(&store.join(name), bytes);
    }
}
