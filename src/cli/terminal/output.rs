//! What a command prints: text, or JSON for programs. With `--json`, a list is an object per line, and everything else is
//! one object.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::output_buffer::write_to_stdout;

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

/// Prints the output of `print`. A slow reader keeps neither `print` alive nor what it owns, such as the list: see
/// [`write_to_stdout`]. A reader that stops early (`| head`) is not an error.
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

/// Returns whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}
