//! Errors while opening a list.
//!
//! The text of each error includes its cause, so no error has a `source()`: a caller that prints the chain would
//! print the cause twice.

use thiserror::Error;
use tokio::time::error::Elapsed;

use super::{
    error::{Failure, FailureKind},
    schema::FORMAT_VERSION,
    tls::TlsError,
    url::DatabaseUrl,
};

/// An error while opening a list. Its text is written for the owner, and includes its cause, so no error has a `source()`: a
/// caller that prints the chain would print the cause twice. Nothing was changed.
#[derive(Debug, Error)]
#[error("{database} {problem}")]
pub struct PostgresOpenError {
    database: String,
    problem: OpenProblem,
}

impl PostgresOpenError {
    /// Adds the database to a problem.
    pub(super) fn new(url: &DatabaseUrl, problem: OpenProblem) -> Self {
        Self {
            database: url.to_string(),
            problem,
        }
    }

    /// Returns whether the database has no list.
    pub fn is_no_list(&self) -> bool {
        matches!(self.problem, OpenProblem::NoList)
    }

    /// Returns whether another attempt may succeed.
    pub fn is_transient(&self) -> bool {
        use OpenProblem::{Unavailable, Unreachable};
        matches!(self.problem, Unreachable(_) | Unavailable(_))
    }
}

/// What is wrong with a database.
#[derive(Debug, Error)]
pub(super) enum OpenProblem {
    /// The TLS options of the URL are unusable.
    #[error("cannot be connected to: {0}")]
    Tls(#[from] TlsError),
    /// It does not respond.
    #[error(
        "does not respond: {0}; check that the database runs and that this machine can reach it"
    )]
    Unreachable(String),
    /// It responds with an error that may pass.
    #[error("responds, but cannot be used now: {0}; fix the cause in the database, or try again")]
    Unavailable(String),
    /// It responds with an error that lasts until somebody fixes it.
    #[error(
        "responds, but rejects the connection or a statement: {0}; {advice}",
        advice = rejection_advice(.0)
    )]
    Rejected(String),
    #[error(
        "has no waitlist; choose its location with --store, or create it with `landing serve`, `landing import` or `landing add`"
    )]
    NoList,
    /// The list has another format.
    #[error(
        "has a waitlist of format {0}, and this program reads format {FORMAT_VERSION}; run the version that wrote it, or \
         back up the list with that version and restore the backup into a new database"
    )]
    Format(i64),
    /// The search path has several schemas with a list.
    #[error(
        "has waitlists in several schemas ({}); choose one in the URL with options=-csearch_path%3DSCHEMA",
        .0.join(", ")
    )]
    SeveralLists(Vec<String>),
    /// It cannot store every address as typed.
    #[error(
        "stores text as {0}, which cannot represent every address; create a database with ENCODING 'UTF8'"
    )]
    Encoding(String),
    /// A connection pooler gives each transaction another session.
    #[error(
        "is a connection pooler that gives each transaction another session, as PgBouncer does with pool_mode = \
         transaction; set pool_mode = session for this database, or connect to PostgreSQL directly"
    )]
    TransactionPooler,
    /// A connection pooler drops the options of the URL, such as the schema of the list.
    #[error(
        "is a connection pooler that ignores the options of the URL, as PgBouncer does with ignore_startup_parameters = \
         options; set them with ALTER ROLE ... SET, and remove them from the URL"
    )]
    IgnoredOptions,
}

impl From<Failure> for OpenProblem {
    fn from(Failure { kind, reason }: Failure) -> Self {
        match kind {
            FailureKind::Permanent | FailureKind::RowRejected => Self::Rejected(reason),
            // A retry would not help.
            FailureKind::Disconnected if rejects_tls(&reason) => Self::Rejected(reason),
            FailureKind::NoResponse | FailureKind::Disconnected => Self::Unreachable(reason),
            _ => Self::Unavailable(reason),
        }
    }
}

impl From<tokio_postgres::Error> for OpenProblem {
    fn from(error: tokio_postgres::Error) -> Self {
        Failure::from(&error).into()
    }
}

impl From<Elapsed> for OpenProblem {
    fn from(_: Elapsed) -> Self {
        Self::Unreachable("no response in time".to_owned())
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
    } else {
        "check the URL and the privileges of this user"
    }
}
