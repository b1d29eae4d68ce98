//! Errors in the URL of a database.

use thiserror::Error;

/// An error in the URL of a database. Its text never contains the URL, which may have a password.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum InvalidDatabaseUrl {
    /// The scheme is not that of a database.
    #[error("not a database URL; write postgres://USER:PASSWORD@HOST/DATABASE")]
    Scheme,
    /// The user or the password has a character that must be encoded.
    #[error("the user or the password has an @ or a /; write them as %40 and %2F")]
    UnencodedCredentials,
    /// The name of an option has an invalid character.
    #[error(
        "invalid option; if the user or the password has a /, @ or ?, write it as %2F, %40 or %3F"
    )]
    InvalidOption,
    /// The value of `target_session_attrs` is not supported.
    #[error(
        "invalid target_session_attrs; write any, primary or read-write, because sign-ups need a server that allows \
         writes"
    )]
    TargetSessionAttrs,
    /// The value of `tcp_user_timeout` is not a number.
    #[error("invalid tcp_user_timeout; write a number of milliseconds")]
    TcpUserTimeout,
    /// The value of `sslmode` is invalid.
    #[error("invalid sslmode; write disable, prefer, require, verify-ca or verify-full")]
    SslMode,
    /// The URL has `sslrootcert=system` with a weaker `sslmode`.
    #[error("sslrootcert=system requires sslmode=verify-full")]
    SystemRoots,
    /// The URL has no host.
    #[error("the URL has no host; write postgres://USER@HOST/DATABASE")]
    NoHost,
    /// The URL has another number of `hostaddr` than of hosts.
    #[error("the URL must have one hostaddr for each host, or none")]
    HostaddrCount,
    /// The URL has several ports, and another number of hosts.
    #[error("the URL must have one port for each host, or one for all")]
    PortCount,
    /// The driver rejects the URL. Its text names options, but no values.
    #[error("cannot read the URL: {0}; write postgres://USER:PASSWORD@HOST:5432/DATABASE")]
    Driver(String),
    /// The driver does not know an option.
    #[error("{0}; remove the option, or correct its name")]
    UnknownOption(String),
}
