//! Classifies errors of the database, and describes them without an address.

use std::error::Error as _;

use tokio_postgres::{Error, error::SqlState};

use super::super::error::StoreError;

/// The descriptions of the failures of the same names.
pub(super) const CONFLICT: &str = "other clients change the same rows";
pub(super) const OTHER_EPOCH: &str =
    "other clients keep changing the list, or a trigger divides by zero (22012)";
pub(super) const NO_SLOT: &str =
    "rows of waitlist_count are missing, and this user may not create them";

/// The reason why an attempt failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Other transactions changed the same rows. A retry may succeed.
    Conflict,
    /// The list has another epoch than the statement, or a trigger has divided by zero. The statement has no effect, and
    /// may be repeated in the new epoch.
    OtherEpoch,
    /// The row in which this instance counts is missing. Another row may exist.
    NoSlot,
    /// The database rejects a row, for this reason.
    RowRejected(String),
    /// The database cannot be used.
    Database(DatabaseFailure),
}

impl Failure {
    /// Returns whether a statement took too long. Fewer rows at a time may help.
    pub(super) fn is_slow(&self) -> bool {
        let Self::Database(DatabaseFailure { kind, .. }) = self else {
            return false;
        };
        matches!(kind, FailureKind::NoResponse | FailureKind::Cancelled)
    }

    /// Returns whether the database responded with an error, so that the statement has no effect.
    pub(super) fn is_without_effect(&self) -> bool {
        match self {
            Self::Database(DatabaseFailure { kind, .. }) => kind.is_connection_usable(),
            _ => true,
        }
    }

    /// Returns whether another attempt may succeed.
    pub(super) fn may_pass(&self) -> bool {
        !matches!(
            self,
            Self::RowRejected(_)
                | Self::Database(DatabaseFailure {
                    kind: FailureKind::Permanent,
                    ..
                })
        )
    }

    /// Returns the reason if the database responded with an error that may concern a row. A probe shows whether it
    /// does.
    pub(super) fn possible_row_problem(&self) -> Option<&str> {
        match self {
            Self::Database(DatabaseFailure { reason, kind }) if kind.is_connection_usable() => {
                Some(reason)
            }
            _ => None,
        }
    }

    /// Returns whether the row of the slot is missing, or may be locked by another transaction. Another slot may work.
    pub(super) fn may_be_slot_problem(&self) -> bool {
        matches!(self, Self::NoSlot) || self.is_slow()
    }
}

/// The reason why the database cannot be used.
#[derive(Clone, Debug)]
pub(super) struct DatabaseFailure {
    /// A description for the owner. It contains no address.
    pub(super) reason: String,
    pub(super) kind: FailureKind,
}

/// The kinds of database failures, from transient to permanent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum FailureKind {
    /// The connection could not be opened, or it broke.
    Disconnected,
    /// The database did not respond in time.
    NoResponse,
    /// The database cancelled a statement that took too long.
    Cancelled,
    /// A statement failed, perhaps because of one of its rows.
    StatementFailed,
    /// The database has no connection left.
    TooManyConnections,
    /// The database responds with an error that may pass.
    Unavailable,
    /// The database responds with an error that lasts until somebody fixes it.
    Permanent,
}

impl FailureKind {
    /// Returns whether the connection can be used after this failure.
    pub(super) fn is_connection_usable(self) -> bool {
        matches!(
            self,
            Self::Cancelled | Self::StatementFailed | Self::Permanent
        )
    }

    /// Returns whether the failure is a response of the database.
    pub(super) fn is_database_response(self) -> bool {
        self >= Self::Cancelled
    }
}

/// Returns a failure of the database.
pub(super) fn database_failure(kind: FailureKind, reason: String) -> Failure {
    Failure::Database(DatabaseFailure { reason, kind })
}

/// Returns the failure of a statement that always has a row and has returned none.
pub(super) fn no_row() -> Failure {
    database_failure(FailureKind::Permanent, "a statement has no result".into())
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
            Self::OtherEpoch
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

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflict => Self::Database(CONFLICT.into()),
            Failure::OtherEpoch => Self::Database(OTHER_EPOCH.into()),
            Failure::NoSlot => Self::Database(NO_SLOT.into()),
            Failure::RowRejected(reason) => Self::Database(reason.into()),
            Failure::Database(DatabaseFailure { reason, kind }) if kind.is_database_response() => {
                Self::Database(reason.into())
            }
            Failure::Database(DatabaseFailure { kind, .. }) => match kind {
                FailureKind::NoResponse => Self::TimedOut,
                _ => Self::Unreachable,
            },
        }
    }
}

/// Returns whether an error lasts until somebody fixes it: login, database, privilege and disk-full errors.
fn is_lasting(code: &SqlState) -> bool {
    *code == SqlState::DISK_FULL || is_of_class(code.code(), &["0A", "28", "3D", "3F", "42"])
}

/// Returns whether the statement should be retried unchanged, because another transaction interfered. That is not an
/// outage.
pub(super) fn is_conflict(error: &Error) -> bool {
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    error.code().is_some_and(|code| conflicts.contains(code))
}

/// The driver's text for every error while it connects.
const NO_CONNECTION: &str = "error connecting to server";

/// Describes an error for the owner. An address never appears in a log, so an error that may quote one is described
/// by its code only. Data errors may quote one, and so may CockroachDB's internal errors, which name keys.
pub(super) fn describe(error: &Error) -> String {
    let Some(error) = error.as_db_error() else {
        let text = error.to_string();
        return match error.source() {
            None => text,
            // The caller says that there is no connection.
            Some(reason) if text == NO_CONNECTION => reason.to_string(),
            Some(reason) => format!("{text}: {reason}"),
        };
    };
    let code = error.code().code();
    // Connections, constraints, transaction states, login, names, privileges, resources, states of objects, operator
    // intervention and the system. Messages about constraints only name them; the values are in another field.
    let quotes_nothing = [
        "08", "23", "25", "28", "3D", "3F", "42", "53", "55", "57", "58",
    ];
    // A trigger may quote an address, or the bytes of a key, in an error of any class.
    let may_quote = error.message().contains(['@', '\\']);
    if is_of_class(code, &quotes_nothing) && !may_quote {
        let hint = if *error.code() == SqlState::QUERY_CANCELED {
            ": a lock, a slow disk or an administrator stopped it"
        } else {
            ""
        };
        format!("{} ({code}){hint}", error.message())
    } else {
        format!("error {code}; see the log of the database")
    }
}

/// Returns whether an SQLSTATE is in one of these classes. The class is its first two characters, but a server may
/// send fewer.
fn is_of_class(code: &str, classes: &[&str]) -> bool {
    code.get(..2).is_some_and(|class| classes.contains(&class))
}
