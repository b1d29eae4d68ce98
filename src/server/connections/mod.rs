//! Connections: how many there are, for how long, and how they end.
//!
//! axum's own loop takes every connection and waits for each without end. This one is hyper's, with
//! the limits of `limits.rs`.

mod patient;
mod refusal;
mod seats;

use std::{io, net::SocketAddr, pin::pin};

use axum::{Router, body::Body, extract::ConnectInfo};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::task::TaskTracker;
use tower::Service;

use super::{
    ApiError, AppState,
    limits::{
        BACKLOG, BODY_MAX_BYTES, CLOSING_PATIENCE, HEAD_MAX_BYTES, HTTP2_HEAD_MAX_BYTES, LINGER,
        PROXY, Patience, STRANGER, STREAMS, WINDOW_BYTES,
    },
    router,
};
use patient::{Over, Patient};
use seats::Seats;

/// Listens, for [`serve`].
///
/// # Errors
/// When the address can't be had.
pub fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A server that starts again need not wait for the connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// Serves until `stop` resolves, then lets the requests under way finish: until they have, their time
/// is over, or `stop` resolves once more.
pub(super) async fn serve(listener: TcpListener, state: &AppState, mut stop: impl AsyncFnMut()) {
    let router = router(state.clone());
    let seats = Seats::new(state.max_connections);
    let (stopping, stopped) = watch::channel(false);
    let connections = TaskTracker::new();
    let accept = async {
        loop {
            let (stream, peer, seat) = seats.next(&listener, state).await;
            let connection = Connection {
                peer,
                is_proxy: state.proxies.trust(peer.ip()),
                router: router.clone(),
                state: state.clone(),
                stopped: stopped.clone(),
            };
            connections.spawn(async move {
                let _until_its_end = seat;
                connection.serve(stream).await;
            });
        }
    };
    tokio::select! {
        () = accept => {}
        () = stop() => {}
    }
    drop(listener);
    stopping.send_replace(true);
    connections.close();
    if connections.is_empty() {
        return;
    }
    tracing::info!("stopping: finishing the requests under way");
    tokio::select! {
        () = connections.wait() => return,
        () = sleep(state.shutdown_grace) => {}
        () = stop() => {}
    }
    tracing::warn!("some requests took too long and were cut off");
}

/// One connection, from its first byte to its last.
struct Connection {
    peer: SocketAddr,
    is_proxy: bool,
    router: Router,
    state: AppState,
    stopped: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        let Self {
            peer,
            is_proxy,
            router,
            state,
            mut stopped,
        } = self;
        let Patience { head, stall, age } = if is_proxy { PROXY } else { STRANGER };
        let (stream, over) = Patient::new(stream, stall);
        let service = service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            router.clone().call(request)
        });
        let mut http = Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(head)
            // Who has asked and says no more may still listen; and who has gone is not missed before
            // the answer is there.
            .half_close(true)
            .max_buf_size(HEAD_MAX_BYTES);
        http.http2()
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HTTP2_HEAD_MAX_BYTES)
            // No body is larger, and what is in flight is memory of ours.
            .initial_stream_window_size(BODY_MAX_BYTES as u32)
            .initial_connection_window_size(WINDOW_BYTES);
        if !is_proxy {
            http = http.http1_only();
        }
        let ended = {
            let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
            let ended = tokio::select! {
                biased;
                ended = &mut connection => Some(ended),
                _ = stopped.wait_for(|stopped| *stopped) => None,
                () = sleep(age) => None,
            };
            match ended {
                Some(ended) => Ok(ended),
                None => {
                    connection.as_mut().graceful_shutdown();
                    timeout(CLOSING_PATIENCE, connection).await
                }
            }
        };
        let Ok(Over {
            mut stream,
            refusal,
            is_heard,
        }) = over.await
        else {
            return;
        };
        let reason = |error: &hyper::Error| {
            if error.is_parse_version_h2() {
                Some(ApiError::Http2)
            } else if is_heard && error.is_timeout() {
                Some(ApiError::TooSlow)
            } else {
                None
            }
        };
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let Some(error) = refusal.or_else(|| error.downcast_ref().and_then(reason)) else {
                    return;
                };
                refusal::answer(&state, error, &mut stream).await;
            }
            Err(_) => return,
        }
        linger(stream).await;
    }
}

/// Closes a connection that is over. To close it while there is something to read would reset it, and
/// the client might lose the answer that is on its way (RFC 9112, 9.6).
async fn linger(mut stream: TcpStream) {
    let (time, bytes) = LINGER;
    let _ = timeout(time, async {
        stream.shutdown().await?;
        let mut rest = stream.take(bytes as u64);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    })
    .await;
}
