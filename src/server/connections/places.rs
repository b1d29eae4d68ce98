//! The places of connections: who gets a free one, and who waits.

use std::{
    collections::VecDeque,
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
    /// Those who wait, by their standing. Each queue is served in order.
    within_share: VecDeque<oneshot::Sender<()>>,
    beyond_share: VecDeque<oneshot::Sender<()>>,
}

/// How many connections a client has.
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
    granted: oneshot::Receiver<()>,
}

impl Places {
    pub(super) fn new(count: usize, reserve: usize) -> Arc<Self> {
        Arc::new(Self {
            reserve,
            state: Mutex::new(State {
                free: count,
                within_share: VecDeque::new(),
                beyond_share: VecDeque::new(),
            }),
        })
    }

    /// Asks for a place. The request is already granted if a place is free.
    pub(super) fn request(self: &Arc<Self>, standing: Standing) -> PlaceRequest {
        let (grant, granted) = oneshot::channel();
        let mut state = self.lock();
        match standing {
            Standing::WithinShare => state.within_share.push_back(grant),
            Standing::BeyondShare => state.beyond_share.push_back(grant),
        }
        state.grant(self.reserve);
        PlaceRequest {
            places: Arc::clone(self),
            granted,
        }
    }

    /// Returns how many places must become free, so that the reserve is free and nobody waits.
    pub(super) fn missing(&self) -> usize {
        let state = self.lock();
        let wanted = self.reserve + state.within_share.len() + state.beyond_share.len();
        wanted.saturating_sub(state.free)
    }

    /// Returns whether somebody waits.
    pub(super) fn are_wanted(&self) -> bool {
        let state = self.lock();
        !state.within_share.is_empty() || !state.beyond_share.is_empty()
    }

    /// Returns whether clients wait that are within their share: all places are taken.
    pub(super) fn are_taken(&self) -> bool {
        !self.lock().within_share.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Grants free places to those who wait.
    fn grant(&mut self, reserve: usize) {
        while self.free > 0 {
            let next = match self.within_share.pop_front() {
                None if self.free > reserve => self.beyond_share.pop_front(),
                next => next,
            };
            let Some(next) = next else { return };
            // It fails if the other side has given up.
            if next.send(()).is_ok() {
                self.free -= 1;
            }
        }
    }
}

impl PlaceRequest {
    /// Returns the place if the request is granted.
    pub(super) fn try_place(mut self) -> Result<Place, Self> {
        match self.granted.try_recv() {
            Ok(()) => Ok(self.take()),
            Err(_) => Err(self),
        }
    }

    /// Waits until the request is granted.
    pub(super) async fn place(mut self) -> Option<Place> {
        (&mut self.granted).await.ok().map(|()| self.take())
    }

    fn take(self) -> Place {
        Place(Arc::clone(&self.places))
    }
}

impl Drop for PlaceRequest {
    fn drop(&mut self) {
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
