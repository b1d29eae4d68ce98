//! What a command prints: text, or JSON for programs. With `--json`, a list is an object per line, and everything else is
//! one object.

use std::io::{self, BufWriter, Seek, Write};

use rustix::fs::{FileType, fstat};
use serde::Serialize;
use tempfile::SpooledTempFile;

/// Maximum output kept in memory, in bytes. Longer output goes to an unnamed temporary file.
const MEMORY_MAX_BYTES: usize = 1 << 20;

/// The option that selects the format.
#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl OutputArgs {
    /// Prints `value` as JSON, or the text that `human` writes.
    pub(crate) fn print(
        &self,
        value: &impl Serialize,
        human: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        self.print_list([value], human)
    }

    /// Prints the JSON of each item on a line, or its text.
    pub(crate) fn print_lines<V: Serialize>(&self, items: &[(V, String)]) -> anyhow::Result<()> {
        self.print_list(items.iter().map(|(value, _)| value), |out| {
            items
                .iter()
                .try_for_each(|(_, text)| writeln!(out, "{text}"))
        })
    }

    /// Prints `values` as JSON, one on each line, or the text that `human` writes.
    pub(crate) fn print_list<V: Serialize>(
        &self,
        values: impl IntoIterator<Item = V>,
        human: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        print_to_stdout(|out| {
            if !self.json {
                return human(out);
            }
            for value in values {
                serde_json::to_writer(&mut *out, &value)?;
                writeln!(out)?;
            }
            Ok(())
        })
    }
}

/// Prints the output of `print`. A slow reader keeps neither `print` alive nor what it owns, such as the list. A reader that
/// stops early (`| head`) is not an error.
pub(crate) fn print_to_stdout(
    print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    match write_to_stdout(print) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(|error| write_error("standard output", error)),
    }
}

/// Describes an error of writing to `target`. Only an error of the system gets this description. Other errors, such
/// as those of the list, are of kind `Other` and describe themselves.
pub(crate) fn write_error(target: &str, error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::Other {
        return error.into();
    }
    anyhow::anyhow!("cannot write {target}: {error}; fix the cause, or write the output elsewhere")
}

/// Writes a number with its noun: `1 entry`, `2 entries`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Prints the output of `write`. A regular file is written directly. For a pipe or a terminal the output is collected
/// first, because a pager may read slowly: `write`, and the list that it owns, are dropped before anything is printed.
fn write_to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
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
