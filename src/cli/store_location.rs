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
const DEFAULT: &str = "sled:data";

/// The option that says it.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Place {
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
pub(super) enum Store {
    /// sled's, a data directory of this machine.
    Directory(PathBuf),
    /// PostgreSQL's.
    Database(Box<DatabaseUrl>),
}

impl Place {
    /// The store that is named. What names none ends the program, like all that is wrong with a command
    /// line.
    pub(super) fn store(&self) -> Store {
        let said = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let named = self.store.as_ref().filter(|store| !store.is_empty());
        let store = if let Some(store) = named {
            parse(store).map_err(|why| format!("--store (LANDING_STORE): {why}"))
        } else if let Some(data) = said("LANDING_DATA") {
            parse(&data).map_err(|why| format!("LANDING_DATA: {why}"))
        } else if let Some(url) = said("DATABASE_URL") {
            let url = url.to_string_lossy().parse().map(database);
            url.map_err(|why| format!("DATABASE_URL: {why}; or name the waitlist with --store"))
        } else {
            parse(OsStr::new(DEFAULT))
        };
        store.unwrap_or_else(|why| {
            let mut command = super::command();
            command.error(ErrorKind::ValueValidation, why).exit()
        })
    }
}

fn parse(store: &OsStr) -> Result<Store, String> {
    let Some(text) = store.to_str() else {
        return Ok(Store::Directory(store.into()));
    };
    if DatabaseUrl::is_one(text) {
        return text.parse().map(database);
    }
    let directory = text.strip_prefix("sled:").unwrap_or(text);
    if directory.is_empty() || text.contains("://") {
        return Err("write sled:DIR or postgres://USER:PASSWORD@HOST/DATABASE".into());
    }
    Ok(Store::Directory(directory.into()))
}

fn database(url: DatabaseUrl) -> Store {
    Store::Database(Box::new(url))
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(data) => write!(f, "{}", data.display()),
            Self::Database(url) => write!(f, "{url}"),
        }
    }
}
