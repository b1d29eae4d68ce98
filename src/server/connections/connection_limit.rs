//! Limits the number of connections, and makes room for new ones when places become scarce.

use std::{
    cmp::Reverse,
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
/// A crowd behind one address opens as many connections as an attacker. So no client has a fixed limit. Which
/// connections close depends on what they wait for.
pub(super) struct ConnectionLimit {
    permits: Arc<Semaphore>,
    /// Places that are kept free for new connections, as far as others can be closed.
    reserve: usize,
    /// The number of connections that one client keeps while places are scarce, whatever they wait for.
    share: usize,
    clients: Arc<Mutex<Clients>>,
    full_warning: WarningThrottle,
    share_warning: WarningThrottle,
    accept_error_warning: WarningThrottle,
}

/// Clients without a connection are removed, so the map is bounded.
type ConnectionsOfClients = HashMap<ClientKey, Vec<Arc<Progress>>>;

/// The open connections of the clients that are not trusted proxies.
struct Clients {
    connections: ConnectionsOfClients,
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
            self.make_room(self.reserve.max(1));
            let place = Arc::clone(&self.permits).acquire_owned();
            if let Ok(Ok(permit)) = timeout(MAKE_ROOM_INTERVAL, place).await {
                return permit;
            }
            if self.full_warning.try_acquire() {
                tracing::warn!(
                    "all {} connections are in use, so new clients wait; raise --max-connections",
                    state.max_connections
                );
            }
        }
    }

    /// Evicts connections until this number of places is free: first those that have been idle for the longest time. Then
    /// it takes slow ones of clients beyond their share, and if that is not enough, closes other ones of these clients
    /// after their next response.
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
        let mut idle = evictable(clients.connections.values().flatten(), Phase::Idle);
        idle.truncate(missing);
        idle.iter().for_each(|it| it.evict());
        let mut evicted = idle.len();
        evicted += self.evict_slow(&clients.connections, missing - evicted);
        self.close_after_response(&clients.connections, missing - evicted);
        clients.closing += evicted;
    }

    /// Evicts at most `count` slow connections of clients beyond their share. The client with the most is first, so that
    /// an attacker does not hide behind a crowd. Returns how many.
    fn evict_slow(&self, clients: &ConnectionsOfClients, count: usize) -> usize {
        let mut slow: Vec<_> = self
            .beyond_share(clients)
            .map(|(excess, connections)| (excess, evictable(connections, Phase::Client)))
            .filter(|(_, slow)| !slow.is_empty())
            .collect();
        slow.sort_by_key(|(_, slow)| Reverse(slow.len()));
        let mut evicted = 0;
        for (excess, mut slow) in slow {
            slow.truncate(excess.min(count - evicted));
            slow.iter().for_each(|it| it.evict());
            evicted += slow.len();
        }
        if evicted > 0 && self.share_warning.try_acquire() {
            tracing::warn!(
                "sent 503 to slow connections of a client that has more than {}, because most of the places are \
                 taken; if it is a proxy, add it to --trusted-proxies",
                self.share
            );
        }
        evicted
    }

    /// Makes at most `count` connections of clients beyond their share close after their next response. So a client whose
    /// connections are all busy does not keep the places, and loses no request.
    fn close_after_response(&self, clients: &ConnectionsOfClients, count: usize) {
        let is_closing = |it: &&Arc<Progress>| it.closes_after_response();
        let closing = clients.values().flatten().filter(is_closing).count();
        let mut missing = count.saturating_sub(closing);
        for (excess, connections) in self.beyond_share(clients) {
            let open = connections.iter().filter(|it| !is_closing(it));
            for progress in open.take(excess.min(missing)) {
                progress.close_after_response();
                missing -= 1;
            }
        }
    }

    /// Returns the connections of each client that has more than its share, and how many more. Those that already make
    /// room do not count.
    fn beyond_share<'a>(
        &self,
        clients: &'a ConnectionsOfClients,
    ) -> impl Iterator<Item = (usize, &'a Vec<Arc<Progress>>)> {
        let share = self.share;
        clients.values().filter_map(move |connections| {
            let open = connections.iter().filter(|it| !it.makes_room()).count();
            let excess = open.saturating_sub(share);
            (excess > 0).then_some((excess, connections))
        })
    }

    /// Accepts the next connection in the kernel's queue. Returns `None` if the queue is empty, or accepting fails. At the
    /// total limit, waits until a connection is closed.
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

/// Returns the connections that have been in this phase for a while, those first that have been in it for the longest
/// time.
fn evictable<'a>(
    connections: impl IntoIterator<Item = &'a Arc<Progress>>,
    phase: Phase,
) -> Vec<&'a Arc<Progress>> {
    let mut found: Vec<_> = connections
        .into_iter()
        .filter(|it| it.phase() == phase && it.last_began().elapsed() >= EVICTION_AGE_MIN)
        .filter(|it| !it.is_evicted())
        .collect();
    found.sort_by_cached_key(|it| it.last_began());
    found
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
