//! A stream that waits for so long and no longer.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::oneshot,
    time::{Instant, Sleep, sleep},
};

use super::{super::ApiError, refusal};

/// A stream that fails when it has lain still for too long, that keeps back what hyper would answer by
/// itself, and that is given back in the end.
pub(super) struct Patient {
    stream: Option<(TcpStream, oneshot::Sender<Over>)>,
    refusal: Option<ApiError>,
    is_heard: bool,
    patience: Duration,
    /// When something went either way.
    last: Instant,
    alarm: Pin<Box<Sleep>>,
}

/// What is left of it.
pub(super) struct Over {
    pub(super) stream: TcpStream,
    /// What hyper would have answered.
    pub(super) refusal: Option<ApiError>,
    /// Whether the client was the last to say something.
    pub(super) is_heard: bool,
}

impl Patient {
    pub(super) fn new(stream: TcpStream, patience: Duration) -> (Self, oneshot::Receiver<Over>) {
        let (back, over) = oneshot::channel();
        let patient = Self {
            stream: Some((stream, back)),
            refusal: None,
            is_heard: false,
            patience,
            last: Instant::now(),
            alarm: Box::pin(sleep(patience)),
        };
        (patient, over)
    }

    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        go: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let Some((stream, _)) = &mut self.stream else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        let gone = go(Pin::new(stream), cx);
        if gone.is_ready() {
            self.last = Instant::now();
            return gone;
        }
        while self.alarm.as_mut().poll(cx).is_ready() {
            let due = self.last + self.patience;
            if due <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.alarm.as_mut().reset(due);
        }
        Poll::Pending
    }
}

impl Drop for Patient {
    fn drop(&mut self) {
        if let Some((stream, back)) = self.stream.take() {
            // Who does not want it lets it close.
            let _ = back.send(Over {
                stream,
                refusal: self.refusal.take(),
                is_heard: self.is_heard,
            });
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = self.poll(cx, |stream, cx| stream.poll_read(cx, buf));
        self.is_heard |= buf.filled().len() > before;
        read
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let buf = match refusal::of_hyper(buf) {
            Some((0, error)) => {
                self.refusal = Some(error);
                return Poll::Ready(Ok(buf.len()));
            }
            Some((start, _)) => &buf[..start],
            None => buf,
        };
        self.is_heard = false;
        self.poll(cx, |stream, cx| stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // hyper's own answer has no body.
        if let [head] = bufs {
            return self.poll_write(cx, head);
        }
        self.is_heard = false;
        self.poll(cx, |stream, cx| stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    // There is nothing to flush, which is no sign of life either; and to shut it is for whom it is given
    // back to.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
