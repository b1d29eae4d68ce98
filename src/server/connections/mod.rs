//! Connections: accepts them, serves their requests, closes them and shuts down.
//!
//! This replaces `axum::serve`, which limits neither the number of connections nor their duration.

mod activity;
mod clients;
mod connection_limit;
mod idle_timeout;
mod places;
mod socket;

use std::{
    convert::Infallible,
    error::Error,
    future::{poll_fn, ready},
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use axum::{
    Router,
    extract::ConnectInfo,
    http::{HeaderValue, Version, header},
};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, join},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::task::TaskTracker;
use tower::Service;

use super::{
    AppState, RequestError, TrustedProxies,
    limits::{
        BODY_MAX_BYTES, EVICTED_LINGER_TIMEOUT, GRACEFUL_CLOSE_TIMEOUT, HEADERS_MAX_BYTES,
        HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_HEADERS_MAX_BYTES, HTTP2_MAX_STREAMS,
        LINGER_MAX_BYTES, LINGER_TIMEOUT, LISTEN_BACKLOG, PROXY_TIMEOUTS, SHUTDOWN_READ_TIMEOUT,
        Timeouts,
    },
    middleware, router,
    warning_throttle::WarningThrottle,
};
use activity::ConnectionActivity;
use connection_limit::{AcceptedConnection, Admission, ConnectionLimit};
use idle_timeout::IdleTimeoutStream;

pub use socket::{bind, listen, take_address};

/// The settings of connections.
pub(super) struct ConnectionSettings {
    pub(super) proxies: TrustedProxies,
    /// The timeouts of clients that are not trusted proxies.
    pub(super) client_timeouts: Timeouts,
    pub(super) max_connections: usize,
    pub(super) http2_warning: WarningThrottle,
}

/// Serves until the shutdown starts, then lets the open requests finish.
pub(super) async fn serve(listener: TcpListener, state: &AppState) {
    let limit = ConnectionLimit::new(state.connections.max_connections);
    tokio::select! {
        () = accept_and_finish(listener, state, &limit) => {}
        // Until the end: requests may wait for places when the server is stopped.
        () = limit.keep_making_room() => {}
    }
}

async fn accept_and_finish(listener: TcpListener, state: &AppState, limit: &ConnectionLimit) {
    let router = router(state.clone());
    let connections = TaskTracker::new();
    let spawn = |accepted: AcceptedConnection| {
        connections.spawn(serve_accepted(accepted, router.clone(), state.clone()));
    };
    let accept_loop = async {
        loop {
            spawn(limit.accept(&listener, state).await);
        }
    };
    tokio::select! {
        () = accept_loop => {}
        () = state.shutdown.started() => {}
    }
    // Unless the service manager keeps the socket, closing it resets the connections that wait in its queue.
    let accept_queued = async {
        for _ in 0..LISTEN_BACKLOG {
            spawn(limit.accept_queued(&listener, state).await?);
        }
        Some(())
    };
    // At the limit of connections, idle ones are closed first, and closing one takes up to `LINGER_TIMEOUT`.
    let _ = timeout(LINGER_TIMEOUT + SHUTDOWN_READ_TIMEOUT, accept_queued).await;
    drop(listener);
    connections.close();
    if !connections.is_empty() {
        tracing::info!("shutting down: waiting for the open requests");
        connections.wait().await;
    }
}

/// Serves a connection once it has a place.
async fn serve_accepted(accepted: AcceptedConnection, router: Router, state: AppState) {
    let AcceptedConnection {
        mut stream,
        peer,
        admission,
    } = accepted;
    let admitted = match admission {
        Admission::Admitted(connection) => Ok(connection),
        Admission::Waiting(waiting) => waiting.wait_for_place().await.map_err(Some),
        Admission::Rejected(permit) => Err(permit),
    };
    match admitted {
        Ok(placed) => {
            let connection = Connection {
                peer,
                is_proxy: state.connections.proxies.contains(peer.ip()),
                router,
                state,
                activity: Arc::clone(placed.activity()),
            };
            connection.serve(stream).await;
        }
        Err(permit) => {
            send_error(&state, RequestError::Overloaded, &mut stream).await;
            // Without a permit, only what has arrived is read.
            let time = permit
                .as_ref()
                .map_or(Duration::ZERO, |_| EVICTED_LINGER_TIMEOUT);
            linger(stream, time).await;
        }
    }
}

/// A connection, with everything that it needs to serve requests.
struct Connection {
    peer: SocketAddr,
    is_proxy: bool,
    router: Router,
    state: AppState,
    activity: Arc<ConnectionActivity>,
}

/// How a connection ended.
enum ConnectionEnd {
    /// hyper is done with it.
    Done(Result<(), Box<dyn Error + Send + Sync>>),
    /// The server shuts down, and no complete head has arrived.
    NoRequest,
    /// Its open requests took longer than [`GRACEFUL_CLOSE_TIMEOUT`].
    TimedOut,
}

impl Connection {
    /// Serves requests until the connection ends, then closes it. Sends the error responses that hyper does not send.
    async fn serve(self, stream: TcpStream) {
        let (state, activity) = (self.state.clone(), Arc::clone(&self.activity));
        let is_proxy = self.is_proxy;
        let (stream, leftover) =
            IdleTimeoutStream::new(stream, Arc::clone(&activity), self.timeouts().idle);
        let end = self.run(stream).await;
        let Ok(mut leftover) = leftover.await else {
            return;
        };
        activity.linger();
        let request_error = match &end {
            ConnectionEnd::TimedOut => return,
            ConnectionEnd::Done(Ok(())) => None,
            ConnectionEnd::Done(Err(_)) if activity.is_evicted() => {
                if !activity.has_unanswered_bytes() {
                    return;
                }
                Some(RequestError::Overloaded)
            }
            ConnectionEnd::Done(Err(error)) => match error.downcast_ref::<hyper::Error>() {
                Some(error) if error.is_parse_version_h2() => {
                    if state.connections.http2_warning.try_acquire() {
                        tracing::warn!(
                            "rejected HTTP/2 from a client that is not a trusted proxy; if it is a proxy, such as \
                             Caddy with h2c://, add its address to --trusted-proxies"
                        );
                    }
                    Some(RequestError::Http2NotAllowed)
                }
                // hyper has already responded to other malformed requests: 431 for too large headers, else 400.
                Some(error) if error.is_parse() => None,
                Some(error) if error.is_timeout() && activity.has_unanswered_bytes() => {
                    Some(RequestError::Timeout)
                }
                _ => return,
            },
            // A proxy may speak HTTP/2, in which this response would be malformed.
            ConnectionEnd::NoRequest if is_proxy || !activity.has_unanswered_bytes() => return,
            ConnectionEnd::NoRequest => Some(RequestError::Timeout),
        };
        if let Some(request_error) = request_error {
            send_error(&state, request_error, &mut leftover).await;
        }
        let time = if activity.is_marked_to_close() {
            EVICTED_LINGER_TIMEOUT
        } else {
            LINGER_TIMEOUT
        };
        linger(leftover, time).await;
    }

    /// Serves requests until the connection ends. At its maximum age, or when the server shuts down, closes it
    /// gracefully.
    async fn run(self, stream: IdleTimeoutStream) -> ConnectionEnd {
        let header_read = self.timeouts().header_read;
        let mut http = Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(header_read)
            // A client may shut down its writing half after a request and still read the response.
            .half_close(true)
            .max_buf_size(HEADERS_MAX_BYTES);
        http.http2()
            .max_concurrent_streams(HTTP2_MAX_STREAMS)
            .max_header_list_size(HTTP2_HEADERS_MAX_BYTES)
            // No valid body is larger, and bytes in flight occupy the server's memory.
            .initial_stream_window_size(BODY_MAX_BYTES as u32)
            .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES);
        if !self.is_proxy {
            http = http.http1_only();
        }
        let service = service_fn(|request: Request<Incoming>| {
            let version = request.version();
            let in_progress = self.activity.start_request(version);
            let mut request = request.map(|body| self.activity.start_body(body));
            request.extensions_mut().insert(ConnectInfo(self.peer));
            let response = self.router.clone().call(request);
            let activity = Arc::clone(&self.activity);
            async move {
                let _in_progress = in_progress;
                let mut response = response.await?;
                if version != Version::HTTP_2 && activity.announces_close() {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(header::CONNECTION, close);
                }
                Ok::<_, Infallible>(response)
            }
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            biased;
            result = &mut connection => return ConnectionEnd::Done(result),
            () = self.state.shutdown.started() => {
                if let Some(end) = self.finish_head(connection.as_mut()).await {
                    return end;
                }
            }
            () = self.max_age_reached() => {}
        }
        connection.as_mut().graceful_shutdown();
        match timeout(GRACEFUL_CLOSE_TIMEOUT, connection).await {
            Ok(result) => ConnectionEnd::Done(result),
            Err(_) => ConnectionEnd::TimedOut,
        }
    }

    /// Waits for the maximum age. In HTTP/1, announces the end in the next response, and waits for it: hyper's graceful shutdown
    /// would drop a request whose head is arriving. HTTP/2 has a message for it.
    async fn max_age_reached(&self) {
        let timeouts = self.timeouts();
        sleep(timeouts.max_age).await;
        if !self.activity.is_http2() {
            self.activity.close_after_response();
            sleep(timeouts.header_read).await;
        }
    }

    /// If the head of a request is arriving, waits for it until the read deadline of the shutdown. hyper's graceful
    /// shutdown would drop it. Returns `None` if no head is arriving any more.
    async fn finish_head(
        &self,
        mut connection: Pin<&mut impl Future<Output = Result<(), Box<dyn Error + Send + Sync>>>>,
    ) -> Option<ConnectionEnd> {
        let mut deadline = pin!(self.state.shutdown.read_deadline());
        poll_fn(|cx| {
            if let Poll::Ready(result) = connection.as_mut().poll(cx) {
                return Poll::Ready(Some(ConnectionEnd::Done(result)));
            }
            if !self.activity.is_request_arriving() {
                return Poll::Ready(None);
            }
            deadline
                .as_mut()
                .poll(cx)
                .map(|()| Some(ConnectionEnd::NoRequest))
        })
        .await
    }

    fn timeouts(&self) -> Timeouts {
        if self.is_proxy {
            PROXY_TIMEOUTS
        } else {
            self.state.connections.client_timeouts
        }
    }
}

/// Sends an error response on a connection that hyper has given up.
///
/// Lets hyper respond to an artificial request, so that `Date` and the framing are correct.
async fn send_error(state: &AppState, error: RequestError, stream: &mut TcpStream) {
    let request = &b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"[..];
    let service = service_fn(|_| {
        let response = middleware::error_response(&state.response_headers, error.clone());
        ready(Ok::<_, Infallible>(response))
    });
    let mut http = http1::Builder::new();
    let connection = http
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
