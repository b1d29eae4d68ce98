//! Why the connection to a mail server fails.

use std::{io, time::Duration};

use crate::waitlist::ServerReply;

/// A step of connecting.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ConnectStep {
    /// Looking up the host, and opening the TCP connection.
    #[error("connecting")]
    Connect,
    /// Encrypting the connection.
    #[error("encrypting the connection")]
    Tls,
    /// Waiting for the first words of the server.
    #[error("waiting for the greeting")]
    Greeting,
    /// Introducing itself.
    #[error("saying EHLO")]
    Hello,
    /// Asking for encryption.
    #[error("saying STARTTLS")]
    StartTls,
    /// Logging in.
    #[error("logging in")]
    LogIn,
}

/// Why no connection to the mail server could be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The TCP connection cannot be opened.
    #[error(
        "cannot connect: {0}; check the host and the port in --smtp, and whether a firewall blocks the port"
    )]
    Connect(io::Error),
    /// A step took too long.
    #[error("no response within {} seconds while {step}; check the host and the port in --smtp: smtps:// is for port 465, smtp:// for 587", limit.as_secs())]
    Timeout {
        /// The step.
        step: ConnectStep,
        /// Its time limit.
        limit: Duration,
    },
    /// The program ends, and the server was slow.
    #[error("the program was stopped before the server had the message")]
    Stopped,
    /// The server closed the connection, or does not speak SMTP.
    #[error(
        "the connection broke while {step}: {error}; check the host and the port in --smtp: smtps:// is for port 465, smtp:// for 587"
    )]
    Broken {
        /// The step.
        step: ConnectStep,
        /// The cause.
        error: io::Error,
    },
    /// The connection cannot be encrypted.
    #[error("cannot encrypt the connection: {0}; {advice}", advice = tls_advice(.0))]
    Tls(tokio_rustls::rustls::Error),
    /// The server does not offer encryption.
    #[error(
        "the server does not offer STARTTLS, so the password could be read on the way; use smtps://, or another port"
    )]
    NoStartTls,
    /// The server rejects a step.
    #[error("the server rejects the connection, while {step}: {reply}")]
    Rejected {
        /// The step.
        step: ConnectStep,
        /// What the server says.
        reply: ServerReply,
    },
    /// The server offers no way to log in that this program knows.
    #[error(
        "the server offers no login with a user and a password; remove both from --smtp, or use another port"
    )]
    NoLogIn,
    /// The user or the password is wrong.
    #[error(
        "the server rejects the user or the password: {0}; check both in --smtp. Special characters are written as %XX, such as %40 for @"
    )]
    LogInRejected(ServerReply),
}

impl ConnectError {
    /// Returns whether another attempt may succeed in a moment.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Timeout { .. } | Self::Broken { .. } => true,
            error => error.is_deferral(),
        }
    }

    /// Returns whether the server asks to connect later (4xx), as it does when there are too many connections: with 421, or
    /// with 432 after the login.
    pub fn is_deferral(&self) -> bool {
        matches!(self, Self::Rejected { reply, .. } if reply.is_transient())
    }
}

fn tls_advice(error: &tokio_rustls::rustls::Error) -> &'static str {
    use tokio_rustls::rustls::{CertificateError as Certificate, Error, InvalidMessage};
    match error {
        Error::InvalidCertificate(error) => match error {
            Certificate::Expired | Certificate::ExpiredContext { .. } => {
                "the certificate of the server has expired: its owner must renew it; or the clock of this machine is wrong"
            }
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "write the name in --smtp that the certificate of the server has"
            }
            Certificate::UnknownIssuer => {
                "the certificate of the server is of an authority that this system does not know; if it is your own, set SSL_CERT_FILE to the file of its authority"
            }
            _ => "the certificate of the server is invalid, so its owner must replace it",
        },
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server does not encrypt on this port: use smtp:// for STARTTLS"
        }
        _ => "smtps:// is for port 465, smtp:// for 587",
    }
}
