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

use crate::waitlist::print_stderr;

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
    command: Option<Commands>,
    #[command(flatten)]
    serve: serve::ServeArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Serve the site
    #[command(after_help = "Example: landing serve --origin https://steward.example")]
    Serve(Box<serve::ServeArgs>),
    /// Print how many are on the list
    Count(count::CountArgs),
    /// Print who is on the list, the newest first
    List(list::ListArgs),
    /// Write the list as it is at this moment, as a CSV or as JSON
    Export(export::ExportArgs),
    /// Put the people of a file on the list
    Import(import::ImportArgs),
    /// Take people off the list, for good
    Erase(erase::EraseArgs),
    /// Print how the list grows
    Stats(stats::StatsArgs),
    /// Read the whole list and say what is wrong with it; the exit code tells
    Check(check::CheckArgs),
}

/// Parses the command line, runs one command, and prints why it failed. For an invalid command line it
/// does not return: that is printed too, and the exit code is 2.
pub fn run() -> ExitCode {
    let cli = parse();
    let is_server = matches!(cli.command, None | Some(Commands::Serve(_)));
    match run_command(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            if is_server {
                // It must end although nobody reads standard error. A command waits for its reader.
                print_stderr(&why);
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
    handle_file_size_signal().map_err(|error| format!("the signals can't be handled: {error}"))?;
    match cli.command {
        Some(Commands::Serve(serve)) => serve::run(*serve),
        Some(Commands::Count(count)) => count::run(&count),
        Some(Commands::List(list)) => list::run(&list),
        Some(Commands::Export(export)) => export::run(&export),
        Some(Commands::Import(import)) => import::run(&import),
        Some(Commands::Erase(erase)) => erase::run(&erase),
        Some(Commands::Stats(stats)) => stats::run(&stats),
        Some(Commands::Check(check)) => check::run(&check),
        None => serve::run(cli.serve),
    }
}

/// With a handler for SIGXFSZ, a write beyond the limit (`ulimit -f`) fails like any other. Without one the
/// process would end without a word.
fn handle_file_size_signal() -> io::Result<()> {
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
