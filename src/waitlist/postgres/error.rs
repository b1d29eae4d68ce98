//! What goes wrong with a database, in words.

use std::{error::Error as _, fmt};

use tokio_postgres::{Error, error::SqlState};

use super::schema;

/// Why a list is not opened. Its words are for the owner; nothing was changed.
#[derive(Debug)]
pub enum PostgresOpenError {
    /// A setting of this program's, in words.
    Settings(String),
    /// Nobody answers there (where, reason). Later somebody may.
    Unreachable(String, String),
    /// It answers, but not now (where, reason). Later it may.
    Unavailable(String, String),
    /// It answers, and refuses (where, reason).
    Rejected(String, String),
    /// There is no list (where).
    NoList(String),
    /// The list is of an older format, which a server or an import would update (where, which).
    Older(String, i64),
    /// It is of a newer format (where, which).
    Newer(String, i64),
    /// There are several lists (where, in which schemas).
    Several(String, Vec<String>),
    /// It can't keep every address as typed (where, in which encoding).
    Encoding(String, String),
    /// A connection pooler gives each transaction another session (where).
    Pooler(String),
}

impl fmt::Display for PostgresOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(reason) => write!(f, "cannot connect to the database: {reason}"),
            Self::Unreachable(database, reason) => write!(
                f,
                "{database} does not answer: {reason}; check that it runs and that this machine may reach it"
            ),
            Self::Unavailable(database, reason) => write!(
                f,
                "{database} answers, but cannot be used now: {reason}; fix that in the database, or try again"
            ),
            Self::Rejected(database, reason) => write!(
                f,
                "{database} answers, but refuses: {reason}; check the URL and the privileges of this user"
            ),
            Self::NoList(database) => write!(
                f,
                "there is no waitlist in {database}; name its place with --store"
            ),
            Self::Older(database, format) => write!(
                f,
                "{database} has a waitlist of format {format}, and this program reads format {}: start the \
                 server once as the user who owns the tables, which updates them",
                schema::FORMAT_VERSION
            ),
            Self::Newer(database, format) => write!(
                f,
                "{database} has a waitlist of format {format}, and this program reads format {}: use the \
                 program that made it, or a newer one",
                schema::FORMAT_VERSION
            ),
            Self::Several(database, schemas) => write!(
                f,
                "{database} has waitlists in several schemas ({}): name the one that is meant in the URL, with \
                 options=-csearch_path%3DSCHEMA",
                schemas.join(", "),
            ),
            Self::Encoding(database, encoding) => write!(
                f,
                "{database} stores text as {encoding}, which cannot represent every address: create a \
                 database with ENCODING 'UTF8'"
            ),
            Self::Pooler(database) => write!(
                f,
                "{database} is a connection pooler that gives each transaction another session, as PgBouncer does \
                 with pool_mode = transaction: set pool_mode = session for this database, or connect to \
                 PostgreSQL directly"
            ),
        }
    }
}

impl std::error::Error for PostgresOpenError {}

impl PostgresOpenError {
    /// Why a list is not opened, when a connection or a statement failed.
    pub(super) fn from_failure(database: &str, failure: Failure) -> Self {
        let database = database.to_owned();
        match failure {
            Failure::Conflict => Self::Unavailable(database, "others change the same rows".into()),
            Failure::StaleSlot => {
                Self::Unavailable(database, "a row of the count is missing".into())
            }
            Failure::RowRejected(reason) => Self::Rejected(database, reason),
            Failure::Database(DatabaseFailure { reason, kind }) => match kind {
                FailureKind::Permanent => Self::Rejected(database, reason),
                FailureKind::Cancelled
                | FailureKind::StatementFailed
                | FailureKind::TooManyConnections
                | FailureKind::Unavailable => Self::Unavailable(database, reason),
                FailureKind::NoResponse | FailureKind::Disconnected => {
                    Self::Unreachable(database, reason)
                }
            },
        }
    }
}

/// Why an attempt failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Others changed the same rows: try again.
    Conflict,
    /// The row in which this instance counts is missing, or its epoch has changed.
    StaleSlot,
    /// The database rejects a row, in words.
    RowRejected(String),
    Database(DatabaseFailure),
}

impl Failure {
    /// A statement took too long. Fewer rows at a time may help.
    pub(super) fn is_slow(&self) -> bool {
        let Self::Database(DatabaseFailure { kind, .. }) = self else {
            return false;
        };
        matches!(kind, FailureKind::NoResponse | FailureKind::Cancelled)
    }

    /// The database has answered, and what it said may concern a row. Whether it does, a probe tells.
    pub(super) fn possible_row_problem(&self) -> Option<&str> {
        match self {
            Self::Database(DatabaseFailure { reason, kind }) if kind.is_connection_usable() => {
                Some(reason)
            }
            _ => None,
        }
    }

    /// Somebody may hold the row of the slot, or have deleted it: another one may do.
    pub(super) fn may_be_slot_problem(&self) -> bool {
        matches!(self, Self::StaleSlot) || self.is_slow()
    }
}

/// The database cannot be used.
#[derive(Clone, Debug)]
pub(super) struct DatabaseFailure {
    /// In words for the owner, without anybody's address.
    pub(super) reason: String,
    pub(super) kind: FailureKind,
}

/// Ordered from transient to permanent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum FailureKind {
    /// There is no connection, or it broke.
    Disconnected,
    /// There was no response in time.
    NoResponse,
    /// The database has cancelled a statement that took too long.
    Cancelled,
    /// A statement has failed, for a reason that may be a row's.
    StatementFailed,
    /// It has no connection left.
    TooManyConnections,
    /// It answers with an error that may pass.
    Unavailable,
    /// It answers with an error that lasts until somebody fixes it.
    Permanent,
}

impl FailureKind {
    /// Whether the connection can be used after it.
    pub(super) fn is_connection_usable(self) -> bool {
        matches!(
            self,
            Self::Cancelled | Self::StatementFailed | Self::Permanent
        )
    }

    /// Whether the database has said what is wrong.
    pub(super) fn is_database_response(self) -> bool {
        self >= Self::Cancelled
    }
}

pub(super) fn database_failure(kind: FailureKind, reason: String) -> Failure {
    Failure::Database(DatabaseFailure { reason, kind })
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let failure = |kind| database_failure(kind, describe(error));
        let Some(code) = error.code() else {
            return failure(FailureKind::Disconnected);
        };
        if is_conflict(error) {
            Self::Conflict
        } else if *code == SqlState::DIVISION_BY_ZERO {
            Self::StaleSlot
        } else if is_of_class(code.code(), &["22", "23", "44", "P0"]) {
            Self::RowRejected(describe(error))
        } else if is_lasting(code) {
            failure(FailureKind::Permanent)
        } else if *code == SqlState::QUERY_CANCELED {
            failure(FailureKind::Cancelled)
        } else if *code == SqlState::TOO_MANY_CONNECTIONS {
            failure(FailureKind::TooManyConnections)
        } else if is_of_class(code.code(), &["08", "25", "40", "53", "57", "58"]) {
            failure(FailureKind::Unavailable)
        } else {
            failure(FailureKind::StatementFailed)
        }
    }
}

/// Login, database, privilege and disk-full errors.
fn is_lasting(code: &SqlState) -> bool {
    *code == SqlState::DISK_FULL || is_of_class(code.code(), &["0A", "28", "3D", "3F", "42"])
}

/// To be tried again as it is, and no outage.
pub(super) fn is_conflict(error: &Error) -> bool {
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    error.code().is_some_and(|code| conflicts.contains(code))
}

/// Describes an error for the owner. An address never appears in a log, so an error that may quote one (data,
/// and CockroachDB's insides, which name keys) is described by its number.
pub(super) fn describe(error: &Error) -> String {
    let Some(error) = error.as_db_error() else {
        let reason = error.source().map(|reason| format!(": {reason}"));
        return format!("{error}{}", reason.unwrap_or_default());
    };
    let code = error.code().code();
    // Connections, constraints, states, logging in, names, privileges, resources, states of objects, operators,
    // and the system. Constraints are named; the values are in another field.
    let quotes_nothing = [
        "08", "23", "25", "28", "3D", "3F", "42", "53", "55", "57", "58",
    ];
    // A trigger of the owner's may quote in any class, an address or the bytes of a key.
    let may_quote = error.message().contains(['@', '\\']);
    if is_of_class(code, &quotes_nothing) && !may_quote {
        let hint = if *error.code() == SqlState::QUERY_CANCELED {
            ": a lock, a slow disk or an administrator has stopped it"
        } else {
            ""
        };
        format!("{} ({code}){hint}", error.message())
    } else {
        format!("error {code}, described in the log of the database")
    }
}

/// Returns whether an SQLSTATE is in one of these classes, which are its first two characters. A server may send
/// fewer.
fn is_of_class(code: &str, classes: &[&str]) -> bool {
    code.get(..2).is_some_and(|class| classes.contains(&class))
}
