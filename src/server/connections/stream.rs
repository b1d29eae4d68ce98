//! A TCP stream that notes what its connection does.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rustix::{
    io::Errno,
    net::{RecvFlags, recv},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::oneshot,
};

use super::activity::Activity;

/// A TCP stream whose reads and writes are noted. When hyper drops it, it hands the TCP stream back.
pub(super) struct WatchedStream {
    pub(super) stream: Option<(TcpStream, oneshot::Sender<TcpStream>)>,
    pub(super) activity: Arc<Activity>,
}

impl WatchedStream {
    fn poll<T>(
        &mut self,
        operation: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut self.stream {
            Some((stream, _)) => operation(Pin::new(stream)),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Asks the kernel whether the client has closed the connection. tokio learns of it by an event, which may come later than
    /// the last bytes.
    fn is_closed(&self) -> bool {
        let Some((stream, _)) = &self.stream else {
            return true;
        };
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let next = recv(stream, &mut [0; 1], flags);
        !matches!(next, Ok((1, _)) | Err(Errno::AGAIN | Errno::INTR))
    }
}

impl Drop for WatchedStream {
    fn drop(&mut self) {
        if let Some((stream, sender)) = self.stream.take() {
            // If the receiver is gone, the stream is closed.
            let _ = sender.send(stream);
        }
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let mut read = self.poll(|stream| stream.poll_read(cx, buf));
        if read.is_pending() && self.activity.lock().is_body_read && self.is_closed() {
            read = Poll::Ready(Ok(()));
        }
        let has_bytes = buf.filled().len() > before;
        self.activity
            .lock()
            .finish_read(read.is_pending(), has_bytes);
        read
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.poll(|stream| stream.poll_write(cx, buf));
        self.activity.lock().finish_write(written.is_pending());
        written
    }

    // Without this, hyper would copy each body for its connection.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.poll(|stream| stream.poll_write_vectored(cx, bufs));
        self.activity.lock().finish_write(written.is_pending());
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    // A TCP stream needs no flush. The receiver of the stream shuts it down.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
