//! Connections: how many there are, for how long, and how they end.
//!
//! axum's own loop takes every connection and waits for each without end. This one is hyper's, with
//! the limits of `limits.rs`.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, extract::ConnectInfo};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch},
    time::{Instant, Sleep, sleep, timeout},
};
use tokio_util::task::TaskTracker;
use tower::Service;

use super::{
    AppState, Client, Seldom,
    limits::{
        BACKLOG, BODY_MAX_BYTES, CLOSING_PATIENCE, CONNECTIONS_PER_CLIENT, HEAD_MAX_BYTES, LINGER,
        PROXY, PROXY_STREAMS, Patience, STRANGER, STREAMS, WINDOW_BYTES,
    },
    router,
};

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

/// The places there are, and who has them.
struct Seats {
    free: Arc<Semaphore>,
    /// Of those who have any, so never longer than there are places.
    taken: Arc<Mutex<HashMap<Client, usize>>>,
    full: Seldom,
    greedy: Seldom,
}

/// A connection's place, until it is dropped.
struct Seat {
    client: Option<Client>,
    taken: Arc<Mutex<HashMap<Client, usize>>>,
    _place: OwnedSemaphorePermit,
}

impl Seats {
    fn new(places: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(places)),
            taken: Arc::default(),
            full: Seldom::default(),
            greedy: Seldom::default(),
        }
    }

    /// The next connection that may stay. The others wait in the kernel's queue until there is a
    /// place; a client that has too many is closed at once.
    async fn next(
        &self,
        listener: &TcpListener,
        state: &AppState,
    ) -> (TcpStream, SocketAddr, Seat) {
        loop {
            if self.free.available_permits() == 0 && self.full.is_due() {
                tracing::warn!(
                    "{} connections are open: who comes now waits; see --max-connections",
                    state.max_connections
                );
            }
            let Ok(place) = Arc::clone(&self.free).acquire_owned().await else {
                std::future::pending().await
            };
            let (stream, peer) = accept(listener).await;
            let client = (!state.proxies.trust(peer.ip())).then(|| Client::from(peer.ip()));
            if let Some(seat) = self.take(client, place) {
                // Answers are written whole; nothing is to be waited for.
                let _ = stream.set_nodelay(true);
                return (stream, peer, seat);
            }
            if self.greedy.is_due() {
                tracing::warn!(
                    "a client has more than {CONNECTIONS_PER_CLIENT} connections and is refused more; \
                     if it is a proxy, name it with --trusted-proxies"
                );
            }
        }
    }

    /// A place for a client, or for a trusted proxy.
    fn take(&self, client: Option<Client>, place: OwnedSemaphorePermit) -> Option<Seat> {
        if let Some(client) = client {
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            let count = taken.entry(client).or_default();
            if *count >= CONNECTIONS_PER_CLIENT {
                return None;
            }
            *count += 1;
        }
        Some(Seat {
            client,
            taken: Arc::clone(&self.taken),
            _place: place,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&client);
            }
        }
    }
}

/// The next connection, whatever becomes of others before it.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            // It went away while it waited (accept(2)).
            Err(error) if is_of_the_connection(&error) => {}
            Err(error) => {
                // No handles or no memory: that passes, and until then the kernel keeps who comes.
                tracing::error!("no connection can be accepted: {error}");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

fn is_of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// One connection, from its first byte to its last.
struct Connection {
    peer: SocketAddr,
    is_proxy: bool,
    router: Router,
    stopped: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        let Self {
            peer,
            is_proxy,
            router,
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
            .max_buf_size(HEAD_MAX_BYTES);
        let streams = if is_proxy { PROXY_STREAMS } else { STREAMS };
        http.http2()
            .max_concurrent_streams(streams)
            .max_header_list_size(HEAD_MAX_BYTES as u32)
            // No body is larger, and what is in flight is memory of ours.
            .initial_stream_window_size(BODY_MAX_BYTES as u32)
            .initial_connection_window_size(WINDOW_BYTES);
        {
            let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
            let ended = tokio::select! {
                biased;
                ended = &mut connection => Some(ended),
                _ = stopped.wait_for(|stopped| *stopped) => None,
                () = sleep(age) => None,
            };
            let ended = match ended {
                Some(ended) => Ok(ended),
                None => {
                    connection.as_mut().graceful_shutdown();
                    timeout(CLOSING_PATIENCE, connection).await
                }
            };
            // What the client has done wrong is its own affair, and it may have gone.
            if !matches!(ended, Ok(Ok(()))) {
                return;
            }
        }
        if let Ok(stream) = over.await {
            linger(stream).await;
        }
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

/// A stream that fails when it has lain still for too long, and that is given back in the end.
struct Patient {
    stream: Option<(TcpStream, oneshot::Sender<TcpStream>)>,
    patience: Duration,
    /// When something went either way.
    last: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Patient {
    fn new(stream: TcpStream, patience: Duration) -> (Self, oneshot::Receiver<TcpStream>) {
        let (back, over) = oneshot::channel();
        let patient = Self {
            stream: Some((stream, back)),
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
            let _ = back.send(stream);
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(cx, |stream, cx| stream.poll_read(cx, buf))
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, |stream, cx| stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, |stream, cx| stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    // There is nothing to flush, and to shut down is no sign of life either.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Some((stream, _)) => Pin::new(stream).poll_shutdown(cx),
            None => Poll::Ready(Ok(())),
        }
    }
}
