//! Errors while opening a list.
//!
//! The text of each error includes its cause, so no error has a `source()`: a caller that prints the chain would
//! print the cause twice.

use thiserror::Error;

use super::{
    error::{CONFLICT, DatabaseFailure, Failure, FailureKind, NO_SLOT, OTHER_EPOCH},
    schema::FORMAT_VERSION,
    tls::TlsError,
};

/// An error while opening a list. Its text is written for the owner. Nothing was changed.
#[derive(Debug, Error)]
pub enum PostgresOpenError {
    /// The TLS options of the URL are unusable.
    #[error("cannot connect to {database}: {error}")]
    Tls {
        /// The database.
        database: String,
        /// The cause.
        error: TlsError,
    },
    /// The task that opens the list has panicked.
    #[error("cannot connect to the database: an internal error while opening the list")]
    Internal,
    /// The database does not respond. A retry may succeed.
    #[error(
        "{database} does not respond: {reason}; check that the database runs and that this machine can reach it"
    )]
    Unreachable {
        /// The database.
        database: String,
        /// The cause.
        reason: String,
    },
    /// The database responds with an error that may pass. A retry may succeed.
    #[error(
        "{database} responds, but cannot be used now: {reason}; fix the cause in the database, or try again"
    )]
    Unavailable {
        /// The database.
        database: String,
        /// The cause.
        reason: String,
    },
    /// The database responds with an error that lasts until somebody fixes it.
    #[error(
        "{database} responds, but rejects the connection or a statement: {reason}; {advice}",
        advice = rejection_advice(.reason)
    )]
    Rejected {
        /// The database.
        database: String,
        /// The cause.
        reason: String,
    },
    /// The database has no list.
    #[error(
        "there is no waitlist in {database}; choose its location with --store, or create it with `landing serve` or \
         `landing import`"
    )]
    NoList {
        /// The database.
        database: String,
    },
    /// The list has an older format, which a server or an import would update.
    #[error(
        "{database} has a waitlist of format {format}, and this program reads format {FORMAT_VERSION}; to update it, \
         start the server once as the user who owns the tables"
    )]
    OlderFormat {
        /// The database.
        database: String,
        /// The format of the list.
        format: i64,
    },
    /// The list has a newer format.
    #[error(
        "{database} has a waitlist of format {format}, and this program reads format {FORMAT_VERSION}; use the version \
         that created the list, or a newer one"
    )]
    NewerFormat {
        /// The database.
        database: String,
        /// The format of the list.
        format: i64,
    },
    /// The database has several lists.
    #[error(
        "{database} has waitlists in several schemas ({}); choose one in the URL with options=-csearch_path%3DSCHEMA",
        schemas.join(", ")
    )]
    SeveralLists {
        /// The database.
        database: String,
        /// The schemas that have a list.
        schemas: Vec<String>,
    },
    /// The database cannot store every address as typed.
    #[error(
        "{database} stores text as {encoding}, which cannot represent every address; create a database with \
         ENCODING 'UTF8'"
    )]
    UnsupportedEncoding {
        /// The database.
        database: String,
        /// The encoding of its text.
        encoding: String,
    },
    /// A connection pooler gives each transaction another session.
    #[error(
        "{database} is a connection pooler that gives each transaction another session, as PgBouncer does with \
         pool_mode = transaction; set pool_mode = session for this database, or connect to PostgreSQL directly"
    )]
    TransactionPooler {
        /// The database.
        database: String,
    },
}

impl PostgresOpenError {
    /// Converts a failed connection or statement to an error while opening a list.
    pub(super) fn from_failure(database: &str, failure: Failure) -> Self {
        let database = database.to_owned();
        match failure {
            Failure::Conflict => Self::Unavailable {
                database,
                reason: CONFLICT.into(),
            },
            Failure::OtherEpoch => Self::Unavailable {
                database,
                reason: OTHER_EPOCH.into(),
            },
            Failure::NoSlot => Self::Unavailable {
                database,
                reason: NO_SLOT.into(),
            },
            Failure::RowRejected(reason) => Self::Rejected { database, reason },
            Failure::Database(DatabaseFailure { reason, kind }) => match kind {
                FailureKind::Permanent => Self::Rejected { database, reason },
                FailureKind::Cancelled
                | FailureKind::StatementFailed
                | FailureKind::TooManyConnections
                | FailureKind::Unavailable => Self::Unavailable { database, reason },
                // A retry would not help.
                FailureKind::Disconnected if rejects_tls(&reason) => {
                    Self::Rejected { database, reason }
                }
                FailureKind::NoResponse | FailureKind::Disconnected => {
                    Self::Unreachable { database, reason }
                }
            },
        }
    }
}

/// Messages of tokio-postgres and rustls for a database without TLS, and for one whose certificate is not trusted.
const TLS_REJECTIONS: [&str; 2] = ["server does not support TLS", "invalid peer certificate"];

fn rejects_tls(reason: &str) -> bool {
    TLS_REJECTIONS.iter().any(|text| reason.contains(text))
}

/// Returns what the owner can do about a rejection.
fn rejection_advice(reason: &str) -> &'static str {
    if reason.contains(TLS_REJECTIONS[0]) {
        "enable TLS in the database, or allow a connection without it with sslmode=disable in the URL"
    } else if reason.contains(TLS_REJECTIONS[1]) {
        "name the certificate of its authority with sslrootcert=FILE in the URL"
    } else if reason.contains("(3D000)") {
        "create it with `createdb NAME`, or correct its name in the URL"
    } else if reason.contains("(53100)") {
        "free space on the disk of the database"
    } else {
        "check the URL and the privileges of this user"
    }
}
