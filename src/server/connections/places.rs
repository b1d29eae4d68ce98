//! The places of connections, and the queue of those that wait for one.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::super::ClientKey;

/// The places of connections. A client beyond its share gets one only while more than the reserve are free, so the
/// others never wait behind it.
pub(super) struct Places {
    reserve: usize,
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// The number of the next request that waits.
    next_number: u64,
    within_share: Queue,
    beyond_share: Queue,
}

/// The requests that wait, by their numbers. Each leaves the queue when it is granted or dropped.
type Queue = BTreeMap<u64, QueuedRequest>;

struct QueuedRequest {
    /// A trusted proxy has none.
    client: Option<ClientKey>,
    grant: oneshot::Sender<()>,
}

/// Whether a client is within its share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ShareStatus {
    Within,
    Exceeded,
}

/// A place for one connection. Dropping it frees the place.
pub(super) struct Place(Arc<Places>);

/// Waits for a place.
pub(super) struct PlaceRequest {
    places: Arc<Places>,
    number: u64,
    granted: oneshot::Receiver<()>,
}

impl Places {
    pub(super) fn new(count: usize, reserve: usize) -> Arc<Self> {
        Arc::new(Self {
            reserve,
            state: Mutex::new(State {
                free: count,
                next_number: 0,
                within_share: Queue::new(),
                beyond_share: Queue::new(),
            }),
        })
    }

    /// Takes a place, if one is free for a client of this status.
    pub(super) fn try_take(self: &Arc<Self>, share_status: ShareStatus) -> Option<Place> {
        let mut state = self.lock();
        let kept = match share_status {
            ShareStatus::Within => 0,
            ShareStatus::Exceeded => self.reserve,
        };
        // Nobody waits for these: those who wait get places as soon as they are free.
        let is_free = state.free > kept;
        state.free -= usize::from(is_free);
        is_free.then(|| Place(Arc::clone(self)))
    }

    /// Queues a request of a client for a place.
    pub(super) fn request(
        self: &Arc<Self>,
        share_status: ShareStatus,
        client: Option<ClientKey>,
    ) -> PlaceRequest {
        let (grant, granted) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number += 1;
        let request = QueuedRequest { client, grant };
        state.queue(share_status).insert(number, request);
        // A place may have become free since the last attempt.
        state.grant(self.reserve);
        PlaceRequest {
            places: Arc::clone(self),
            number,
            granted,
        }
    }

    /// Moves requests to the queue of clients within their share, once enough connections of their client have closed. `placed`
    /// returns how many connections of a client have a place.
    pub(super) fn promote(&self, share: usize, placed: impl Fn(ClientKey) -> usize) {
        let mut state = self.lock();
        let State {
            within_share,
            beyond_share,
            ..
        } = &mut *state;
        let mut counts = HashMap::new();
        for client in within_share.values().filter_map(|it| it.client) {
            *counts.entry(client).or_insert_with(|| placed(client)) += 1;
        }
        let promoted = beyond_share.extract_if(.., |_, request| {
            request.client.is_some_and(|client| {
                let count = counts.entry(client).or_insert_with(|| placed(client));
                let is_within = *count < share;
                *count += usize::from(is_within);
                is_within
            })
        });
        within_share.extend(promoted);
        state.grant(self.reserve);
    }

    /// Returns the number of places to free for the requests that wait and for the reserve.
    pub(super) fn places_to_free(&self) -> usize {
        let state = self.lock();
        let wanted = self.reserve + state.within_share.len() + state.beyond_share.len();
        wanted.saturating_sub(state.free)
    }

    /// Returns whether requests wait.
    pub(super) fn has_requests(&self) -> bool {
        let state = self.lock();
        !state.within_share.is_empty() || !state.beyond_share.is_empty()
    }

    /// Returns whether requests of clients within their share wait: all places are taken.
    pub(super) fn has_requests_within_share(&self) -> bool {
        !self.lock().within_share.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn queue(&mut self, share_status: ShareStatus) -> &mut Queue {
        match share_status {
            ShareStatus::Within => &mut self.within_share,
            ShareStatus::Exceeded => &mut self.beyond_share,
        }
    }

    /// Grants free places to the requests that wait, the oldest first.
    fn grant(&mut self, reserve: usize) {
        while self.free > 0 {
            let next = match self.within_share.pop_first() {
                None if self.free > reserve => self.beyond_share.pop_first(),
                next => next,
            };
            let Some((_, request)) = next else { return };
            // It fails if the request is being dropped.
            if request.grant.send(()).is_ok() {
                self.free -= 1;
            }
        }
    }
}

impl PlaceRequest {
    /// Waits until the request is granted.
    pub(super) async fn wait_for_place(mut self) -> Option<Place> {
        let granted = (&mut self.granted).await;
        granted.ok().map(|()| Place(Arc::clone(&self.places)))
    }
}

impl Drop for PlaceRequest {
    fn drop(&mut self) {
        {
            let mut state = self.places.lock();
            state.within_share.remove(&self.number);
            state.beyond_share.remove(&self.number);
        }
        self.granted.close();
        // It was granted, and nobody has taken the place.
        if self.granted.try_recv().is_ok() {
            drop(Place(Arc::clone(&self.places)));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.free += 1;
        state.grant(self.0.reserve);
    }
}
