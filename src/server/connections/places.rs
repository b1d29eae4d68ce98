//! The places of connections: who gets a free one, and who waits.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

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
type Queue = BTreeMap<u64, oneshot::Sender<()>>;

/// Whether a client is within its share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Standing {
    WithinShare,
    BeyondShare,
}

/// A place for one connection. Dropping it frees the place.
pub(super) struct Place(Arc<Places>);

/// Waits for a place.
pub(super) struct PlaceRequest {
    places: Arc<Places>,
    standing: Standing,
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

    /// Takes a place, if one is free for a client of this standing.
    pub(super) fn try_take(self: &Arc<Self>, standing: Standing) -> Option<Place> {
        let mut state = self.lock();
        let kept = match standing {
            Standing::WithinShare => 0,
            Standing::BeyondShare => self.reserve,
        };
        // Nobody waits for these: those who wait get places as soon as they are free.
        let is_free = state.free > kept;
        state.free -= usize::from(is_free);
        is_free.then(|| Place(Arc::clone(self)))
    }

    /// Queues a request for a place.
    pub(super) fn request(self: &Arc<Self>, standing: Standing) -> PlaceRequest {
        let (grant, granted) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number += 1;
        state.queue(standing).insert(number, grant);
        // A place may have become free since the last attempt.
        state.grant(self.reserve);
        PlaceRequest {
            places: Arc::clone(self),
            standing,
            number,
            granted,
        }
    }

    /// Returns the number of places to free for the requests that wait and for the reserve.
    pub(super) fn shortage(&self) -> usize {
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
    fn queue(&mut self, standing: Standing) -> &mut Queue {
        match standing {
            Standing::WithinShare => &mut self.within_share,
            Standing::BeyondShare => &mut self.beyond_share,
        }
    }

    /// Grants free places to the requests that wait, the oldest first.
    fn grant(&mut self, reserve: usize) {
        while self.free > 0 {
            let next = match self.within_share.pop_first() {
                None if self.free > reserve => self.beyond_share.pop_first(),
                next => next,
            };
            let Some((_, grant)) = next else { return };
            // It fails if the request is being dropped.
            if grant.send(()).is_ok() {
                self.free -= 1;
            }
        }
    }
}

impl PlaceRequest {
    /// Waits until the request is granted.
    pub(super) async fn place(mut self) -> Option<Place> {
        let granted = (&mut self.granted).await;
        granted.ok().map(|()| Place(Arc::clone(&self.places)))
    }
}

impl Drop for PlaceRequest {
    fn drop(&mut self) {
        self.places.lock().queue(self.standing).remove(&self.number);
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
