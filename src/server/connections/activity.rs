//! What a connection is waiting for, and whether it must close to make room for others.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker, ready},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    http::Version,
};
use futures_util::task::AtomicWaker;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::super::limits::EVICTION_AGE_MIN;

/// The activity of a connection's requests.
#[derive(Debug)]
pub(super) struct ConnectionActivity {
    /// When the connection got its place.
    placed_at: Instant,
    /// The number of requests whose head has arrived and whose response has not begun.
    requests: AtomicUsize,
    /// The number of requests whose body is still arriving.
    bodies: AtomicUsize,
    /// A body was dropped before its end.
    has_unread_body: AtomicBool,
    is_http2: AtomicBool,
    has_received_bytes: AtomicBool,
    has_unanswered_bytes: AtomicBool,
    /// The client does not read what the server writes.
    is_write_blocked: AtomicBool,
    /// When a head began to arrive, or something was written, for the last time, in microseconds after `placed_at`.
    waiting_since: AtomicU64,
    /// It has ended, and closes once the client has read the last response.
    is_lingering: AtomicBool,
    is_evicted: AtomicBool,
    closes_after_response: AtomicBool,
    waker: AtomicWaker,
}

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    /// The next request, of which nothing has arrived.
    Idle,
    /// The client: it has not sent its first request, or the rest of one, or does not read a response.
    AwaitingClient,
    /// The server, which has a complete request.
    AwaitingServer,
    /// The end: it is being closed.
    Lingering,
}

/// A request whose response has not begun.
pub(super) struct RequestInProgress(Arc<ConnectionActivity>);

/// A body that is still arriving, until it is dropped.
struct ArrivingBody {
    body: Incoming,
    has_ended: bool,
    activity: Arc<ConnectionActivity>,
}

impl ConnectionActivity {
    pub(super) fn new() -> Self {
        Self {
            placed_at: Instant::now(),
            requests: AtomicUsize::default(),
            bodies: AtomicUsize::default(),
            has_unread_body: AtomicBool::default(),
            is_http2: AtomicBool::default(),
            has_received_bytes: AtomicBool::default(),
            has_unanswered_bytes: AtomicBool::default(),
            is_write_blocked: AtomicBool::default(),
            waiting_since: AtomicU64::default(),
            is_lingering: AtomicBool::default(),
            is_evicted: AtomicBool::default(),
            closes_after_response: AtomicBool::default(),
            waker: AtomicWaker::default(),
        }
    }

    pub(super) fn start_request(self: &Arc<Self>, version: Version) -> RequestInProgress {
        self.requests.fetch_add(1, Relaxed);
        self.is_http2.fetch_or(version == Version::HTTP_2, Relaxed);
        RequestInProgress(Arc::clone(self))
    }

    /// Returns the body, which counts as arriving until it is dropped.
    pub(super) fn start_body(self: &Arc<Self>, body: Incoming) -> Body {
        if body.is_end_stream() {
            return Body::new(body);
        }
        self.bodies.fetch_add(1, Relaxed);
        Body::new(ArrivingBody {
            body,
            has_ended: false,
            activity: Arc::clone(self),
        })
    }

    pub(super) fn bytes_received(&self) {
        self.has_received_bytes.store(true, Relaxed);
        if !self.has_unanswered_bytes.swap(true, Relaxed) {
            self.start_waiting();
        }
    }

    /// Notes that the server answers.
    pub(super) fn start_write(&self) {
        if self.has_unanswered_bytes.swap(false, Relaxed) {
            self.start_waiting();
        }
    }

    /// Notes whether the client takes what the server writes. Each completed write restarts the wait, so a client that reads
    /// steadily is not evicted.
    pub(super) fn finish_write(&self, is_blocked: bool) {
        self.is_write_blocked.store(is_blocked, Relaxed);
        if !is_blocked {
            self.start_waiting();
        }
    }

    fn start_waiting(&self) {
        let age = u64::try_from(self.placed_at.elapsed().as_micros());
        self.waiting_since.store(age.unwrap_or(u64::MAX), Relaxed);
    }

    /// Notes that the connection has ended, and is being closed.
    pub(super) fn linger(&self) {
        self.is_lingering.store(true, Relaxed);
    }

    /// Returns whether the client has sent something since the last write.
    pub(super) fn has_unanswered_bytes(&self) -> bool {
        self.has_unanswered_bytes.load(Relaxed)
    }

    /// Returns whether the head of a request is expected: a part of it has arrived, or nothing has arrived yet on
    /// this new connection. The frames of HTTP/2 are not only requests, so it is false once its first request came.
    pub(super) fn is_request_arriving(&self) -> bool {
        !self.has_request()
            && !self.is_http2()
            && (self.has_unanswered_bytes() || !self.has_received_bytes.load(Relaxed))
    }

    pub(super) fn has_request(&self) -> bool {
        self.requests.load(Relaxed) > 0
    }

    pub(super) fn phase(&self) -> Phase {
        let is_reading = self.bodies.load(Relaxed) > 0 || self.is_request_arriving();
        if self.is_lingering.load(Relaxed) {
            Phase::Lingering
        } else if is_reading || self.is_write_blocked.load(Relaxed) {
            Phase::AwaitingClient
        } else if self.has_request() {
            Phase::AwaitingServer
        } else {
            Phase::Idle
        }
    }

    /// When a head began to arrive, or something was written, for the last time; before that, when the connection got its
    /// place.
    pub(super) fn waiting_since(&self) -> Instant {
        self.placed_at + Duration::from_micros(self.waiting_since.load(Relaxed))
    }

    /// Makes the connection close now, or after the response if a request is arriving.
    pub(super) fn evict(&self) {
        self.is_evicted.store(true, Relaxed);
        self.waker.wake();
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.is_evicted.load(Relaxed)
    }

    /// Makes the connection close after its next response.
    pub(super) fn close_after_response(&self) {
        self.closes_after_response.store(true, Relaxed);
    }

    pub(super) fn closes_after_response(&self) -> bool {
        self.closes_after_response.load(Relaxed)
    }

    /// Returns whether the connection was chosen to close: others wait for its place, or it is old.
    pub(super) fn is_marked_to_close(&self) -> bool {
        self.is_evicted() || self.closes_after_response()
    }

    /// Returns whether the next HTTP/1 response announces that the connection closes. hyper closes it after a request whose
    /// body was not read, if the rest has not arrived by then.
    pub(super) fn announces_close(&self) -> bool {
        let has_unread_body = self.has_unread_body.load(Relaxed) || self.bodies.load(Relaxed) > 0;
        self.is_marked_to_close() || has_unread_body
    }

    /// Returns whether the connection has had a request over HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2.load(Relaxed)
    }

    /// Returns whether the connection must close now. If not, `waker` is called when it is evicted.
    ///
    /// A request may arrive between the eviction and this call. It is served, unless its client is slow.
    pub(super) fn must_close(&self, waker: &Waker) -> bool {
        self.waker.register(waker);
        self.is_evicted()
            && match self.phase() {
                Phase::AwaitingServer => false,
                Phase::AwaitingClient => self.waiting_since().elapsed() >= EVICTION_AGE_MIN,
                Phase::Idle | Phase::Lingering => true,
            }
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Relaxed);
    }
}

impl HttpBody for ArrivingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.has_ended = frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ArrivingBody {
    fn drop(&mut self) {
        let is_unread = !self.has_ended && !self.body.is_end_stream();
        self.activity.has_unread_body.fetch_or(is_unread, Relaxed);
        self.activity.bodies.fetch_sub(1, Relaxed);
    }
}
