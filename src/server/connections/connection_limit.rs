//! Limits the number of connections, in total and per client.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::unconstrained,
    time::sleep,
};

use super::super::{AppState, ClientKey, WarningThrottle, limits::CONNECTIONS_PER_CLIENT_MAX};

/// Limits the open connections, in total and per client.
pub(super) struct ConnectionLimit {
    permits: Arc<Semaphore>,
    /// The number of open connections per client. Clients without any are removed, so the map is bounded.
    per_client: Arc<Mutex<HashMap<ClientKey, usize>>>,
    full_warning: WarningThrottle,
    client_limit_warning: WarningThrottle,
    accept_error_warning: WarningThrottle,
}

/// The permission for one connection. Dropping it allows another one.
pub(super) struct ConnectionPermit {
    client: Option<ClientKey>,
    per_client: Arc<Mutex<HashMap<ClientKey, usize>>>,
    _total_permit: OwnedSemaphorePermit,
}

impl ConnectionLimit {
    pub(super) fn new(max_connections: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(max_connections)),
            per_client: Arc::default(),
            full_warning: WarningThrottle::default(),
            client_limit_warning: WarningThrottle::default(),
            accept_error_warning: WarningThrottle::default(),
        }
    }

    /// Accepts the next connection.
    ///
    /// At the total limit, new connections wait in the kernel's queue. At the limit of a client, its new connections
    /// are closed at once.
    pub(super) async fn accept(
        &self,
        listener: &TcpListener,
        state: &AppState,
    ) -> (TcpStream, SocketAddr, ConnectionPermit) {
        loop {
            if self.permits.available_permits() == 0 && self.full_warning.try_acquire() {
                tracing::warn!(
                    "all {} connections are in use, so new clients wait; raise --max-connections",
                    state.max_connections
                );
            }
            let Ok(total_permit) = Arc::clone(&self.permits).acquire_owned().await else {
                std::future::pending().await
            };
            let (stream, peer) = self.accept_any(listener).await;
            let client = (!state.proxies.contains(peer.ip())).then(|| ClientKey::from(peer.ip()));
            if let Some(permit) = self.try_acquire(client, total_permit) {
                // Responses are written in one piece, so Nagle's algorithm would only delay them.
                let _ = stream.set_nodelay(true);
                return (stream, peer, permit);
            }
            if self.client_limit_warning.try_acquire() {
                tracing::warn!(
                    "closed a connection of a client that has {CONNECTIONS_PER_CLIENT_MAX} others; \
                     if it is a proxy, add it to --trusted-proxies"
                );
            }
        }
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

    /// Returns a permit, unless the client is at its limit. Trusted proxies (`None`) have no such limit.
    fn try_acquire(
        &self,
        client: Option<ClientKey>,
        total_permit: OwnedSemaphorePermit,
    ) -> Option<ConnectionPermit> {
        if let Some(client) = client {
            let mut per_client = self
                .per_client
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let count = per_client.entry(client).or_default();
            if *count >= CONNECTIONS_PER_CLIENT_MAX {
                return None;
            }
            *count += 1;
        }
        Some(ConnectionPermit {
            client,
            per_client: Arc::clone(&self.per_client),
            _total_permit: total_permit,
        })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut per_client = self
            .per_client
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = per_client.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                per_client.remove(&client);
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
