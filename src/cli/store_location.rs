//! The location of the list: `--store`, or the environment.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt,
    io::{self, IsTerminal},
    path::{self, PathBuf},
};

use thiserror::Error;

use super::terminal::output::OutputArgs;
use crate::{
    exit::print_stderr,
    waitlist::{DatabaseUrl, InvalidDatabaseUrl},
};

/// The location when nothing names one.
const DEFAULT_LOCATION: &str = "data";

/// The option that names the location.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct StoreArgs {
    /// Location of the waitlist: sled:DIR, or just DIR, for a directory on this machine;
    /// postgres://USER:PASSWORD@HOST/DATABASE for a database. When unset, LANDING_DATA (a directory) or
    /// DATABASE_URL is used [default: sled:data]
    // Parsed by `location` and not by clap, whose error message would show the password.
    #[arg(
        long,
        visible_alias = "data",
        env = "LANDING_STORE",
        hide_env_values = true,
        value_name = "STORE"
    )]
    store: Option<OsString>,
}

/// The options of every command that prints something about a list.
#[derive(clap::Args)]
pub(super) struct CommonArgs {
    #[command(flatten)]
    pub(super) store: StoreArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// The location of a list. No format of it shows a password.
#[derive(Clone, Debug)]
pub(super) enum StoreLocation {
    /// A data directory on this machine, for sled.
    Directory(PathBuf),
    /// A PostgreSQL database.
    Database(Box<DatabaseUrl>),
}

/// A location that cannot be parsed. It counts as an invalid command line (exit code 2). The message never quotes
/// the value, which may contain a password.
#[derive(Debug, Error)]
#[error("{setting}: {problem}")]
pub(super) struct InvalidLocation {
    /// The option or the environment variable.
    setting: &'static str,
    problem: LocationProblem,
}

#[derive(Debug, Error)]
enum LocationProblem {
    #[error(
        "unknown kind of store; write sled:DIR or postgres://USER:PASSWORD@HOST/DATABASE; for a directory whose name \
         has a colon, write ./NAME"
    )]
    UnknownKind,
    #[error("no directory is named; write sled:DIR")]
    NoDirectory,
    #[error("the name of the directory has a control character, perhaps of a Windows line end")]
    ControlCharacter,
    #[error("invalid UTF-8 in the database URL; write special characters as %XX")]
    NotUtf8,
    #[error(transparent)]
    DatabaseUrl(#[from] InvalidDatabaseUrl),
}

impl StoreArgs {
    /// Returns the location of the list for a command. On a terminal, prints it if `--store` does not name it.
    ///
    /// # Errors
    /// [`InvalidLocation`].
    pub(super) fn announce_location(&self) -> Result<StoreLocation, InvalidLocation> {
        let location = self.location()?;
        if !self.is_in_command_line() && io::stderr().is_terminal() {
            print_stderr(&format!("the waitlist in {location}"));
        }
        Ok(location)
    }

    /// Returns whether `--store` names the location, and not the environment.
    pub(super) fn is_in_command_line(&self) -> bool {
        let variable = env::var_os("LANDING_STORE");
        self.store
            .as_ref()
            .is_some_and(|store| variable.as_ref() != Some(store))
    }

    /// Returns whether a database is configured that is not used, because `LANDING_DATA` has a directory.
    pub(super) fn ignores_database_url(&self) -> bool {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        self.store.is_none() && is_set("LANDING_DATA") && is_set("DATABASE_URL")
    }

    /// Returns the location of the list.
    ///
    /// # Errors
    /// [`InvalidLocation`].
    pub(super) fn location(&self) -> Result<StoreLocation, InvalidLocation> {
        let env_value = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let invalid = |setting| move |problem| InvalidLocation { setting, problem };
        if let Some(store) = &self.store {
            parse_location(store).map_err(invalid("--store (LANDING_STORE)"))
        } else if let Some(data) = env_value("LANDING_DATA") {
            parse_location(&data).map_err(invalid("LANDING_DATA"))
        } else if let Some(url) = env_value("DATABASE_URL") {
            parse_database_url(&url.to_string_lossy()).map_err(invalid("DATABASE_URL"))
        } else {
            parse_location(OsStr::new(DEFAULT_LOCATION)).map_err(invalid("--store"))
        }
    }
}

fn parse_location(store: &OsStr) -> Result<StoreLocation, LocationProblem> {
    let text = store.to_string_lossy();
    if DatabaseUrl::has_scheme(&text) {
        // A URL, which may contain a password, must not become the name of a directory.
        return parse_database_url(store.to_str().ok_or(LocationProblem::NotUtf8)?);
    }
    let named = store.to_str().and_then(|text| text.strip_prefix("sled:"));
    // Other programs have such locations. A URL in quotation marks, which has a password, looks like one too.
    let prefix = text.split_once(':').map_or("", |(prefix, _)| prefix);
    if named.is_none() && !prefix.is_empty() && !prefix.contains('/') {
        return Err(LocationProblem::UnknownKind);
    }
    let directory = named.map_or(store, OsStr::new);
    if directory.is_empty() {
        return Err(LocationProblem::NoDirectory);
    }
    if text.contains(char::is_control) {
        return Err(LocationProblem::ControlCharacter);
    }
    // Without a working directory, the path stays as it is.
    let absolute = path::absolute(directory).unwrap_or_else(|_| directory.into());
    Ok(StoreLocation::Directory(absolute))
}

fn parse_database_url(text: &str) -> Result<StoreLocation, LocationProblem> {
    let url = text.parse()?;
    Ok(StoreLocation::Database(Box::new(url)))
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(data) => write!(f, "{}", data.display()),
            Self::Database(url) => write!(f, "{url}"),
        }
    }
}
