//! Which list is meant.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
};

use clap::error::ErrorKind;

use crate::waitlist::DatabaseUrl;

/// Where the list is when nothing says it.
const DEFAULT_LOCATION: &str = "sled:data";

/// The option that says it.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct StoreArgs {
    /// Where the waitlist is: sled:DIR, or just DIR, for a directory of this machine;
    /// postgres://USER:PASSWORD@HOST/DATABASE for a database. Without it LANDING_DATA (a directory) says
    /// it, or DATABASE_URL [default: sled:data]
    // Not parsed here: clap would show what is wrong with the password in it.
    #[arg(
        long,
        visible_alias = "data",
        env = "LANDING_STORE",
        hide_env_values = true,
        value_name = "STORE"
    )]
    store: Option<OsString>,
}

/// Where a list can be.
#[derive(Clone)]
pub(super) enum StoreLocation {
    /// sled's, a data directory of this machine.
    Directory(PathBuf),
    /// PostgreSQL's.
    Database(Box<DatabaseUrl>),
}

impl StoreArgs {
    /// The store that is named. What names none ends the program, like all that is wrong with a command
    /// line.
    pub(super) fn location(&self) -> StoreLocation {
        let env_value = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let given = self.store.as_ref().filter(|store| !store.is_empty());
        let store = if let Some(store) = given {
            parse_location(store).map_err(|why| format!("--store (LANDING_STORE): {why}"))
        } else if let Some(data) = env_value("LANDING_DATA") {
            parse_location(&data).map_err(|why| format!("LANDING_DATA: {why}"))
        } else if let Some(url) = env_value("DATABASE_URL") {
            let url = url.to_string_lossy().parse().map(database);
            url.map_err(|why| format!("DATABASE_URL: {why}; or name the waitlist with --store"))
        } else {
            parse_location(OsStr::new(DEFAULT_LOCATION))
        };
        store.unwrap_or_else(|why| {
            let mut command = super::command();
            command.error(ErrorKind::ValueValidation, why).exit()
        })
    }
}

fn parse_location(store: &OsStr) -> Result<StoreLocation, String> {
    let Some(text) = store.to_str() else {
        return Ok(StoreLocation::Directory(store.into()));
    };
    if DatabaseUrl::has_scheme(text) {
        return text.parse().map(database);
    }
    let directory = text.strip_prefix("sled:").unwrap_or(text);
    if directory.is_empty() || text.contains("://") {
        return Err("write sled:DIR or postgres://USER:PASSWORD@HOST/DATABASE".into());
    }
    Ok(StoreLocation::Directory(directory.into()))
}

fn database(url: DatabaseUrl) -> StoreLocation {
    StoreLocation::Database(Box::new(url))
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(data) => write!(f, "{}", data.display()),
            Self::Database(url) => write!(f, "{url}"),
        }
    }
}
