//! A TCP stream with an idle timeout, which can also be evicted.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::oneshot,
    time::{Instant, Sleep, sleep},
};

use super::{super::evicted::Evicted, activity::ConnectionActivity};

/// A TCP stream whose reads and writes fail after a time without traffic in either direction, or when the connection
/// must make room for others. When hyper drops it, it hands the TCP stream back.
pub(super) struct IdleTimeoutStream {
    stream: Option<(TcpStream, oneshot::Sender<TcpStream>)>,
    activity: Arc<ConnectionActivity>,
    idle_timeout: Duration,
    /// When the last read or write completed.
    last_activity: Instant,
    timer: Pin<Box<Sleep>>,
}

impl IdleTimeoutStream {
    pub(super) fn new(
        stream: TcpStream,
        activity: Arc<ConnectionActivity>,
        idle_timeout: Duration,
    ) -> (Self, oneshot::Receiver<TcpStream>) {
        let (sender, leftover) = oneshot::channel();
        let timed = Self {
            stream: Some((stream, sender)),
            activity,
            idle_timeout,
            last_activity: Instant::now(),
            timer: Box::pin(sleep(idle_timeout)),
        };
        (timed, leftover)
    }

    fn poll_with_timeout<T>(
        &mut self,
        cx: &mut Context<'_>,
        operation: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let Some((stream, _)) = &mut self.stream else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        let result = operation(Pin::new(stream), cx);
        if result.is_ready() {
            self.last_activity = Instant::now();
            return result;
        }
        if self.activity.must_close(cx.waker()) {
            return Poll::Ready(Err(io::Error::other(Evicted)));
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            let deadline = self.last_activity + self.idle_timeout;
            if deadline <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }

    fn poll_write_with_timeout(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.activity.start_write();
        let activity = Arc::clone(&self.activity);
        self.poll_with_timeout(cx, |stream, cx| {
            let written = write(stream, cx);
            activity.finish_write(written.is_pending());
            written
        })
    }
}

impl Drop for IdleTimeoutStream {
    fn drop(&mut self) {
        if let Some((stream, sender)) = self.stream.take() {
            // If the receiver is gone, the stream is closed.
            let _ = sender.send(stream);
        }
    }
}

impl AsyncRead for IdleTimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = self.poll_with_timeout(cx, |stream, cx| stream.poll_read(cx, buf));
        if buf.filled().len() > before {
            self.activity.bytes_received();
        }
        read
    }
}

impl AsyncWrite for IdleTimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with_timeout(cx, |stream, cx| stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with_timeout(cx, |stream, cx| stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    // A TCP stream needs no flush, and a flush is not traffic. The receiver of the stream shuts it down.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
