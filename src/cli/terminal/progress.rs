//! Progress bars.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar of `total` steps. It is shown if standard error is a terminal, and disappears when it is finished or
/// dropped.
pub(crate) fn progress_bar(total: u64, message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %, {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total)
        .with_style(style)
        .with_message(message)
}

/// Returns a counter of entries whose total is not known in advance. It is shown like [`progress_bar`].
pub(crate) fn entry_counter(message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}: {human_pos} entries");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner()
        .with_style(style)
        .with_message(message)
}
