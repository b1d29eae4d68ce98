//! The connections of each client: those that have a place, and those that wait for one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{super::ClientKey, activity::ConnectionActivity, places::Place};

/// The connections of the clients that are not trusted proxies.
#[derive(Clone, Default)]
pub(super) struct Clients(Arc<Mutex<ClientTable>>);

/// Clients without a connection are removed, so the table is bounded.
#[derive(Default)]
pub(super) struct ClientTable {
    connections: HashMap<ClientKey, ClientConnections>,
    /// The number of evicted connections that are still open.
    pub(super) evicted_open: usize,
    /// When connections were last chosen to make room.
    pub(super) last_eviction: Option<Instant>,
}

/// The connections of a client.
#[derive(Default)]
struct ClientConnections {
    placed: Vec<Arc<ConnectionActivity>>,
    waiting: usize,
}

/// A connection that has a place, and may make room for others. Dropping it frees the place.
pub(super) struct PlacedConnection {
    client: Option<ClientKey>,
    activity: Arc<ConnectionActivity>,
    clients: Clients,
    _place: Place,
}

/// Counts a connection as waiting, until this value is dropped.
pub(super) struct WaitingCount {
    client: Option<ClientKey>,
    clients: Clients,
}

impl Clients {
    pub(super) fn lock(&self) -> MutexGuard<'_, ClientTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection that has a place. A trusted proxy is not a client.
    pub(super) fn add_placed(&self, client: Option<ClientKey>, place: Place) -> PlacedConnection {
        self.register(client, place, false)
    }

    /// Adds a connection that has a place. If it waited for it, it no longer counts as waiting.
    fn register(
        &self,
        client: Option<ClientKey>,
        place: Place,
        was_waiting: bool,
    ) -> PlacedConnection {
        let activity = Arc::new(ConnectionActivity::new());
        if let Some(client) = client {
            let mut table = self.lock();
            let connections = table.connections.entry(client).or_default();
            connections.placed.push(Arc::clone(&activity));
            connections.waiting -= usize::from(was_waiting);
        }
        PlacedConnection {
            client,
            activity,
            clients: self.clone(),
            _place: place,
        }
    }

    /// Adds a connection that waits for a place.
    pub(super) fn add_waiting(&self, client: Option<ClientKey>) -> WaitingCount {
        if let Some(client) = client {
            self.lock().connections.entry(client).or_default().waiting += 1;
        }
        WaitingCount {
            client,
            clients: self.clone(),
        }
    }
}

impl ClientTable {
    /// Returns how many connections a client has, with those that wait.
    pub(super) fn count(&self, client: ClientKey) -> usize {
        let connections = self.connections.get(&client);
        connections.map_or(0, |it| it.placed.len() + it.waiting)
    }

    /// Returns how many connections of a client have a place.
    pub(super) fn placed_count(&self, client: ClientKey) -> usize {
        let connections = self.connections.get(&client);
        connections.map_or(0, |it| it.placed.len())
    }

    /// Returns how many connections of a client wait for a place.
    pub(super) fn waiting_count(&self, client: ClientKey) -> usize {
        let connections = self.connections.get(&client);
        connections.map_or(0, |it| it.waiting)
    }

    /// Returns the connections that have a place, of each client.
    pub(super) fn placed(&self) -> impl Iterator<Item = &Vec<Arc<ConnectionActivity>>> {
        self.connections.values().map(|it| &it.placed)
    }

    fn change(&mut self, client: ClientKey, change: impl FnOnce(&mut ClientConnections)) {
        if let Some(connections) = self.connections.get_mut(&client) {
            change(connections);
            if connections.placed.is_empty() && connections.waiting == 0 {
                self.connections.remove(&client);
            }
        }
    }
}

impl PlacedConnection {
    /// The activity of the connection, by which it is chosen to make room.
    pub(super) fn activity(&self) -> &Arc<ConnectionActivity> {
        &self.activity
    }
}

impl WaitingCount {
    /// Counts the connection as one that has a place.
    pub(super) fn into_placed(mut self, place: Place) -> PlacedConnection {
        self.clients.register(self.client.take(), place, true)
    }
}

impl Drop for PlacedConnection {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut table = self.clients.lock();
        if self.activity.is_evicted() {
            table.evicted_open -= 1;
        }
        table.change(client, |connections| {
            let is_other = |it: &Arc<ConnectionActivity>| !Arc::ptr_eq(it, &self.activity);
            connections.placed.retain(is_other);
        });
    }
}

impl Drop for WaitingCount {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut table = self.clients.lock();
        table.change(client, |connections| connections.waiting -= 1);
    }
}
