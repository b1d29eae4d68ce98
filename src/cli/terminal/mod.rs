//! What the program prints and what interrupts it: standard output, progress, the log, signals.

pub(super) mod log;
pub(super) mod output;
pub(super) mod output_buffer;
pub(super) mod signals;
