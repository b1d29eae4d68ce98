//! Connections: accepts them, serves their requests, closes them and shuts down.
//!
//! This replaces `axum::serve`, which limits neither the number of connections nor their duration.

mod activity;
mod limit;
mod socket;
mod stream;

use std::{
    convert::Infallible, error::Error, future::ready, io::ErrorKind, iter, net::SocketAddr,
    pin::pin, sync::Arc, time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{HeaderValue, Version, header},
    response::Response,
};
use futures_util::FutureExt;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, join},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::unconstrained,
    time::{sleep, timeout},
};
use tokio_util::task::TaskTracker;
use tower::Service;

use super::{
    AppState, RequestError,
    body::read_deadline,
    form::respond_unhandled,
    limits::{
        BODY_MAX_BYTES, CLIENT_TIMEOUTS, HEAD_MAX_BYTES, HTTP2_CONNECTION_WINDOW_BYTES,
        HTTP2_MAX_STREAMS, LINGER_MAX_BYTES, LINGER_TIMEOUT, LISTEN_BACKLOG, PLACE_TIMEOUT,
        PROXY_TIMEOUTS, Timeouts,
    },
    middleware, router,
    warning_throttle::WarningThrottle,
};
use activity::RequestBody;
use limit::Place;
use stream::WatchedStream;

pub(super) use limit::ConnectionLimit;
pub use socket::{bind, listen, take_address};

/// Serves until the shutdown starts, then lets the open requests finish.
pub(super) async fn serve(listener: TcpListener, state: &AppState) {
    tokio::select! {
        biased;
        () = accept_and_finish(listener, state) => {}
        // Until the end: requests may wait for places when the server is stopped.
        () = state.connection_limit.keep_making_room() => {}
    }
}

async fn accept_and_finish(listener: TcpListener, state: &AppState) {
    let (router, limit) = (router(state.clone()), &state.connection_limit);
    let connections = TaskTracker::new();
    let accept_error_warning = WarningThrottle::default();
    // A connection is accepted even if no place is free. In the kernel's queue, it would delay other clients.
    let admit = |stream: TcpStream, peer: SocketAddr| {
        // Responses are written in one piece, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let is_proxy = state.admission.is_trusted_proxy(peer.ip());
        if let Some(place) = limit.request((!is_proxy).then(|| peer.ip().into())) {
            let (router, state) = (router.clone(), state.clone());
            connections.spawn(serve_one(stream, peer, place, router, state));
        } else {
            // Nothing was written before, so this waits for nothing. A task for each could take all files.
            let _ = unconstrained(reject(state, stream)).now_or_never();
        }
    };
    let accept_loop = async {
        loop {
            limit.wait_for_room().await;
            match listener.accept().await {
                Ok((stream, peer)) => admit(stream, peer),
                // The client disconnected while it waited in the queue (accept(2)).
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // Out of file descriptors or memory. New connections wait in the kernel's queue.
                    if accept_error_warning.try_acquire() {
                        tracing::error!(
                            "cannot accept connections: {error}; retrying every second; raise the limit on open \
                             files (ulimit -n, or LimitNOFILE=)"
                        );
                    }
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
    };
    tokio::select! {
        () = accept_loop => {}
        () = state.shutdown.cancelled() => {}
    }
    // Unless the service manager keeps the socket, closing it resets the connections that wait in its queue. Only the kernel
    // knows of them all: tokio may not have seen their event yet.
    if let Ok(listener) = listener.into_std() {
        let queue = iter::from_fn(|| listener.accept().ok());
        for (stream, peer) in queue.take(LISTEN_BACKLOG as usize) {
            let stream = stream
                .set_nonblocking(true)
                .and_then(|()| TcpStream::from_std(stream));
            stream.into_iter().for_each(|stream| admit(stream, peer));
        }
    }
    connections.close();
    if !connections.is_empty() {
        tracing::info!("shutting down: waiting for the open requests");
        connections.wait().await;
    }
}

/// Responds with 503 to a connection that gets no place. Only what has arrived is read.
async fn reject(state: &AppState, mut stream: TcpStream) {
    send_error(state, RequestError::Overloaded, false, &mut stream).await;
    linger(stream, Duration::ZERO).await;
}

/// A connection that has a place.
struct Connection {
    peer: SocketAddr,
    place: Arc<Place>,
    router: Router,
    state: AppState,
}

/// Serves a connection once it has a place, or rejects it after [`PLACE_TIMEOUT`].
async fn serve_one(
    stream: TcpStream,
    peer: SocketAddr,
    place: oneshot::Receiver<Place>,
    router: Router,
    state: AppState,
) {
    let Ok(Ok(place)) = timeout(PLACE_TIMEOUT, place).await else {
        return reject(&state, stream).await;
    };
    let connection = Connection {
        peer,
        place: Arc::new(place),
        router,
        state,
    };
    connection.serve(stream).await;
}

impl Connection {
    /// Serves requests until the connection ends, then closes it. Sends the error responses that hyper does not send.
    async fn serve(self, stream: TcpStream) {
        let activity = &self.place.activity;
        let timeouts = match self.place.is_proxy() {
            true => PROXY_TIMEOUTS,
            false => CLIENT_TIMEOUTS,
        };
        // hyper-util's connection borrows nothing, so it hands the stream back.
        let (sender, returned) = oneshot::channel();
        let stream = WatchedStream {
            stream: Some((stream, sender)),
            activity: Arc::clone(activity),
        };
        let error = tokio::select! {
            biased;
            error = self.run(stream, timeouts) => error,
            () = activity.evicted() => Some(RequestError::Overloaded),
            () = activity.timed_out(timeouts.idle) => None,
        };
        let Ok(mut tcp) = returned.await else { return };
        if activity.lock().is_write_blocked() {
            // The client does not read. The kernel would keep for minutes what was written.
            let _ = tcp.set_zero_linger();
            return;
        }
        let linger_time = *activity.lock().closing.get_or_insert(LINGER_TIMEOUT);
        if let Some(error) = error.filter(|_| activity.lock().has_unanswered_bytes()) {
            let is_form = activity.lock().is_form;
            send_error(&self.state, error, is_form, &mut tcp).await;
        }
        linger(tcp, linger_time).await;
    }

    /// Serves requests until the connection ends. When the server shuts down, closes it gracefully. Returns the error for a
    /// client whose last bytes have no response.
    async fn run(&self, stream: WatchedStream, timeouts: Timeouts) -> Option<RequestError> {
        let mut http = Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(timeouts.header_read)
            .max_buf_size(HEAD_MAX_BYTES as usize);
        http.http2()
            .max_concurrent_streams(HTTP2_MAX_STREAMS)
            .max_header_list_size(HEAD_MAX_BYTES)
            // No valid body is larger, and bytes in flight occupy the server's memory.
            .initial_stream_window_size(BODY_MAX_BYTES as u32)
            .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES);
        if !self.place.is_proxy() {
            http = http.http1_only();
        }
        let service = service_fn(|request| self.call(request));
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        let activity = &self.place.activity;
        let stopped = async {
            self.state.shutdown.cancelled().await;
            // hyper's graceful shutdown would drop a request whose head is arriving.
            if activity.lock().is_request_arriving() {
                activity.lock().closes_after_response = true;
                read_deadline(&self.state.shutdown).await;
            }
        };
        tokio::select! {
            biased;
            result = &mut connection => return self.error_after(result),
            () = stopped => {}
        }
        if activity.lock().is_request_arriving() {
            // The server stops, so it does not linger for long.
            activity.lock().evict();
            // A proxy may speak HTTP/2, in which this response would be malformed.
            return (!self.place.is_proxy()).then_some(RequestError::Timeout);
        }
        connection.as_mut().graceful_shutdown();
        self.error_after(connection.await)
    }

    /// Returns the error for bytes that hyper has not answered. To malformed requests it has responded: with 431 to too large
    /// headers, else with 400.
    fn error_after(
        &self,
        result: Result<(), Box<dyn Error + Send + Sync>>,
    ) -> Option<RequestError> {
        let error = result.err()?.downcast::<hyper::Error>().ok()?;
        if error.is_parse_version_h2() {
            if self.state.http2_warning.try_acquire() {
                tracing::warn!(
                    "rejected HTTP/2 from a client that is not a trusted proxy; if it is a proxy, such as Caddy with \
                     h2c://, add its address to --trusted-proxies"
                );
            }
            return Some(RequestError::Http2NotAllowed);
        }
        error.is_timeout().then_some(RequestError::Timeout)
    }

    /// Responds to a request. In HTTP/1, the last response of the connection says so.
    fn call(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        let (place, version) = (Arc::clone(&self.place), request.version());
        place.activity.lock().start_request(&request);
        let activity = Arc::clone(&place.activity);
        let mut request = request.map(|body| Body::new(RequestBody { body, activity }));
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let response = self.router.clone().call(request);
        async move {
            let mut response = response.await?;
            if place.begin_response() && version != Version::HTTP_2 {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok(response)
        }
    }
}

/// Sends an error response on a connection that hyper has given up: a page, or JSON.
///
/// Lets hyper respond to an artificial request, so that the framing is correct.
async fn send_error(state: &AppState, error: RequestError, is_form: bool, stream: &mut TcpStream) {
    let request = &b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"[..];
    let service = service_fn(|_| {
        let response = respond_unhandled(&state.pages, is_form, error.clone());
        let response = middleware::finalize_error(&state.pages, response);
        ready(Ok::<_, Infallible>(response))
    });
    let connection = http1::Builder::new()
        .half_close(true)
        .serve_connection(TokioIo::new(join(request, stream)), service);
    // A client that does not read the response does not need it.
    let _ = timeout(LINGER_TIMEOUT, connection).await;
}

/// Closes a connection after reading the bytes that the client is still sending. Closing it with unread bytes
/// would reset it, and the client might lose the last response (RFC 9112, 9.6).
async fn linger(mut stream: TcpStream, time: Duration) {
    let _ = timeout(time, async {
        stream.shutdown().await?;
        let mut rest = stream.take(LINGER_MAX_BYTES);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    })
    .await;
}
