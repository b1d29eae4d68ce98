//! Limits the number of connections, and makes room for new ones when places become scarce.

use std::{
    cmp::Reverse,
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    task::unconstrained,
    time::{sleep, timeout},
};

use super::{
    super::{
        AppState, ClientKey,
        limits::{
            EVICTION_AGE_MIN, IDLE_EVICTION_BATCH, MAKE_ROOM_INTERVAL, PLACE_TIMEOUT,
            PROMOTE_INTERVAL, RESERVE_DIVISOR, SHARE_DIVISOR, SLOW_EVICTION_BATCH,
        },
        warning_throttle::WarningThrottle,
    },
    activity::{ConnectionActivity, Phase},
    clients::{ClientTable, Clients, PlacedConnection, WaitingCount},
    places::{PlaceRequest, Places, ShareStatus},
};

/// Limits the open connections, and closes some of them when places become scarce.
///
/// A crowd behind one address opens as many connections as an attacker. So no client has a fixed limit. Idle and slow
/// connections close first, and new connections of clients beyond their share wait behind all others.
pub(super) struct ConnectionLimit {
    places: Arc<Places>,
    /// Permits for connections that are accepted and wait for a place: as many as there are places.
    waiting: Arc<Semaphore>,
    /// Permits for connections that are being rejected, and still read from.
    rejecting: Arc<Semaphore>,
    /// Whether connections are rejected at once while many of their client wait.
    rejects_at_once: bool,
    /// The number of connections that one client keeps while places are scarce, whatever they wait for.
    share: usize,
    clients: Clients,
    /// Notified when a connection starts to wait.
    place_wanted: Notify,
    full_warning: WarningThrottle,
    share_warning: WarningThrottle,
    accept_error_warning: WarningThrottle,
}

/// A connection that was accepted.
pub(super) struct AcceptedConnection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) admission: Admission,
}

/// Whether a connection is served.
pub(super) enum Admission {
    Admitted(PlacedConnection),
    Waiting(WaitingConnection),
    /// Too many connections wait already. Without a permit, too many are being rejected as well.
    Rejected(Option<OwnedSemaphorePermit>),
}

/// A connection that waits for a place.
pub(super) struct WaitingConnection {
    request: PlaceRequest,
    count: WaitingCount,
    permit: OwnedSemaphorePermit,
}

impl WaitingConnection {
    /// Waits for a place, at most [`PLACE_TIMEOUT`].
    ///
    /// # Errors
    /// If the time is over. The permit is kept until the connection is closed.
    pub(super) async fn wait_for_place(self) -> Result<PlacedConnection, OwnedSemaphorePermit> {
        match timeout(PLACE_TIMEOUT, self.request.wait_for_place()).await {
            Ok(Some(place)) => Ok(self.count.into_placed(place)),
            _ => Err(self.permit),
        }
    }
}

impl ConnectionLimit {
    pub(super) fn new(max_connections: usize) -> Self {
        let reserve = max_connections / RESERVE_DIVISOR;
        Self {
            places: Places::new(max_connections, reserve),
            waiting: Arc::new(Semaphore::new(max_connections)),
            rejecting: Arc::new(Semaphore::new(reserve)),
            // With fewer places, one browser is beyond its share. Then others wait in the kernel's queue.
            rejects_at_once: max_connections >= SHARE_DIVISOR,
            share: (max_connections / SHARE_DIVISOR).max(1),
            clients: Clients::default(),
            place_wanted: Notify::new(),
            full_warning: WarningThrottle::default(),
            share_warning: WarningThrottle::default(),
            accept_error_warning: WarningThrottle::default(),
        }
    }

    /// Accepts the next connection, even if no place is free. In the kernel's queue, it would delay other clients.
    pub(super) async fn accept(
        &self,
        listener: &TcpListener,
        state: &AppState,
    ) -> AcceptedConnection {
        let permit = Arc::clone(&self.waiting).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        let accepted = self.accept_any(listener).await;
        self.admit_accepted(accepted, permit, state)
    }

    fn admit_accepted(
        &self,
        (stream, peer): (TcpStream, SocketAddr),
        permit: OwnedSemaphorePermit,
        state: &AppState,
    ) -> AcceptedConnection {
        // Responses are written in one piece, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let client =
            (!state.connections.proxies.contains(peer.ip())).then(|| ClientKey::from(peer.ip()));
        let admission = self.admit(client, permit, state);
        AcceptedConnection {
            stream,
            peer,
            // Waiting for a permit here would delay all clients behind the one that is rejected.
            admission: admission.unwrap_or_else(|| {
                Admission::Rejected(Arc::clone(&self.rejecting).try_acquire_owned().ok())
            }),
        }
    }

    /// Returns `None` if too many connections wait already.
    fn admit(
        &self,
        client: Option<ClientKey>,
        permit: OwnedSemaphorePermit,
        state: &AppState,
    ) -> Option<Admission> {
        let share_status = self.share_status(client);
        if let Some(place) = self.places.try_take(share_status) {
            let connection = self.clients.add_placed(client, place);
            self.make_room();
            return Some(Admission::Admitted(connection));
        }
        if share_status == ShareStatus::Exceeded
            && self.rejects_at_once
            && self.has_too_many_waiting(client)
        {
            self.warn_of_share("rejected new connections");
            return None;
        }
        let request = self.places.request(share_status, client);
        self.warn_if_full(state);
        self.place_wanted.notify_one();
        Some(Admission::Waiting(WaitingConnection {
            request,
            count: self.clients.add_waiting(client),
            permit,
        }))
    }

    fn share_status(&self, client: Option<ClientKey>) -> ShareStatus {
        let count = client.map_or(0, |client| self.clients.lock().count(client));
        match count >= self.share {
            true => ShareStatus::Exceeded,
            false => ShareStatus::Within,
        }
    }

    /// Returns whether more connections of a client wait than seven times those that could still wait. So one client gets 7/8
    /// of the permits, the next one 7/8 of the rest, and there are always some for others (Choudhury and Hahne, "Dynamic Queue
    /// Length Thresholds for Shared-Memory Packet Switches", 1998).
    fn has_too_many_waiting(&self, client: Option<ClientKey>) -> bool {
        let waiting = client.map_or(0, |client| self.clients.lock().waiting_count(client));
        waiting > (RESERVE_DIVISOR - 1) * self.waiting.available_permits()
    }

    /// Makes room while somebody waits, again and again: connections become idle or slow.
    pub(super) async fn keep_making_room(&self) {
        let mut promoted_at = Instant::now();
        loop {
            self.place_wanted.notified().await;
            while self.places.has_requests() {
                if promoted_at.elapsed() >= PROMOTE_INTERVAL {
                    promoted_at = Instant::now();
                    self.promote_waiting();
                }
                self.make_room();
                sleep(MAKE_ROOM_INTERVAL).await;
            }
        }
    }

    fn promote_waiting(&self) {
        let clients = self.clients.lock();
        let placed = |client| clients.placed_count(client);
        self.places.promote(self.share, placed);
    }

    /// Closes connections while the reserve is not free, or others wait:
    ///
    /// 1. those that have been idle for the longest time, up to [`IDLE_EVICTION_BATCH`];
    /// 2. if all idle ones are not enough, slow ones of clients beyond their share, up to [`SLOW_EVICTION_BATCH`];
    /// 3. if that is not enough either, any of these clients, after their next response.
    fn make_room(&self) {
        let mut clients = self.clients.lock();
        let missing = self
            .places
            .places_to_free()
            .saturating_sub(clients.evicted_open);
        // Looking at all connections at each new one would itself make others wait.
        let is_recent = |made: Instant| made.elapsed() < MAKE_ROOM_INTERVAL;
        if missing == 0 || clients.last_eviction.is_some_and(is_recent) {
            return;
        }
        clients.last_eviction = Some(Instant::now());
        let mut idle = evictable(clients.placed().flatten(), Phase::Idle);
        let needed = missing.min(IDLE_EVICTION_BATCH);
        // The next searches close the other idle ones.
        let missing = missing.saturating_sub(idle.len());
        idle.truncate(needed);
        idle.iter().for_each(|it| it.evict());
        let batch = missing.min(SLOW_EVICTION_BATCH);
        let slow = self.evict_slow(&clients, batch);
        if slow < batch {
            self.close_after_response(&clients, missing - slow);
        }
        clients.evicted_open += idle.len() + slow;
    }

    fn warn_if_full(&self, state: &AppState) {
        if self.places.has_requests_within_share() && self.full_warning.try_acquire() {
            tracing::warn!(
                "all {} connections are in use, so new clients wait; raise --max-connections",
                state.connections.max_connections
            );
        }
    }

    fn warn_of_share(&self, what: &str) {
        if self.share_warning.try_acquire() {
            tracing::warn!(
                "{what} of a client that has more than {}, because most of the places are taken; if it is a proxy, \
                 add it to --trusted-proxies",
                self.share
            );
        }
    }

    /// Evicts at most `count` slow connections of clients beyond their share. The client with the most is first, so that
    /// an attacker does not hide behind a crowd. Returns how many.
    fn evict_slow(&self, clients: &ClientTable, count: usize) -> usize {
        // Those that will close after a response count: a slow one may never get to its response.
        let is_not_evicted = |it: &&Arc<ConnectionActivity>| !it.is_evicted();
        let mut slow: Vec<_> = self
            .beyond_share(clients, is_not_evicted)
            .map(|(excess, connections)| (excess, evictable(connections, Phase::AwaitingClient)))
            .filter(|(_, slow)| !slow.is_empty())
            .collect();
        slow.sort_by_key(|(_, slow)| Reverse(slow.len()));
        let mut evicted = 0;
        for (excess, mut slow) in slow {
            slow.truncate(excess.min(count - evicted));
            slow.iter().for_each(|it| it.evict());
            evicted += slow.len();
        }
        if evicted > 0 {
            self.warn_of_share("closed slow connections");
        }
        evicted
    }

    /// Makes at most `count` connections of clients beyond their share close after their next response. The client with the
    /// most is first. So a client whose connections are all busy does not keep the places, and loses no request.
    fn close_after_response(&self, clients: &ClientTable, count: usize) {
        let will_close =
            |it: &&Arc<ConnectionActivity>| it.closes_after_response() && !it.is_evicted();
        let is_unmarked = |it: &&Arc<ConnectionActivity>| {
            !it.is_marked_to_close() && it.phase() != Phase::Lingering
        };
        let marked = clients.placed().flatten().filter(will_close).count();
        let mut missing = count.saturating_sub(marked);
        let mut beyond_share: Vec<_> = self.beyond_share(clients, is_unmarked).collect();
        beyond_share.sort_by_key(|(excess, _)| Reverse(*excess));
        for (excess, connections) in beyond_share {
            let unmarked = connections.iter().filter(is_unmarked);
            for activity in unmarked.take(excess.min(missing)) {
                activity.close_after_response();
                missing -= 1;
            }
        }
    }

    /// Returns each client beyond its share of the connections that `counts` selects: its excess, and all its connections.
    fn beyond_share<'a>(
        &self,
        clients: &'a ClientTable,
        counts: impl Fn(&&Arc<ConnectionActivity>) -> bool,
    ) -> impl Iterator<Item = (usize, &'a Vec<Arc<ConnectionActivity>>)> {
        let share = self.share;
        clients.placed().filter_map(move |connections| {
            let count = connections.iter().filter(&counts).count();
            let excess = count.saturating_sub(share);
            (excess > 0).then_some((excess, connections))
        })
    }

    /// Accepts the next connection in the kernel's queue. Returns `None` if the queue is empty, or accepting fails.
    pub(super) async fn accept_queued(
        &self,
        listener: &TcpListener,
        state: &AppState,
    ) -> Option<AcceptedConnection> {
        let permit = Arc::clone(&self.waiting).acquire_owned().await.ok()?;
        // Without tokio's budget for each task, after which `accept` would wait although the queue is not empty.
        let accepted = unconstrained(self.accept_any(listener)).now_or_never()?;
        Some(self.admit_accepted(accepted, permit, state))
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

/// Returns the connections in this phase that have waited for [`EVICTION_AGE_MIN`], those first that have waited for the
/// longest time.
fn evictable<'a>(
    connections: impl IntoIterator<Item = &'a Arc<ConnectionActivity>>,
    phase: Phase,
) -> Vec<&'a Arc<ConnectionActivity>> {
    let mut found: Vec<_> = connections
        .into_iter()
        .filter(|it| it.phase() == phase && it.waiting_since().elapsed() >= EVICTION_AGE_MIN)
        .filter(|it| !it.is_evicted())
        .collect();
    found.sort_by_cached_key(|it| it.waiting_since());
    found
}

fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
