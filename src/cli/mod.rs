//! The program's command line.

mod check;
mod control;
mod count;
mod erase;
mod export;
mod fd_limit;
mod import;
mod list;
mod open_list;
mod serve;
mod stats;
mod store_location;
mod terminal;
mod time;
mod transfer;

use std::{env, io, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, builder::Resettable};
use rustix::{
    fs::Mode,
    process::{Signal, umask},
};
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
};

use crate::waitlist::report;

pub use terminal::log::log_panics;

/// Steward's site: the page and its waitlist.
///
/// Alone it serves, like `landing serve`. The other commands are for the owner of the list: they do the
/// same whether a server runs or not, and none has to be stopped for them. Every option of the server is
/// also an environment variable; the option wins.
#[derive(Parser)]
#[command(
    name = "landing",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 invalid command line, 3 the server's files were removed, replaced or overwritten"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Serve,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the site
    #[command(after_help = "Example: landing serve --origin https://steward.example")]
    Serve(Box<serve::Serve>),
    /// Print how many are on the list
    Count(count::Count),
    /// Print who is on the list, the newest first
    List(list::List),
    /// Write the list as it is at this moment, as a CSV or as JSON
    Export(export::Export),
    /// Put the people of a file on the list
    Import(import::Import),
    /// Take people off the list, for good
    Erase(erase::Erase),
    /// Print how the list grows
    Stats(stats::Stats),
    /// Read the whole list and say what is wrong with it; the exit code tells
    Check(check::Check),
}

/// Parses the command line, runs one command, and prints why it failed. For an invalid command line it
/// does not return: that is printed too, and the exit code is 2.
pub fn run() -> ExitCode {
    let cli = parse();
    let is_server = matches!(cli.command, None | Some(Command::Serve(_)));
    match run_command(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            if is_server {
                // It must end although nobody reads standard error. A command waits for its reader.
                report(&why);
            } else {
                eprintln!("landing: {why}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run_command(cli: Cli) -> Result<(), String> {
    // Whatever this program writes has people's addresses in it.
    umask(Mode::RWXG | Mode::RWXO);
    survive_file_size_limit().map_err(|error| format!("the signals can't be handled: {error}"))?;
    match cli.command {
        Some(Command::Serve(serve)) => serve::run(*serve),
        Some(Command::Count(count)) => count::run(&count),
        Some(Command::List(list)) => list::run(&list),
        Some(Command::Export(export)) => export::run(&export),
        Some(Command::Import(import)) => import::run(&import),
        Some(Command::Erase(erase)) => erase::run(&erase),
        Some(Command::Stats(stats)) => stats::run(&stats),
        Some(Command::Check(check)) => check::run(&check),
        None => serve::run(cli.serve),
    }
}

/// With a handler for SIGXFSZ, a write beyond the limit (`ulimit -f`) fails like any other. Without one the
/// process would end without a word.
fn survive_file_size_limit() -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    let _entered = runtime.enter();
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// Parses the command line and the environment.
fn parse() -> Cli {
    let matches = ignore_empty_variables(command()).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command()).exit())
}

/// Treats empty environment variables as unset. Compose files and systemd units write them to leave a setting at
/// its default, but clap would parse the empty value.
fn ignore_empty_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let value = arg.get_env().and_then(env::var_os);
        if value.is_some_and(|value| value.is_empty()) {
            arg.env(Resettable::Reset)
        } else {
            arg
        }
    });
    command.mut_subcommands(ignore_empty_variables)
}

/// The command line, for manuals and shells.
pub fn command() -> clap::Command {
    Cli::command()
}
