//! The places of connections, and those that wait for one.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::{Notify, oneshot},
    time::sleep,
};

use super::{
    super::{
        ClientKey,
        limits::{EVICTION_BATCH, MAKE_ROOM_INTERVAL, RESERVE_DIVISOR, SHARE_DIVISOR},
        warning_throttle::WarningThrottle,
    },
    activity::{Activity, Phase},
};

/// Limits the open connections, and closes some of them when places become scarce.
///
/// A crowd behind one address opens as many connections as an attacker. So a client may take any number of places while more
/// than the reserve are free, and then only as many as its share.
pub(super) struct ConnectionLimit {
    count: usize,
    /// The number of places that only clients within their share may take.
    reserve: usize,
    /// The number of places that a client may have while they are scarce.
    share: usize,
    places: Mutex<Places>,
    /// Notified when a connection comes while places are scarce.
    is_scarce: Notify,
    full_warning: WarningThrottle,
    share_warning: WarningThrottle,
}

struct Places {
    free: usize,
    /// The connections that have a place, of each client that has one. A trusted proxy is no client.
    clients: HashMap<ClientKey, Vec<Arc<Activity>>>,
    /// The connections that wait: first come, first served. Some may have given up.
    queue: VecDeque<(Option<ClientKey>, oneshot::Sender<Place>)>,
    /// The number of busy connections that must close for others.
    busy_to_close: usize,
}

/// The place of a connection. Dropping it lets another connection have it.
pub(super) struct Place {
    limit: Arc<ConnectionLimit>,
    client: Option<ClientKey>,
    pub(super) activity: Arc<Activity>,
}

impl ConnectionLimit {
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self {
            count,
            reserve: count / RESERVE_DIVISOR,
            share: (count / SHARE_DIVISOR).max(1),
            places: Mutex::new(Places {
                free: count,
                clients: HashMap::new(),
                queue: VecDeque::new(),
                busy_to_close: 0,
            }),
            is_scarce: Notify::new(),
            full_warning: WarningThrottle::default(),
            share_warning: WarningThrottle::default(),
        })
    }

    /// Requests a place for a connection. Dropping the receiver ends the wait. Returns `None` if too many wait already: as many
    /// as there are places, or all but the reserve of this client.
    pub(super) fn request(
        self: &Arc<Self>,
        client: Option<ClientKey>,
    ) -> Option<oneshot::Receiver<Place>> {
        let (grant, granted) = oneshot::channel();
        let mut places = self.lock();
        if self.may_take(&places, client) {
            // The receiver is above.
            let _ = grant.send(self.take(&mut places, client));
        } else {
            places.queue.retain(|(_, grant)| !grant.is_closed());
            let of_client = places.queue.iter().filter(|(it, _)| *it == client);
            let is_client_full = client.is_some() && of_client.count() >= self.count - self.reserve;
            if is_client_full || places.queue.len() >= self.count {
                return None;
            }
            places.queue.push_back((client, grant));
            if places.free == 0 && self.full_warning.try_acquire() {
                tracing::warn!(
                    "all {} connections are in use, so new clients wait; raise --max-connections",
                    self.count
                );
            }
        }
        if places.free < self.reserve || !places.queue.is_empty() {
            self.is_scarce.notify_one();
        }
        Some(granted)
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_take(&self, places: &Places, client: Option<ClientKey>) -> bool {
        let is_within_share = client.is_none_or(|client| places.placed(client) < self.share);
        places.free > if is_within_share { 0 } else { self.reserve }
    }

    fn take(self: &Arc<Self>, places: &mut Places, client: Option<ClientKey>) -> Place {
        let activity = Arc::new(Activity::new());
        places.free -= 1;
        if let Some(client) = client {
            let placed = places.clients.entry(client).or_default();
            placed.push(Arc::clone(&activity));
        }
        Place {
            limit: Arc::clone(self),
            client,
            activity,
        }
    }

    /// Makes room whenever places are scarce.
    pub(super) async fn keep_making_room(&self) {
        loop {
            self.is_scarce.notified().await;
            self.make_room();
            // Looking at all connections for each new one would itself make others wait.
            sleep(MAKE_ROOM_INTERVAL).await;
        }
    }

    /// Closes connections for those that wait and for the reserve, at most [`EVICTION_BATCH`] now:
    ///
    /// 1. those that have been idle for the longest time;
    /// 2. slow ones of a client beyond its share: of the one with the most, so that an attacker does not hide behind a crowd.
    ///
    /// If there are too few, busy ones of clients beyond their share close after their next response. So a client whose
    /// connections are all busy does not keep the places, and loses no request.
    fn make_room(&self) {
        let mut places = self.lock();
        places.queue.retain(|(_, grant)| !grant.is_closed());
        let (mut idle, mut slow, mut closing) = (Vec::new(), Vec::new(), 0);
        for placed in places.clients.values() {
            let mut slow_of_client = Vec::new();
            for activity in placed {
                let state = activity.lock();
                match state.phase() {
                    _ if state.is_evicted => closing += 1,
                    Phase::Idle => idle.push((state.waiting_since, activity)),
                    Phase::Slow => slow_of_client.push(activity),
                    Phase::Busy => {}
                }
            }
            slow_of_client.truncate(placed.len().saturating_sub(self.share));
            if slow_of_client.len() > slow.len() {
                slow = slow_of_client;
            }
        }
        idle.sort_unstable_by_key(|(since, _)| *since);
        let missing = (self.reserve + places.queue.len()).saturating_sub(places.free + closing);
        let batch = missing.min(EVICTION_BATCH);
        let busy_to_close = batch.saturating_sub(idle.len() + slow.len());
        if batch > idle.len() && !slow.is_empty() && self.share_warning.try_acquire() {
            tracing::warn!(
                "closed slow connections of a client that has more than {}, because most of the places are taken; if it is \
                 a proxy, add it to --trusted-proxies",
                self.share
            );
        }
        let idle = idle.into_iter().map(|(_, activity)| activity);
        idle.chain(slow)
            .take(batch)
            .for_each(|it| it.lock().evict());
        places.busy_to_close = busy_to_close;
        if !places.queue.is_empty() {
            self.is_scarce.notify_one();
        }
    }
}

impl Places {
    fn placed(&self, client: ClientKey) -> usize {
        self.clients.get(&client).map_or(0, Vec::len)
    }
}

impl Place {
    pub(super) fn is_proxy(&self) -> bool {
        self.client.is_none()
    }

    /// Notes that the response to a request begins. Returns whether it is the last one of its connection.
    pub(super) fn finish_request(&self) -> bool {
        let mut places = self.limit.lock();
        let placed = self.client.map_or(0, |client| places.placed(client));
        let mut activity = self.activity.lock();
        activity.has_request = false;
        if places.busy_to_close > 0 && placed > self.limit.share && !activity.is_evicted {
            places.busy_to_close -= 1;
            activity.is_evicted = true;
        }
        activity.is_evicted || activity.closes_after_response
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut granted = Vec::new();
        let mut places = self.limit.lock();
        places.free += 1;
        if let Some(client) = self.client
            && let Some(placed) = places.clients.get_mut(&client)
        {
            placed.retain(|it| !Arc::ptr_eq(it, &self.activity));
            if placed.is_empty() {
                places.clients.remove(&client);
            }
        }
        // The first of all that wait, or of those within their share. Some have given up.
        let limit = &self.limit;
        while let Some(next) = places
            .queue
            .iter()
            .position(|(client, grant)| !grant.is_closed() && limit.may_take(&places, *client))
            && let Some((client, grant)) = places.queue.remove(next)
        {
            granted.push((grant, self.limit.take(&mut places, client)));
        }
        drop(places);
        // Without the lock, which a place takes that nobody wants any more.
        for (grant, place) in granted {
            let _ = grant.send(place);
        }
    }
}
