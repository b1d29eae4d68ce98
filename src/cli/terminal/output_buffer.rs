//! Collects output before it is printed, so a slow reader does not keep the list open.

use std::{
    env,
    io::{self, BufWriter, Seek, Write},
};

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
    let mut output = OutputBuffer::collect(write)?;
    output.write_to(&mut io::stdout().lock())
}

/// The collected output.
pub(crate) struct OutputBuffer(SpooledTempFile);

impl OutputBuffer {
    /// Collects the output of `write`.
    pub(crate) fn collect(
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut buffer =
            BufWriter::with_capacity(1 << 16, TempFile(SpooledTempFile::new(MEMORY_MAX_BYTES)));
        write(&mut buffer)?;
        let TempFile(mut file) = buffer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Self(file))
    }

    /// Writes the whole output.
    pub(crate) fn write_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        io::copy(&mut self.0, out)?;
        out.flush()
    }
}

/// A temporary file whose write errors name the temporary directory.
struct TempFile(SpooledTempFile);

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| {
            io::Error::other(format!(
                "cannot write a temporary file in {}: {error}; choose another directory with TMPDIR, \
                 or write the output to a file",
                env::temp_dir().display()
            ))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
