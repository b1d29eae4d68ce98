//! How many entries there were: what sled can't tell of a log that lost its end.
//!
//! After a damage sled goes back to what it can read before it, in silence. The mark is written after
//! each batch is durable, and not synced on its own: it never says more than there is, after the end
//! of the process it says just that, and after a power cut at most as much less as the kernel keeps
//! unwritten (half a minute).

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

/// Its file, in the store's directory.
const FILE: &str = "mark";
/// The number after the last entry (big-endian), and its complement: what is torn is no mark.
const LEN: usize = 16;

/// The open mark.
#[derive(Debug)]
pub(super) struct Mark(File);

impl Mark {
    /// Makes the mark of an empty list.
    pub(super) fn create(store: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600);
        Self(file.open(store.join(FILE))?).set(0)
    }

    pub(super) fn open(store: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(store.join(FILE));
        file.map(Self)
    }

    /// Says that there are entries with numbers below `end`.
    pub(super) fn set(&self, end: u64) -> io::Result<()> {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&end.to_be_bytes());
        bytes[8..].copy_from_slice(&(!end).to_be_bytes());
        self.0.write_all_at(&bytes, 0)
    }

    /// Numbers below this one were given. 0 when it is torn.
    pub(super) fn get(&self) -> io::Result<u64> {
        let mut bytes = [0; LEN];
        self.0.read_exact_at(&mut bytes, 0)?;
        let [end, complement] = [0, 8].map(|at| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(number)
        });
        Ok(if end == !complement { end } else { 0 })
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}
