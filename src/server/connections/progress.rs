//! What the requests of a connection are waiting for.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use axum::http::Version;

/// The progress of a connection's requests.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The number of requests whose head has arrived and whose response has not begun.
    requests: AtomicUsize,
    is_http2: AtomicBool,
    has_received_bytes: AtomicBool,
    has_unanswered_bytes: AtomicBool,
}

/// A request whose response has not begun.
pub(super) struct RequestInProgress(Arc<Progress>);

impl Progress {
    pub(super) fn start_request(self: &Arc<Self>, version: Version) -> RequestInProgress {
        self.requests.fetch_add(1, Relaxed);
        self.is_http2.fetch_or(version == Version::HTTP_2, Relaxed);
        RequestInProgress(Arc::clone(self))
    }

    pub(super) fn bytes_received(&self) {
        self.has_received_bytes.store(true, Relaxed);
        self.has_unanswered_bytes.store(true, Relaxed);
    }

    pub(super) fn bytes_sent(&self) {
        self.has_unanswered_bytes.store(false, Relaxed);
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
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Relaxed);
    }
}
