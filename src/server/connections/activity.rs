//! What a connection is waiting for, and whether it must close to make room for others.

use std::{
    future::poll_fn,
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker, ready},
    time::{Duration, Instant},
};

use axum::{
    body::Bytes,
    http::{Request, Version},
};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::sleep_until;

use super::super::{
    form::is_form,
    limits::{EVICTED_LINGER_TIMEOUT, EVICTION_AGE_MIN},
};
use crate::waitlist::locked;

/// The activity of a connection. Every read and write changes it, so each connection has a separate lock.
pub(super) struct Activity(Mutex<State>);

pub(super) struct State {
    /// The server waits for bytes of the client.
    is_read_blocked: bool,
    /// The client does not read what the server writes.
    is_write_blocked: bool,
    has_received_bytes: bool,
    /// Nothing was received since the last write of the server.
    is_answered: bool,
    /// A request whose head has arrived has no response yet. In HTTP/2 there may be several.
    pub(super) has_request: bool,
    is_http2: bool,
    /// The body of the last request has not ended. hyper closes the connection after a response to a part of a request.
    pub(super) has_body: bool,
    /// The server has begun to read the body of the last request, which is about to have an effect. Until the next request, the
    /// kernel is asked whether the client has closed the connection.
    pub(super) is_body_read: bool,
    /// The request is a form, so its client reads HTML.
    pub(super) is_form: bool,
    /// The last time that one of these happened: the connection got its place, a head began to arrive or had arrived, something
    /// was written.
    pub(super) waiting_since: Instant,
    pub(super) closes_after_response: bool,
    /// If it closes as soon as no request is lost: how long the server then still reads from it.
    pub(super) closing: Option<Duration>,
    waker: Option<Waker>,
}

/// Whether a connection can be closed.
#[derive(Eq, PartialEq)]
pub(super) enum Phase {
    /// It has had no request for [`EVICTION_AGE_MIN`].
    Idle,
    /// The client has not sent the rest of a request, or its first one, or not read a response, for this time.
    Slow,
    /// The server works on a request, or the client may be sending one.
    Busy,
}

impl Activity {
    /// The activity of a connection that has just got its place.
    pub(super) fn new() -> Self {
        Self(Mutex::new(State {
            is_read_blocked: true,
            is_write_blocked: false,
            has_received_bytes: false,
            is_answered: false,
            has_request: false,
            is_http2: false,
            has_body: false,
            is_body_read: false,
            is_form: false,
            waiting_since: Instant::now(),
            closes_after_response: false,
            closing: None,
            waker: None,
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }

    /// Resolves when the connection must close, because others need its place.
    ///
    /// A request may arrive after the eviction. It is served, unless its client is slow.
    pub(super) async fn evicted(&self) {
        poll_fn(|cx| {
            let mut state = self.lock();
            state.waker = Some(cx.waker().clone());
            match state.closing.is_some() && state.phase() != Phase::Busy {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Resolves once the server has waited for the client for this time.
    pub(super) async fn timed_out(&self, time: Duration) {
        let mut deadline = Instant::now() + time;
        while deadline > Instant::now() {
            sleep_until(deadline.into()).await;
            deadline = self.lock().waiting_since + time;
        }
    }
}

impl State {
    pub(super) fn start_request(&mut self, request: &Request<Incoming>) {
        self.waiting_since = Instant::now();
        self.has_request = true;
        self.has_body = !request.body().is_end_stream();
        self.is_body_read = false;
        self.is_http2 = request.version() == Version::HTTP_2;
        self.is_form = is_form(request);
    }

    pub(super) fn finish_read(&mut self, is_blocked: bool, has_bytes: bool) {
        self.is_read_blocked = is_blocked;
        if has_bytes {
            if self.is_answered {
                self.waiting_since = Instant::now();
            }
            self.has_received_bytes = true;
            self.is_answered = false;
        }
    }

    /// Notes that the server writes. Each completed write restarts the wait, so a client that reads steadily is not slow.
    pub(super) fn finish_write(&mut self, is_blocked: bool) {
        if !is_blocked || !self.is_answered {
            self.waiting_since = Instant::now();
        }
        self.is_write_blocked = is_blocked;
        self.is_answered = true;
    }

    /// Returns whether the client does not read what the server writes.
    pub(super) fn is_write_blocked(&self) -> bool {
        self.is_write_blocked
    }

    /// Returns whether the client has sent something since the last write.
    pub(super) fn has_unanswered_bytes(&self) -> bool {
        self.has_received_bytes && !self.is_answered
    }

    /// Returns whether the head of a request is expected: a part of it has arrived, or nothing has arrived yet on
    /// this new connection. The frames of HTTP/2 are not only requests, so it is false once its first request came.
    pub(super) fn is_request_arriving(&self) -> bool {
        !self.has_request && !self.is_http2 && !self.is_answered
    }

    pub(super) fn phase(&self) -> Phase {
        let is_body_arriving = self.has_request && self.has_body && self.is_read_blocked;
        if self.waiting_since.elapsed() < EVICTION_AGE_MIN {
            Phase::Busy
        } else if self.is_write_blocked || self.is_request_arriving() || is_body_arriving {
            Phase::Slow
        } else if self.has_request {
            Phase::Busy
        } else {
            Phase::Idle
        }
    }

    pub(super) fn evict(&mut self) {
        self.closing = Some(EVICTED_LINGER_TIMEOUT);
        self.waker.take().into_iter().for_each(Waker::wake);
    }
}

/// The body of a request, which notes its beginning and its end.
pub(super) struct RequestBody {
    pub(super) body: Incoming,
    pub(super) activity: Arc<Activity>,
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        if !mem::replace(&mut self.activity.lock().is_body_read, true) {
            // hyper first looks whether the client is there, and otherwise drops the request. While this process hung, a load
            // balancer may have sent a sign-up elsewhere, and the person may have been erased since.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.activity.lock().has_body = frame.is_some();
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
