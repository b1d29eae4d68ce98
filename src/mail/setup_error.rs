//! Why no mail can be sent with the settings.

use std::path::PathBuf;

use tokio_rustls::rustls;

use super::dkim::DkimKeyError;

/// Why no mail can be sent with the settings.
#[derive(Debug, thiserror::Error)]
pub enum MailSetupError {
    /// The system has no certificates of authorities.
    #[error("the system has no certificates of authorities; install its package ca-certificates")]
    NoAuthority,
    /// rustls rejects the settings.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
    /// The DKIM key cannot be used.
    #[error("--dkim-key {}: {error}", file.display())]
    DkimKey {
        /// The file.
        file: PathBuf,
        /// The cause.
        error: DkimKeyError,
    },
}
