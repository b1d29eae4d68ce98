//! The program: parse the command line, run one command, tell by the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match landing::cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(told) => {
            eprintln!("landing: {told}");
            ExitCode::FAILURE
        }
    }
}
