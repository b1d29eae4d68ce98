//! Parses the command line and the environment, and reports what is invalid in them.

use std::{env, error::Error, ffi::OsString};

use clap::{
    Arg, FromArgMatches,
    builder::Resettable,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{Cli, command};

/// Parses the command line and the environment. Does not return if one is invalid: then it prints why, and exits with
/// code 2.
pub(super) fn parse() -> Cli {
    // First the options alone, so that an error afterwards is one of a variable. clap would name the option. The help
    // shows the variables, so it is printed below.
    let options = with_variables(command(), &|_| false).try_get_matches();
    if let Err(error) = options
        && error.use_stderr()
    {
        error.exit();
    }
    // Compose files and systemd units write an empty variable to leave a setting at its default, but clap would parse
    // the empty value.
    let is_not_empty = |arg: &Arg| variable_value(arg).is_none_or(|value| !value.is_empty());
    let mut cli = with_variables(command(), &is_not_empty);
    if !is_server() {
        // `landing count` ignores the variables of the server's options, so an invalid one does not stop it. Options
        // before a command are an error, so a command is always the first argument.
        cli = cli.mut_args(|arg| arg.env(Resettable::Reset));
    }
    let matches = cli
        .try_get_matches()
        .unwrap_or_else(|error| name_variable(error).exit());
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command()).exit())
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
    names
        .filter(|name| {
            name.as_encoded_bytes()
                .starts_with(VARIABLE_PREFIX.as_bytes())
        })
        .filter(|name| !known.contains(&name.as_os_str()))
        .map(|name| name.display().to_string())
        .filter(|name| !OTHER_VARIABLES.contains(&name.as_str()))
        .map(|name| format!("{name} is not a setting, and is ignored; see `landing serve --help`"))
        .collect()
}

/// The beginning of the names of all settings.
const VARIABLE_PREFIX: &str = "LANDING_";
/// Variables that are not options: another name of `LANDING_STORE`, and one that `make watch` sets.
const OTHER_VARIABLES: [&str; 2] = ["LANDING_DATA", "LANDING_ISLANDS_DIR"];

/// Removes the environment variables of all options but those that `keep` selects.
fn with_variables(command: clap::Command, keep: &dyn Fn(&Arg) -> bool) -> clap::Command {
    command
        .mut_args(|arg| {
            if keep(&arg) {
                arg
            } else {
                arg.env(Resettable::Reset)
            }
        })
        .mut_subcommands(|command| with_variables(command, keep))
}

fn variable_value(arg: &Arg) -> Option<OsString> {
    arg.get_env().and_then(env::var_os)
}

/// Names the variable in an error that a variable causes: `LANDING_ADDR=4600: …`.
fn name_variable(error: clap::Error) -> clap::Error {
    let server = command();
    let with_value = server.get_arguments().filter_map(|arg| {
        let value = variable_value(arg).filter(|value| !value.is_empty())?;
        Some((arg.get_env()?.to_owned(), value))
    });
    for (name, value) in with_value {
        let only_this = |arg: &Arg| arg.get_env() == Some(&name);
        let parsed =
            with_variables(command(), &only_this).try_get_matches_from([env!("CARGO_PKG_NAME")]);
        if let Err(error) = parsed {
            let (name, value) = (name.display(), value.display());
            let message = format!("{name}={value}: {}", problem(&error));
            return command().error(ErrorKind::ValueValidation, message);
        }
    }
    error
}

/// Returns what is wrong with a value.
fn problem(error: &clap::Error) -> String {
    if let Some(source) = error.source() {
        return source.to_string();
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(valid)) => format!("write one of: {}", valid.join(", ")),
        _ => "invalid value".to_owned(),
    }
}

/// Returns whether the command line starts the server: with options alone, or with `serve`.
fn is_server() -> bool {
    let first = env::args_os().nth(1);
    first.is_none_or(|arg| arg == "serve" || arg.as_encoded_bytes().starts_with(b"-"))
}
