//! Opens the database of a list directly, as no program of this project does.

use std::{path::Path, thread::sleep, time::Duration};

const RETRY_INTERVAL: Duration = Duration::from_millis(20);
const ATTEMPTS_MAX: usize = 100;

/// Opens the database in the directory of a store. Its lock lingers for a moment after its process has ended, because a
/// process that another test is just starting may share the file.
pub(crate) fn open_database(store: &Path) -> ::sled::Db {
    let open = || ::sled::open(store).inspect_err(|_| sleep(RETRY_INTERVAL));
    let opened = (0..ATTEMPTS_MAX).find_map(|_| open().ok());
    opened.expect("sled opens")
}
