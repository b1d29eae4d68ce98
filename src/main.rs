//! The program: parse the command line, run one command, tell by the exit code.

use std::process::ExitCode;

/// Each request and each sign-up allocates: glibc's allocator took an eighth of the time under load.
/// (mimalloc was as fast, and kept 127 MB at rest.)
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    landing::cli::run()
}
