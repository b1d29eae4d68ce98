//! A client of mail-send over any stream.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};

/// Size of the write buffer, in bytes: most messages fit. Without it, mail-send writes each line that begins with a dot,
/// and the end of the message, in a separate packet.
const WRITE_BUFFER_BYTES: usize = 16 * 1024;

/// A stream, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for T {}

/// Maximum length of the replies to one write, in bytes. smtp-proto limits the text of a reply,
/// but counts no lines without text or with one character.
const REPLIES_MAX_BYTES: usize = 16 * 1024;

/// A stream that ends when the server sends more than [`REPLIES_MAX_BYTES`] in a row.
pub(super) struct LimitedStream<S> {
    stream: S,
    received: usize,
}

impl<S> LimitedStream<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            received: 0,
        }
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.received > REPLIES_MAX_BYTES {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.received += buf.filled().len() - before;
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.received = 0;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A client of mail-send over any stream.
pub(super) type RawClient = mail_send::SmtpClient<Box<dyn Stream>>;

/// Hides the type of a client's stream, and collects what is written until it is flushed.
pub(super) fn boxed<T: Stream + 'static>(client: mail_send::SmtpClient<T>) -> RawClient {
    mail_send::SmtpClient {
        stream: Box::new(LimitedStream::new(BufWriter::with_capacity(
            WRITE_BUFFER_BYTES,
            client.stream,
        ))),
        timeout: client.timeout,
    }
}
