//! A client of mail-send over any stream.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, BufWriter};

/// Size of the write buffer, in bytes: most messages fit. Without it, mail-send writes each line that begins with a dot,
/// and the end of the message, in a separate packet.
const WRITE_BUFFER_BYTES: usize = 16 * 1024;

/// A stream, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for T {}

/// A client of mail-send over any stream.
pub(super) type RawClient = mail_send::SmtpClient<Box<dyn Stream>>;

/// Returns a client over a stream, which collects what is written until it is flushed. `timeout` is that of a command.
pub(super) fn raw_client(stream: impl Stream + 'static, timeout: Duration) -> RawClient {
    let stream = BufWriter::with_capacity(WRITE_BUFFER_BYTES, stream);
    RawClient {
        stream: Box::new(stream),
        timeout,
    }
}
