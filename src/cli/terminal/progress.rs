//! Progress bars. They are shown if standard error is a terminal, and disappear when they are finished or dropped.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar that counts entries.
pub(crate) fn entry_progress(total: u64, message: &'static str) -> ProgressBar {
    bar(
        total,
        message,
        "{msg} {wide_bar} {percent} % of {human_len}, {eta} left",
    )
}

/// Returns a bar for the bytes of a file.
pub(crate) fn byte_progress(total: u64, message: &'static str) -> ProgressBar {
    bar(total, message, "{msg} {wide_bar} {percent} %, {eta} left")
}

fn bar(total: u64, message: &'static str, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total)
        .with_style(style)
        .with_message(message)
}
