//! The program `landing`: parses the command line, runs a command and returns its exit code.

use std::process::ExitCode;

/// Every request and every sign-up allocates. Under load, glibc's allocator took an eighth of the time. (mimalloc
/// is as fast as jemalloc, but kept 127 MB while idle.) Compiling it takes a sixth of a build, so only packages and
/// benchmarks have it.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    landing::cli::run()
}
