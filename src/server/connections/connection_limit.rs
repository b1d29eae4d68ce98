//! The places for connections, of which each client has a few.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};

use super::super::{AppState, ClientKey, WarningThrottle, limits::CONNECTIONS_PER_CLIENT_MAX};

/// The places there are, and who has them.
pub(super) struct ConnectionLimit {
    permits: Arc<Semaphore>,
    /// Of those who have any, so never longer than there are places.
    per_client: Arc<Mutex<HashMap<ClientKey, usize>>>,
    full_warning: WarningThrottle,
    client_limit_warning: WarningThrottle,
    accept_error_warning: WarningThrottle,
}

/// A connection's place, until it is dropped.
pub(super) struct ConnectionPermit {
    client: Option<ClientKey>,
    per_client: Arc<Mutex<HashMap<ClientKey, usize>>>,
    _slot: OwnedSemaphorePermit,
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

    /// The next connection that may stay. The others wait in the kernel's queue until there is a
    /// place; a client that has too many is closed at once.
    pub(super) async fn accept(
        &self,
        listener: &TcpListener,
        state: &AppState,
    ) -> (TcpStream, SocketAddr, ConnectionPermit) {
        loop {
            if self.permits.available_permits() == 0 && self.full_warning.try_acquire() {
                tracing::warn!(
                    "{} connections are open: who comes now waits; see --max-connections",
                    state.max_connections
                );
            }
            let Ok(slot) = Arc::clone(&self.permits).acquire_owned().await else {
                std::future::pending().await
            };
            let (stream, peer) = self.accept_any(listener).await;
            let client = (!state.proxies.contains(peer.ip())).then(|| ClientKey::from(peer.ip()));
            if let Some(permit) = self.try_acquire(client, slot) {
                // Answers are written whole; nothing is to be waited for.
                let _ = stream.set_nodelay(true);
                return (stream, peer, permit);
            }
            if self.client_limit_warning.try_acquire() {
                tracing::warn!(
                    "a client has more than {CONNECTIONS_PER_CLIENT_MAX} connections and is refused more; \
                     if it is a proxy, name it with --trusted-proxies"
                );
            }
        }
    }

    /// The next connection, whatever becomes of others before it.
    async fn accept_any(&self, listener: &TcpListener) -> (TcpStream, SocketAddr) {
        loop {
            match listener.accept().await {
                Ok(accepted) => return accepted,
                // It went away while it waited (accept(2)).
                Err(error) if is_connection_error(&error) => {}
                Err(error) => {
                    // No handles or no memory: that passes, and until then the kernel keeps who comes.
                    if self.accept_error_warning.try_acquire() {
                        tracing::error!("no connection can be accepted: {error}");
                    }
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    /// A place for a client, or for a trusted proxy.
    fn try_acquire(
        &self,
        client: Option<ClientKey>,
        slot: OwnedSemaphorePermit,
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
            _slot: slot,
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
