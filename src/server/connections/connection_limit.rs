//! Limits the number of connections, and makes room for new ones when places become scarce.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::unconstrained,
    time::{sleep, timeout},
};

use super::{
    super::{
        AppState, ClientKey, WarningThrottle,
        limits::{EVICTION_AGE_MIN, MAKE_ROOM_INTERVAL, RESERVE_DIVISOR, SHARE_DIVISOR},
    },
    progress::{Phase, Progress},
};

/// Limits the open connections, and closes some of them when places become scarce.
///
/// A crowd behind one address opens as many connections as an attacker. So no client has a fixed limit: what counts
/// is what its connections do.
pub(super) struct ConnectionLimit {
    permits: Arc<Semaphore>,
    /// Places that are kept free for new connections, as far as others can be closed.
    reserve: usize,
    /// The number of connections that one client keeps while places are scarce, even if they wait for the client.
    share: usize,
    clients: Arc<Mutex<Clients>>,
    full_warning: WarningThrottle,
    share_warning: WarningThrottle,
    accept_error_warning: WarningThrottle,
}

/// The open connections of the clients that are not trusted proxies.
struct Clients {
    /// Clients without any are removed, so the map is bounded.
    connections: HashMap<ClientKey, Vec<Arc<Progress>>>,
    /// The number of evicted connections that are still open.
    closing: usize,
    room_made: Instant,
}

/// The permission for one connection. Dropping it allows another one.
pub(super) struct ConnectionPermit {
    client: Option<ClientKey>,
    progress: Arc<Progress>,
    clients: Arc<Mutex<Clients>>,
    _total_permit: OwnedSemaphorePermit,
}

impl ConnectionPermit {
    /// The progress of the connection, by which it is chosen to make room.
    pub(super) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

impl ConnectionLimit {
    pub(super) fn new(max_connections: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(max_connections)),
            reserve: max_connections / RESERVE_DIVISOR,
            share: (max_connections / SHARE_DIVISOR).max(1),
            clients: Arc::new(Mutex::new(Clients {
                connections: HashMap::new(),
                closing: 0,
                room_made: Instant::now(),
            })),
            full_warning: WarningThrottle::default(),
            share_warning: WarningThrottle::default(),
            accept_error_warning: WarningThrottle::default(),
        }
    }

    /// Accepts the next connection.
    ///
    /// At the total limit, new connections wait in the kernel's queue.
    pub(super) async fn accept(
        &self,
        listener: &TcpListener,
        state: &AppState,
    ) -> (TcpStream, SocketAddr, ConnectionPermit) {
        let total_permit = self.acquire_place(state).await;
        let (stream, peer) = self.accept_any(listener).await;
        // Responses are written in one piece, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let client = (!state.proxies.contains(peer.ip())).then(|| ClientKey::from(peer.ip()));
        let progress = Arc::new(Progress::new());
        if let Some(client) = client {
            let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            let connections = clients.connections.entry(client).or_default();
            connections.push(Arc::clone(&progress));
        }
        self.make_room(self.reserve);
        let permit = ConnectionPermit {
            client,
            progress,
            clients: Arc::clone(&self.clients),
            _total_permit: total_permit,
        };
        (stream, peer, permit)
    }

    /// Waits for a place. While it waits, it makes room whenever a connection can be closed.
    async fn acquire_place(&self, state: &AppState) -> OwnedSemaphorePermit {
        loop {
            if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
                return permit;
            }
            if self.full_warning.try_acquire() {
                tracing::warn!(
                    "all {} connections are in use, so new clients wait; raise --max-connections",
                    state.max_connections
                );
            }
            self.make_room(self.reserve.max(1));
            let place = Arc::clone(&self.permits).acquire_owned();
            if let Ok(Ok(permit)) = timeout(MAKE_ROOM_INTERVAL, place).await {
                return permit;
            }
        }
    }

    /// Closes connections until this number of places is free, or none can be closed: the longest idle first. Then the
    /// slowest of the client that has the most, as long as it has more than its share. Those that the server is working
    /// for stay open.
    fn make_room(&self, wanted: usize) {
        let free = self.permits.available_permits();
        if free >= wanted {
            return;
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = wanted.saturating_sub(free + clients.closing);
        // Looking at all connections at each new one would itself make others wait.
        if missing == 0 || clients.room_made.elapsed() < MAKE_ROOM_INTERVAL {
            return;
        }
        clients.room_made = Instant::now();
        let all = clients.connections.values().flatten();
        let mut evicted = evict_longest(all, Phase::Idle, missing);
        let open = |connections: &[Arc<Progress>]| {
            let open = connections.iter().filter(|it| !it.is_evicted());
            open.count()
        };
        let largest = clients.connections.values().max_by_key(|it| open(it));
        if let Some(largest) = largest.filter(|it| open(it) > self.share) {
            let excess = open(largest) - self.share;
            let count = excess.min(missing - evicted);
            let slow = evict_longest(largest, Phase::Client, count);
            evicted += slow;
            if slow > 0 && self.share_warning.try_acquire() {
                tracing::warn!(
                    "closed slow connections of a client that has {}, because most of the places are taken; if it is \
                     a proxy, add it to --trusted-proxies",
                    largest.len()
                );
            }
        }
        clients.closing += evicted;
    }

    /// Accepts the next connection in the kernel's queue. Returns `None` if the queue is empty. At the total limit,
    /// waits until a connection is closed.
    pub(super) async fn accept_queued(
        &self,
        listener: &TcpListener,
        state: &AppState,
    ) -> Option<(TcpStream, SocketAddr, ConnectionPermit)> {
        drop(self.permits.acquire().await.ok()?);
        // Without tokio's budget for each task, after which `accept` would wait although the queue is not empty.
        unconstrained(self.accept(listener, state)).now_or_never()
    }

    /// Accepts the next connection, and retries after errors.
    async fn accept_any(&self, listener: &TcpListener) -> (TcpStream, SocketAddr) {
        loop {
            match listener.accept().await {
                Ok(accepted) => return accepted,
                // The client disconnected while it waited in the queue (accept(2)).
                Err(error) if is_connection_error(&error) => {}
                Err(error) => {
                    // Out of file descriptors or memory. New connections wait in the kernel's queue.
                    if self.accept_error_warning.try_acquire() {
                        tracing::error!(
                            "cannot accept connections: {error}; retrying every second; raise the limit on open \
                             files (ulimit -n, or LimitNOFILE=)"
                        );
                    }
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

/// Evicts at most `count` of the connections that have been in this phase for a while, those first that have been in it
/// for the longest time. Returns how many.
fn evict_longest<'a>(
    connections: impl IntoIterator<Item = &'a Arc<Progress>>,
    phase: Phase,
    count: usize,
) -> usize {
    let mut chosen: Vec<_> = connections
        .into_iter()
        .filter(|it| it.phase() == phase && it.last_began().elapsed() >= EVICTION_AGE_MIN)
        .filter(|it| !it.is_evicted())
        .collect();
    chosen.sort_by_cached_key(|it| it.last_began());
    chosen.truncate(count);
    for progress in &chosen {
        progress.evict();
    }
    chosen.len()
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if self.progress.is_evicted() {
            clients.closing -= 1;
        }
        if let Some(connections) = clients.connections.get_mut(&client) {
            connections.retain(|it| !Arc::ptr_eq(it, &self.progress));
            if connections.is_empty() {
                clients.connections.remove(&client);
            }
        }
    }
}

fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
