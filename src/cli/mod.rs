//! The program's command line.

mod check;
mod handles;
mod log;
mod serve;

use clap::{Parser, Subcommand};

use crate::config::Config;

pub use log::log_panics;

/// Steward's site: the page and its waitlist.
///
/// Alone it serves, like `landing serve`. Every option is also an environment variable; the option
/// wins.
#[derive(Parser)]
#[command(name = "landing", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    config: Config,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the site
    Serve(Box<Config>),
    /// Read the whole list and say what is wrong with it; the exit code tells
    Check(check::Check),
}

/// Parses the command line and runs one command.
///
/// # Errors
/// A sentence that says what failed and what to do. A wrong command line does not come back: it is
/// told on standard error, with exit code 2.
pub fn run() -> Result<(), String> {
    let cli = Cli::parse();
    match cli.command {
        Some(Command::Serve(config)) => serve::run(&config),
        Some(Command::Check(check)) => check::run(&check),
        None => serve::run(&cli.config),
    }
}
