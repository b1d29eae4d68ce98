//! What goes wrong with a database, in words.

use std::{error::Error as _, fmt};

use tokio_postgres::{Error, error::SqlState};

use super::schema;

/// Why a list is not opened. Its words are for the owner; nothing was changed.
#[derive(Debug)]
pub enum DatabaseError {
    /// A setting of this program's, in words.
    Settings(String),
    /// Nobody answers there (where, why). Later somebody may.
    Unreachable(String, String),
    /// It answers, but not now (where, why). Later it may.
    Unavailable(String, String),
    /// It answers, and refuses (where, why).
    Refused(String, String),
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

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(why) => write!(f, "cannot connect to the database: {why}"),
            Self::Unreachable(place, why) => write!(
                f,
                "{place} does not answer: {why}; check that it runs and that this machine may reach it"
            ),
            Self::Unavailable(place, why) => write!(
                f,
                "{place} answers, but cannot be used now: {why}; fix that in the database, or try again"
            ),
            Self::Refused(place, why) => write!(
                f,
                "{place} answers, but refuses: {why}; check the URL and the privileges of this user"
            ),
            Self::NoList(place) => write!(
                f,
                "there is no waitlist in {place}; name its place with --store"
            ),
            Self::Older(place, format) => write!(
                f,
                "{place} has a waitlist of format {format}, and this program reads format {}: start the \
                 server once as the user who owns the tables, which updates them",
                schema::FORMAT
            ),
            Self::Newer(place, format) => write!(
                f,
                "{place} has a waitlist of format {format}, and this program reads format {}: use the \
                 program that made it, or a newer one",
                schema::FORMAT
            ),
            Self::Several(place, schemas) => write!(
                f,
                "{place} has waitlists in several schemas ({}): name the one that is meant in the URL, with \
                 options=-csearch_path%3DSCHEMA",
                schemas.join(", "),
            ),
            Self::Encoding(place, encoding) => write!(
                f,
                "{place} stores text as {encoding}, which cannot represent every address: create a \
                 database with ENCODING 'UTF8'"
            ),
            Self::Pooler(place) => write!(
                f,
                "{place} is a connection pooler that gives each transaction another session, as PgBouncer does \
                 with pool_mode = transaction: set pool_mode = session for this database, or connect to \
                 PostgreSQL directly"
            ),
        }
    }
}

impl std::error::Error for DatabaseError {}

impl DatabaseError {
    /// Why a list is not opened, when a connection or a statement failed.
    pub(super) fn of(place: &str, failure: Failure) -> Self {
        let place = place.to_owned();
        match failure {
            Failure::Conflict => Self::Unavailable(place, "others change the same rows".into()),
            Failure::Slot => Self::Unavailable(place, "a row of the count is missing".into()),
            Failure::Rejected(why) => Self::Refused(place, why),
            Failure::Outage(Outage { why, kind }) => match kind {
                OutageKind::Refused => Self::Refused(place, why),
                OutageKind::Cancelled
                | OutageKind::Failed
                | OutageKind::Full
                | OutageKind::Unavailable => Self::Unavailable(place, why),
                OutageKind::NoResponse | OutageKind::Broken => Self::Unreachable(place, why),
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
    Slot,
    /// The database rejects a row, in words.
    Rejected(String),
    Outage(Outage),
}

impl Failure {
    /// A statement took too long. Fewer rows at a time may help.
    pub(super) fn is_slow(&self) -> bool {
        let Self::Outage(Outage { kind, .. }) = self else {
            return false;
        };
        matches!(kind, OutageKind::NoResponse | OutageKind::Cancelled)
    }

    /// The database has answered, and what it said may concern a row. Whether it does, a probe tells.
    pub(super) fn may_concern_a_row(&self) -> Option<&str> {
        match self {
            Self::Outage(Outage { why, kind }) if kind.leaves_the_connection() => Some(why),
            _ => None,
        }
    }

    /// Somebody may hold the row of the slot, or have deleted it: another one may do.
    pub(super) fn may_concern_the_slot(&self) -> bool {
        matches!(self, Self::Slot) || self.is_slow()
    }
}

/// The database cannot be used.
#[derive(Clone, Debug)]
pub(super) struct Outage {
    /// In words for the owner, without anybody's address.
    pub(super) why: String,
    pub(super) kind: OutageKind,
}

/// Ordered from transient to permanent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum OutageKind {
    /// There is no connection, or it broke.
    Broken,
    /// There was no response in time.
    NoResponse,
    /// The database has cancelled a statement that took too long.
    Cancelled,
    /// A statement has failed, for a reason that may be a row's.
    Failed,
    /// It has no connection left.
    Full,
    /// It answers with an error that may pass.
    Unavailable,
    /// It answers with an error that lasts until somebody fixes it.
    Refused,
}

impl OutageKind {
    /// Whether the connection can be used after it.
    pub(super) fn leaves_the_connection(self) -> bool {
        matches!(self, Self::Cancelled | Self::Failed | Self::Refused)
    }

    /// Whether the database has said what is wrong.
    pub(super) fn is_answer(self) -> bool {
        self >= Self::Cancelled
    }
}

pub(super) fn outage(kind: OutageKind, why: String) -> Failure {
    Failure::Outage(Outage { why, kind })
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let outage = |kind| outage(kind, describe(error));
        let Some(code) = error.code() else {
            return outage(OutageKind::Broken);
        };
        if is_conflict(error) {
            Self::Conflict
        } else if *code == SqlState::DIVISION_BY_ZERO {
            Self::Slot
        } else if is_of_class(code.code(), &["22", "23", "44", "P0"]) {
            Self::Rejected(describe(error))
        } else if is_lasting(code) {
            outage(OutageKind::Refused)
        } else if *code == SqlState::QUERY_CANCELED {
            outage(OutageKind::Cancelled)
        } else if *code == SqlState::TOO_MANY_CONNECTIONS {
            outage(OutageKind::Full)
        } else if is_of_class(code.code(), &["08", "25", "40", "53", "57", "58"]) {
            outage(OutageKind::Unavailable)
        } else {
            outage(OutageKind::Failed)
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
        let why = error.source().map(|why| format!(": {why}"));
        return format!("{error}{}", why.unwrap_or_default());
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
