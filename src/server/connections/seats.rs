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

use super::super::{AppState, Client, Seldom, limits::CONNECTIONS_PER_CLIENT};

/// The places there are, and who has them.
pub(super) struct Seats {
    free: Arc<Semaphore>,
    /// Of those who have any, so never longer than there are places.
    taken: Arc<Mutex<HashMap<Client, usize>>>,
    full: Seldom,
    greedy: Seldom,
    failed: Seldom,
}

/// A connection's place, until it is dropped.
pub(super) struct Seat {
    client: Option<Client>,
    taken: Arc<Mutex<HashMap<Client, usize>>>,
    _place: OwnedSemaphorePermit,
}

impl Seats {
    pub(super) fn new(places: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(places)),
            taken: Arc::default(),
            full: Seldom::default(),
            greedy: Seldom::default(),
            failed: Seldom::default(),
        }
    }

    /// The next connection that may stay. The others wait in the kernel's queue until there is a
    /// place; a client that has too many is closed at once.
    pub(super) async fn next(
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
            let (stream, peer) = self.accept(listener).await;
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

    /// The next connection, whatever becomes of others before it.
    async fn accept(&self, listener: &TcpListener) -> (TcpStream, SocketAddr) {
        loop {
            match listener.accept().await {
                Ok(accepted) => return accepted,
                // It went away while it waited (accept(2)).
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    // No handles or no memory: that passes, and until then the kernel keeps who comes.
                    if self.failed.is_due() {
                        tracing::error!("no connection can be accepted: {error}");
                    }
                    sleep(Duration::from_secs(1)).await;
                }
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

fn is_of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
