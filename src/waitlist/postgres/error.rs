//! What goes wrong with a database, in words.

use std::{error::Error as _, fmt};

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::{Error, error::SqlState};

use super::{pool::TRY_PATIENCE, schema};

/// Why a list is not opened. Its words are for the owner; nothing was changed.
#[derive(Debug)]
pub enum DatabaseError {
    /// A setting of this program's, in words.
    Settings(String),
    /// Nobody answers there (where, why). Later somebody may.
    Unreachable(String, String),
    /// It answers, and refuses (where, why).
    Refused(String, String),
    /// There is no list (where).
    NoList(String),
    /// It is of a newer format (where, which).
    Newer(String, i64),
    /// It can't keep every address as typed (where, in which encoding).
    Encoding(String, String),
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(why) => write!(f, "the database can't be connected to: {why}"),
            Self::Unreachable(place, why) => write!(
                f,
                "{place} does not answer: {why}; see that it runs and that this machine may reach it"
            ),
            Self::Refused(place, why) => write!(
                f,
                "{place} refuses: {why}; see to the URL, and to what this user may do there"
            ),
            Self::NoList(place) => write!(
                f,
                "there is no waitlist in {place}; name its place with --store"
            ),
            Self::Newer(place, format) => write!(
                f,
                "{place} has a waitlist of format {format}, and this program reads format {}: use the \
                 program that made it, or a newer one",
                schema::FORMAT
            ),
            Self::Encoding(place, encoding) => write!(
                f,
                "{place} keeps text as {encoding}, which not every address can be written in: make a \
                 database with ENCODING 'UTF8'"
            ),
        }
    }
}

impl std::error::Error for DatabaseError {}

/// Why a list is not opened, when there is no connection.
pub(super) fn no_connection(place: &str, error: &PoolError) -> DatabaseError {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            refusal(place, error)
        }
        other => DatabaseError::Unreachable(place.to_owned(), words_of_the_pool(other)),
    }
}

/// Why a list is not opened, when a statement failed.
pub(super) fn refusal(place: &str, error: &Error) -> DatabaseError {
    let (place, why) = (place.to_owned(), words(error));
    // Who logs in, to which database, and what may be done there. All else may pass.
    let is_refused = |code: &SqlState| is_of_class(code.code(), &["0A", "28", "3D", "42"]);
    match error.code() {
        Some(code) if is_refused(code) => DatabaseError::Refused(place, why),
        _ => DatabaseError::Unreachable(place, why),
    }
}

/// Why there is no connection, in words for the owner.
pub(super) fn words_of_the_pool(error: &PoolError) -> String {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            words(error)
        }
        PoolError::Timeout(_) => {
            format!("no connection in {} seconds", TRY_PATIENCE.as_secs())
        }
        other => other.to_string(),
    }
}

/// What happened, in words for the owner. An address never appears in a log, so what may quote one (data,
/// and CockroachDB's insides, which name keys) is told by its number.
pub(super) fn words(error: &Error) -> String {
    let Some(error) = error.as_db_error() else {
        let why = error.source().map(|why| format!(": {why}"));
        return format!("{error}{}", why.unwrap_or_default());
    };
    let code = error.code().code();
    // Connections, states, logging in, names, privileges, resources, operators.
    let quotes_nothing = ["08", "25", "28", "3D", "42", "53", "57"];
    if is_of_class(code, &quotes_nothing) {
        format!("{} ({code})", error.message())
    } else {
        format!("error {code}, which its own log tells more of")
    }
}

/// Returns whether an SQLSTATE is in one of these classes, which are its first two characters. A server may send
/// fewer.
fn is_of_class(code: &str, classes: &[&str]) -> bool {
    code.get(..2).is_some_and(|class| classes.contains(&class))
}
