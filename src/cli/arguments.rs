//! Parses the command line and the environment, and reports what is invalid in them.

use std::env;

use clap::{Arg, FromArgMatches, builder::Resettable};

use super::{Cli, command};

/// Parses the command line and the environment. Does not return if one is invalid: then it prints why, and exits with
/// code 2.
pub(super) fn parse() -> Cli {
    let mut cli = without_empty_variables(command());
    if !is_server() {
        // `landing count` ignores the variables of the server's options, so an invalid one does not stop it. Options
        // before a command are an error, so a command is always the first argument.
        cli = cli.mut_args(|arg| arg.env(Resettable::Reset));
    }
    Cli::from_arg_matches(&cli.get_matches())
        .unwrap_or_else(|error| error.format(&mut command()).exit())
}

/// Returns a warning for each variable of the environment whose name begins like those of settings, but is unknown.
pub(super) fn unknown_variable_warnings() -> Vec<String> {
    let server = command();
    // A file of settings has those of the other commands too, such as the mail server.
    let of_commands = server
        .get_subcommands()
        .flat_map(clap::Command::get_arguments);
    let arguments = server.get_arguments().chain(of_commands);
    let known: Vec<_> = arguments.filter_map(Arg::get_env).collect();
    let names = env::vars_os().map(|(name, _)| name);
    let names = names.filter(|name| !known.contains(&name.as_os_str()));
    names
        .map(|name| name.display().to_string())
        .filter(|name| name.starts_with(VARIABLE_PREFIX))
        .filter(|name| name != DATA_VARIABLE)
        .map(|name| format!("{name} is not a setting, and is ignored; see `landing serve --help`"))
        .collect()
}

/// The beginning of the names of all settings.
const VARIABLE_PREFIX: &str = "LANDING_";
/// Another name of `LANDING_STORE`.
const DATA_VARIABLE: &str = "LANDING_DATA";

/// Removes the variables that are empty. Compose files and systemd units write one to leave a setting at its default, but clap
/// would parse the empty value.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &Arg| {
        arg.get_env()
            .and_then(env::var_os)
            .is_some_and(|it| it.is_empty())
    };
    command
        .mut_args(|arg| match is_empty(&arg) {
            true => arg.env(Resettable::Reset),
            false => arg,
        })
        .mut_subcommands(without_empty_variables)
}

/// Returns whether the command line starts the server: with options alone, or with `serve`.
fn is_server() -> bool {
    let first = env::args_os().nth(1);
    first.is_none_or(|arg| arg == "serve" || arg.as_encoded_bytes().starts_with(b"-"))
}
