//! A client of mail-send over any stream.

use tokio::io::{AsyncRead, AsyncWrite};

/// A stream, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for T {}

/// A client of mail-send over any stream.
pub(super) type RawClient = mail_send::SmtpClient<Box<dyn Stream>>;

/// Hides the type of a client's stream.
pub(super) fn boxed<T: Stream + 'static>(client: mail_send::SmtpClient<T>) -> RawClient {
    mail_send::SmtpClient {
        stream: Box::new(client.stream),
        timeout: client.timeout,
    }
}
