//! The high-water mark: a file beside the log with the progress of the list. It reveals a log that lost its end.
//!
//! When sled finds damage, it silently returns to the last state before it. The mark records how many items were
//! numbered. It is written after each batch is durable, so it is never ahead of the list.
//! After the process ends it is exact. It is not synced with each batch, so after a power cut it may be behind by what
//! the kernel had not written yet (half a minute).

use std::{
    cell::Cell,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::files::is_same_file;

/// Name of the file in the store's directory.
pub(super) const FILE_NAME: &str = "mark";

/// Returns the path of the file of a store.
pub(super) fn path(store: &Path) -> PathBuf {
    store.join(FILE_NAME)
}
/// Size of the number in the file, in bytes: the number (big-endian) and its complement, which reveals a torn write.
const MARK_BYTES: usize = 16;

/// The open mark.
#[derive(Debug)]
pub(super) struct HighWaterMark {
    file: File,
    /// What this process wrote last. It is in a `Cell`, because [`write`](Self::write) takes `&self`.
    last_written: Cell<u64>,
}

impl HighWaterMark {
    /// Creates the mark of an empty list.
    pub(super) fn create(store: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600);
        Self::from(file.open(store.join(FILE_NAME))?).write(0)
    }

    pub(super) fn open(store: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(store.join(FILE_NAME));
        file.map(Self::from)
    }

    /// Writes the number after the last item. It only grows.
    pub(super) fn write(&self, end: u64) -> io::Result<()> {
        let bytes = [end, !end].map(u64::to_be_bytes);
        self.file.write_all_at(bytes.as_flattened(), 0)?;
        self.last_written.set(end);
        Ok(())
    }

    /// Returns the recorded number, which the list has at least reached. Returns `None` if it is damaged, so that it does
    /// not reveal what the list has lost.
    pub(super) fn read(&self) -> io::Result<Option<u64>> {
        let mut bytes = [0; MARK_BYTES];
        self.file.read_exact_at(&mut bytes, 0)?;
        let both = u128::from_be_bytes(bytes);
        let (end, complement) = ((both >> 64) as u64, both as u64);
        Ok((end == !complement).then_some(end))
    }

    /// Returns whether the file still has what this process wrote last. A file that cannot be read counts as unchanged,
    /// because the next write reports the error.
    pub(super) fn is_unchanged(&self) -> bool {
        self.read()
            .map_or(true, |end| end == Some(self.last_written.get()))
    }

    /// Returns whether the open file is the file at this path. If that cannot be determined, returns true.
    pub(super) fn is_same_file(&self, path: &Path) -> bool {
        is_same_file(&self.file, path).unwrap_or(true)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

impl From<File> for HighWaterMark {
    fn from(file: File) -> Self {
        Self {
            file,
            last_written: Cell::default(),
        }
    }
}
