//! Progress bars. They are shown if standard error is a terminal, and disappear when they are finished or dropped.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar.
pub(crate) fn progress(total: u64, message: &'static str) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {percent} % of {human_len}, {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total)
        .with_style(style)
        .with_message(message)
}
