//! What a command prints: for people, or as JSON for programs.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::output_buffer::write_to_stdout;

/// How a command prints.
#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl OutputArgs {
    /// Prints one thing: as JSON, or in words.
    pub(crate) fn print(
        &self,
        value: &impl Serialize,
        human: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), String> {
        print_to_stdout(|out| {
            if !self.json {
                return human(out);
            }
            serde_json::to_writer(&mut *out, value)?;
            writeln!(out)
        })
    }
}

/// Prints. What `print` holds, such as the list, is dropped before anybody has read it: see
/// [`write_to_stdout`]. Who reads only the beginning (`| head`) has what they want.
pub(crate) fn print_to_stdout(
    print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), String> {
    match write_to_stdout(print) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(|error| write_error("standard output", error)),
    }
}

/// Prints what is of no use without its end.
pub(crate) fn print_all_to_stdout(
    print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), String> {
    write_to_stdout(print).map_err(|error| write_error("standard output", error))
}

/// Why something could not be written there, or the sentence that came instead: the system's errors are of
/// another kind.
pub(crate) fn write_error(target: &str, error: io::Error) -> String {
    if error.kind() == io::ErrorKind::Other {
        return error.to_string();
    }
    format!("{target} can't be written: {error}; see to that, or write it elsewhere")
}

/// Whether somebody looks at what is printed.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A bar of so many steps on the terminal, when standard error is one.
pub(crate) fn progress_bar(total: u64, message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %, {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total)
        .with_style(style)
        .with_message(message)
}
