//! Classifies errors of the database, and describes them without an address.

use std::error::Error as _;

use tokio::time::error::Elapsed;
use tokio_postgres::{Error, error::SqlState};

use super::super::error::StoreError;

/// The reason why an attempt failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// A description for the owner. It contains no address.
    pub(super) reason: String,
}

/// The kinds of failures, from transient to permanent.
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
    /// Other transactions changed the same rows. A retry may succeed.
    Conflict,
    /// The list has another epoch than the statement, or a trigger has divided by zero. The statement has no effect, and
    /// may be repeated in the new epoch.
    OtherEpoch,
    /// The row in which this instance counts is missing. Another row may exist.
    NoSlot,
    /// The database responds with an error that may pass.
    Unavailable,
    /// The database rejects a row, because there is one with the same key. After another look at the list, a retry may
    /// succeed.
    Duplicate,
    /// The database rejects a row for another reason.
    RowRejected,
    /// The database responds with an error that lasts until somebody fixes it.
    Permanent,
}

impl FailureKind {
    /// Returns whether the database responded with an error, and the connection can be used afterwards. Then the
    /// statement has no effect.
    pub(super) fn is_without_effect(self) -> bool {
        !matches!(
            self,
            Self::Disconnected | Self::NoResponse | Self::TooManyConnections | Self::Unavailable
        )
    }

    /// Returns whether a statement took too long. Fewer rows at a time may help, or another slot: its row may be locked.
    pub(super) fn is_slow(self) -> bool {
        matches!(self, Self::NoResponse | Self::Cancelled)
    }

    /// Returns whether another attempt may succeed.
    pub(super) fn is_transient(self) -> bool {
        self < Self::RowRejected
    }

    /// Returns whether a row is the cause.
    pub(super) fn is_caused_by_a_row(self) -> bool {
        matches!(self, Self::Duplicate | Self::RowRejected)
    }

    /// Returns whether a row may be the cause. A probe shows whether it is.
    pub(super) fn may_be_caused_by_a_row(self) -> bool {
        matches!(
            self,
            Self::Cancelled | Self::StatementFailed | Self::Permanent
        )
    }
}

impl Failure {
    /// Creates a failure with a description for the owner, without an address.
    pub(super) fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
        }
    }

    /// Returns the failure of a statement that always has a row and has returned none.
    pub(super) fn no_row() -> Self {
        Self::new(FailureKind::Permanent, "a statement has no result")
    }

    /// Returns the failure of a slot whose row is missing.
    pub(super) fn no_slot() -> Self {
        let reason = "rows of waitlist_count are missing, and this user may not create them";
        Self::new(FailureKind::NoSlot, reason)
    }

    /// Returns the failure of a change that is not repeated: the list was changed since its first attempt, which may have
    /// taken effect.
    pub(super) fn changed_meanwhile() -> Self {
        let reason = "the response to the change was lost, and other clients have changed the list since: look whether it took effect";
        Self::new(FailureKind::Permanent, reason)
    }

    /// Returns the failure of an attempt that met other transactions.
    pub(super) fn conflict() -> Self {
        Self::new(FailureKind::Conflict, "other clients change the same rows")
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let Some(code) = error.code() else {
            return Self::new(FailureKind::Disconnected, describe(error));
        };
        let conflicts = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        if conflicts.contains(code) {
            return Self::conflict();
        }
        if *code == SqlState::DIVISION_BY_ZERO {
            let reason =
                "other clients keep changing the list, or a trigger divides by zero (22012)";
            return Self::new(FailureKind::OtherEpoch, reason);
        }
        let is_of_class = |classes: &[&str]| is_of_class(code.code(), classes);
        let kind = if *code == SqlState::UNIQUE_VIOLATION {
            FailureKind::Duplicate
        } else if is_of_class(&["22", "23", "44", "P0"]) {
            FailureKind::RowRejected
        } else if *code == SqlState::DISK_FULL || is_of_class(&["28", "3D", "3F", "42"]) {
            // Login, database, privilege and disk-full errors last until somebody fixes them.
            FailureKind::Permanent
        } else if *code == SqlState::QUERY_CANCELED {
            FailureKind::Cancelled
        } else if *code == SqlState::TOO_MANY_CONNECTIONS {
            FailureKind::TooManyConnections
        } else if is_of_class(&["08", "0A", "25", "40", "53", "57", "58"]) {
            FailureKind::Unavailable
        } else {
            FailureKind::StatementFailed
        };
        Self::new(kind, describe(error))
    }
}

impl From<Failure> for StoreError {
    fn from(Failure { kind, reason }: Failure) -> Self {
        match kind {
            FailureKind::NoResponse | FailureKind::Disconnected => Self::Unreachable,
            _ => Self::Database(reason.into()),
        }
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Failure::from(&error).into()
    }
}

impl From<Elapsed> for StoreError {
    fn from(_: Elapsed) -> Self {
        Self::TimedOut
    }
}

/// The driver's text for every error while it connects.
const NO_CONNECTION: &str = "error connecting to server";

/// Describes an error for the owner. An address never appears in a log, so an error that may quote one is described
/// by its code only. Data errors may quote one, and so may CockroachDB's internal errors, which name keys.
fn describe(error: &Error) -> String {
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
