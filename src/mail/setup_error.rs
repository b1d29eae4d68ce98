//! Why no mail can be sent with the settings.

use std::{io, path::PathBuf};

use tokio_rustls::rustls;

use super::template::TemplateProblem;

/// Why no mail can be sent with the settings.
#[derive(Debug, thiserror::Error)]
pub enum MailSetupError {
    /// The system has no certificates of authorities.
    #[error("the system has no certificates of authorities; install its package ca-certificates")]
    NoAuthority,
    /// rustls rejects the settings.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
    /// The message to people who have confirmed cannot be sent.
    #[error("--welcome (LANDING_WELCOME): {0}")]
    Welcome(TemplateProblem),
    /// The DKIM key cannot be used.
    #[error("--dkim-key {}: {error}", file.display())]
    DkimKey {
        /// The file.
        file: PathBuf,
        /// The cause.
        error: DkimKeyError,
    },
}

/// Why a file has no key that can be used.
#[derive(Debug, thiserror::Error)]
pub enum DkimKeyError {
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(#[from] io::Error),
    /// The key is encrypted.
    #[error("the key is encrypted; decrypt it with `openssl rsa -in FILE -out NEW-FILE`")]
    Encrypted,
    /// The file has no RSA key that can be used.
    #[error(
        "it has no private RSA key of 2048 to 4096 bits in PEM; create one with `openssl genrsa -out FILE 2048`"
    )]
    NoRsaKey,
}
