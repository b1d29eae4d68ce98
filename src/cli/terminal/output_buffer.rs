//! Collects output before it is printed, so a slow reader does not keep the list open.

use std::io::{self, BufWriter, Seek, Write};

use rustix::fs::{FileType, fstat};
use tempfile::SpooledTempFile;

/// Maximum output kept in memory, in bytes. Longer output goes to an unnamed temporary file.
const MEMORY_MAX_BYTES: usize = 1 << 20;

/// Prints the output of `write`. A regular file is written directly. For a pipe or a terminal the output is collected
/// first, because a pager may read slowly: `write`, and the list that it owns, are dropped before anything is printed.
pub(crate) fn write_to_stdout(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let is_file = fstat(io::stdout())
        .is_ok_and(|output| FileType::from_raw_mode(output.st_mode) == FileType::RegularFile);
    if is_file {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        write(&mut out)?;
        return out.flush();
    }
    let mut collected = SpooledTempFile::new(MEMORY_MAX_BYTES);
    let mut buffer = BufWriter::with_capacity(1 << 16, &mut collected);
    write(&mut buffer)?;
    buffer.flush()?;
    drop(buffer);
    collected.rewind()?;
    let mut out = io::stdout().lock();
    io::copy(&mut collected, &mut out)?;
    out.flush()
}
