//! The command line of the program.
//!
//! One module per command; `manual` also has the shell completions, and `settings` prints the variables of the environment.
//! They share:
//!
//! - `arguments`: parses the command line and the environment.
//! - `store_location`: `--store`, the location of the list.
//! - `open_list`: opens the list at that location. `open_list_error`: why it cannot be opened.
//! - `waitlist_handle`: the open list.
//! - `list_error`: the errors of an open list, with advice.
//! - `control`: the socket through which a command reaches the list of a running server.
//! - `terminal`: output, progress bars, the log and signals.
//! - `export_format`: the file format of `export`.
//! - `selection`: the options that select entries.
//! - `confirmation_counts`, `delivery_counts`: the messages of the ledger as numbers and words.
//! - `output_file`: writes a file beside its place, and puts it there once it is whole.
//! - `numbers`: what `stats` and `report` count.
//! - `address`, `people_args`: addresses on the command line.
//! - `standings`: the line in which people wait, with the number of people that each has invited.
//! - `time`: times on the command line and in output.
//! - `link_check`: asks the site whether its unsubscribe links work.
//! - `help`: the commands in groups.
//!
//! Only for the server: `serve_check` checks what a start needs, `server_socket` opens or inherits the socket,
//! `fd_limit` raises the limit on open files, and `service_manager` notifies systemd.

mod add;
mod address;
mod arguments;
mod backup;
mod check;
mod compact;
mod confirmation_counts;
mod control;
mod correct;
mod count;
mod delivery_counts;
mod erase;
mod export;
mod export_format;
mod fd_limit;
mod health;
mod help;
mod import;
mod link_check;
mod list;
mod list_error;
mod mail_check;
mod manual;
mod messages;
mod numbers;
mod open_list;
mod open_list_error;
mod output_file;
mod people_args;
mod report;
mod restore;
mod selection;
mod send;
mod serve;
mod serve_check;
mod server_socket;
mod service_manager;
mod settings;
mod show;
mod standings;
mod stats;
mod store_location;
mod terminal;
mod time;
mod unsubscribe;
mod waitlist_handle;
mod webhook_test;

use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use rustix::{fs::Mode, process::umask};
use tokio::runtime::{Builder, EnterGuard, Handle};

use crate::exit::{EXIT_FAILURE, EXIT_INVALID, EXIT_LIST_LOST, print_stderr};
use open_list_error::OpenListError;
use serve_check::InvalidSettings;
use store_location::InvalidLocation;
use terminal::signals::handle_file_size_signal;

pub use import::{Person, Verdict, import_dry_run};
pub use terminal::log::log_panics;

/// Steward's site: the page and its waitlist.
///
/// Without a command it serves the site, like `landing serve`, and takes the same options. The other commands are for
/// the owner of the list. They work the same whether or not a server is running; it needs to be stopped only for
/// `restore`. Every option of the server is also an environment variable, LANDING_ and the option's name in capitals:
/// LANDING_COUNT_FROM is --count-from. The option wins.
#[derive(Parser)]
#[command(
    name = "landing",
    // Written by `build.rs`.
    version = env!("LANDING_VERSION"),
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    override_usage = "landing [OPTIONS OF SERVE]\n       landing <COMMAND>",
    after_help = "Exit codes: 0 success, 1 failure, 2 invalid command line, 3 the list is lost or damaged"
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
    /// Print the number of entries
    Count(count::CountArgs),
    /// Print the entries, the newest or the best inviter first
    List(list::ListArgs),
    /// Print everything that is stored about a person
    Show(show::ShowArgs),
    /// Write the people on the list as CSV or JSON lines, for other programs
    Export(export::ExportArgs),
    /// Write everything that is stored to a file
    Backup(backup::BackupArgs),
    /// Restore a backup into an empty or new list
    Restore(restore::RestoreArgs),
    /// Add the people of a file to the list
    Import(Box<import::ImportArgs>),
    /// Add people to the list by hand
    Add(add::AddArgs),
    /// Take people off the list who do not want mail, and keep them off it
    Unsubscribe(unsubscribe::UnsubscribeArgs),
    /// Erase people from the list permanently
    Erase(erase::EraseArgs),
    /// Give a person on the list another address
    Correct(correct::CorrectArgs),
    /// Print how the list grows, and where people come from
    Stats(stats::StatsArgs),
    /// Write a page with charts of the list, for a browser or a printer
    Report(report::ReportArgs),
    /// Send a message to people on the list
    Send(Box<send::SendArgs>),
    /// List the messages that were sent, and the people who did not get one
    Messages(messages::MessagesArgs),
    /// Find out whether messages will arrive
    MailCheck(Box<mail_check::MailCheckArgs>),
    /// Send an example to the webhook, and print the response
    WebhookTest(webhook_test::WebhookTestArgs),
    /// Read the whole list and report its faults; the exit code is 1 if there are any
    Check(check::CheckArgs),
    /// Rewrite the store, without the addresses that were erased
    Compact(compact::CompactArgs),
    /// Ask the running server whether visitors can sign up
    Health(health::HealthArgs),
    /// Print the manual page
    Manual(manual::ManualArgs),
    /// Print the completions for a shell
    Completions(manual::CompletionsArgs),
    /// Print a file with every setting, for a service manager
    Settings(settings::SettingsArgs),
}

/// Parses the command line, runs the command, and prints its error. Does not return if the command line is invalid:
/// then it prints why, and exits with code 2.
pub fn run() -> ExitCode {
    terminal::log::print_panics();
    let cli = arguments::parse();
    let Err(error) = run_command(cli) else {
        return ExitCode::SUCCESS;
    };
    match error.downcast::<InvalidLocation>() {
        Ok(error) => {
            let text = format!("{error}\n\nFor more information, try '--help'.\n");
            clap::Error::raw(ErrorKind::ValueValidation, text).exit()
        }
        Err(error) => {
            print_stderr(&format!("{error:#}"));
            ExitCode::from(match error.downcast_ref() {
                _ if error.is::<InvalidSettings>() => EXIT_INVALID,
                Some(OpenListError::Sled(error)) if error.needs_owner() => EXIT_LIST_LOST,
                _ => EXIT_FAILURE,
            })
        }
    }
}

fn run_command(cli: Cli) -> anyhow::Result<()> {
    // All files that this program writes can contain addresses.
    umask(Mode::RWXG | Mode::RWXO);
    handle_file_size_signal().context("cannot handle signals")?;
    use Commands::{Completions, Manual, Serve, Settings};
    let is_server = matches!(cli.command, None | Some(Serve(_)));
    let only_prints = matches!(cli.command, Some(Manual(_) | Completions(_) | Settings(_)));
    // The server logs them.
    if !is_server {
        for warning in arguments::unknown_variable_warnings() {
            print_stderr(&warning);
        }
    }
    // The server starts its own, which it shuts down.
    let has_runtime = !is_server && !only_prints;
    let _entered = has_runtime.then(enter_runtime).transpose()?;
    match cli.command {
        Some(Commands::Serve(serve)) => serve::run(*serve),
        Some(Commands::Count(count)) => count::run(&count),
        Some(Commands::List(list)) => list::run(&list),
        Some(Commands::Export(export)) => export::run(&export),
        Some(Commands::Backup(backup)) => backup::run(&backup),
        Some(Commands::Restore(restore)) => restore::run(&restore),
        Some(Commands::Import(import)) => import::run(&import),
        Some(Commands::Add(add)) => add::run(&add),
        Some(Commands::Unsubscribe(unsubscribe)) => unsubscribe::run(&unsubscribe),
        Some(Commands::Erase(erase)) => erase::run(&erase),
        Some(Commands::Send(send)) => send::run(&send),
        Some(Commands::MailCheck(check)) => mail_check::run(&check),
        Some(Commands::Messages(messages)) => messages::run(&messages),
        Some(Commands::WebhookTest(test)) => webhook_test::run(&test),
        Some(Commands::Stats(stats)) => stats::run(&stats),
        Some(Commands::Report(report)) => report::run(&report),
        Some(Commands::Check(check)) => check::run(&check),
        Some(Commands::Show(show)) => show::run(&show),
        Some(Commands::Correct(correct)) => correct::run(&correct),
        Some(Commands::Compact(compact)) => compact::run(&compact),
        Some(Commands::Health(health)) => health::run(&health),
        Some(Commands::Manual(manual)) => manual::print_manual(&manual),
        Some(Commands::Completions(completions)) => manual::print_completions(&completions),
        Some(Commands::Settings(_)) => settings::print_settings(),
        None => serve::run(cli.serve),
    }
}

/// Enters the runtime of a command. It is never shut down: that would wait for a thread that resolves a host name, and nothing
/// can stop that thread.
fn enter_runtime() -> anyhow::Result<EnterGuard<'static>> {
    // Of several threads, one that cannot be started would make the others wait for ever.
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    Ok(Box::leak(Box::new(runtime)).enter())
}

/// Waits for a future on the runtime of the command.
fn wait_for<F: Future>(future: F) -> F::Output {
    Handle::current().block_on(future)
}

/// Returns the command line.
pub fn command() -> clap::Command {
    help::group_commands(Cli::command())
}
