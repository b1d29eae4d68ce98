//! What a connection is waiting for, and whether it must close to make room for others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::Waker,
    time::{Duration, Instant},
};

use axum::{body::Body, http::Version};
use futures_util::task::AtomicWaker;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

/// The progress of a connection's requests.
#[derive(Debug)]
pub(super) struct Progress {
    accepted: Instant,
    /// The number of requests whose head has arrived and whose response has not begun.
    requests: AtomicUsize,
    /// The number of requests whose body is still arriving.
    bodies: AtomicUsize,
    is_http2: AtomicBool,
    has_received_bytes: AtomicBool,
    has_unanswered_bytes: AtomicBool,
    /// The client does not read what the server writes.
    is_write_blocked: AtomicBool,
    /// When the last head or the last response began, in microseconds after `accepted`.
    last_began: AtomicU64,
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
    Client,
    /// The server, which has a complete request.
    Server,
}

/// A request whose response has not begun.
pub(super) struct RequestInProgress(Arc<Progress>);

/// A body that is still arriving.
struct BodyInProgress(Arc<Progress>);

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            accepted: Instant::now(),
            requests: AtomicUsize::default(),
            bodies: AtomicUsize::default(),
            is_http2: AtomicBool::default(),
            has_received_bytes: AtomicBool::default(),
            has_unanswered_bytes: AtomicBool::default(),
            is_write_blocked: AtomicBool::default(),
            last_began: AtomicU64::default(),
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

    /// Returns the body, which counts as arriving until it is read to its end or dropped.
    pub(super) fn start_body(self: &Arc<Self>, body: Incoming) -> Body {
        if body.is_end_stream() {
            return Body::new(body);
        }
        self.bodies.fetch_add(1, Relaxed);
        let in_progress = BodyInProgress(Arc::clone(self));
        // `inspect_frame` only holds the value: unlike `map_frame`, it keeps the size hint.
        Body::new(body.inspect_frame(move |_| {
            let _ = &in_progress;
        }))
    }

    pub(super) fn bytes_received(&self) {
        self.has_received_bytes.store(true, Relaxed);
        if !self.has_unanswered_bytes.swap(true, Relaxed) {
            self.begin();
        }
    }

    pub(super) fn bytes_sent(&self) {
        if self.has_unanswered_bytes.swap(false, Relaxed) {
            self.begin();
        }
    }

    fn begin(&self) {
        let age = u64::try_from(self.accepted.elapsed().as_micros());
        self.last_began.store(age.unwrap_or(u64::MAX), Relaxed);
    }

    pub(super) fn set_write_blocked(&self, is_blocked: bool) {
        self.is_write_blocked.store(is_blocked, Relaxed);
    }

    /// Returns whether the client has sent something since the last write.
    pub(super) fn has_unanswered_bytes(&self) -> bool {
        self.has_unanswered_bytes.load(Relaxed)
    }

    /// Returns whether the head of a request is expected: a part of it has arrived, or nothing has arrived yet on
    /// this new connection. The frames of HTTP/2 are not only requests, so it is false once its first request came.
    pub(super) fn is_request_arriving(&self) -> bool {
        !self.has_request()
            && !self.is_http2.load(Relaxed)
            && (self.has_unanswered_bytes() || !self.has_received_bytes.load(Relaxed))
    }

    pub(super) fn has_request(&self) -> bool {
        self.requests.load(Relaxed) > 0
    }

    pub(super) fn phase(&self) -> Phase {
        let is_reading = self.bodies.load(Relaxed) > 0 || self.is_request_arriving();
        if is_reading || self.is_write_blocked.load(Relaxed) {
            Phase::Client
        } else if self.has_request() {
            Phase::Server
        } else {
            Phase::Idle
        }
    }

    /// When the last head or the last response began, or else when the connection was accepted.
    pub(super) fn last_began(&self) -> Instant {
        self.accepted + Duration::from_micros(self.last_began.load(Relaxed))
    }

    /// Makes the connection close, as soon as it has no complete request.
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

    /// Returns whether the connection was chosen to close, because others wait for its place.
    pub(super) fn makes_room(&self) -> bool {
        self.is_evicted() || self.closes_after_response()
    }

    /// Returns whether the connection must close now. If not, `waker` is called when that may have changed.
    pub(super) fn must_close(&self, waker: &Waker) -> bool {
        self.waker.register(waker);
        self.is_evicted() && self.phase() != Phase::Server
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Relaxed);
    }
}

impl Drop for BodyInProgress {
    fn drop(&mut self) {
        self.0.bodies.fetch_sub(1, Relaxed);
    }
}
