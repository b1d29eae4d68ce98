//! The places of connections, and those that wait for one.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use tokio::{
    sync::{Notify, oneshot},
    time::sleep,
};

use super::{
    super::{
        ClientKey,
        limits::{
            IDLE_EVICTION_BATCH, MAKE_ROOM_INTERVAL, RESERVE_DIVISOR, SHARE_DIVISOR,
            SLOW_EVICTION_BATCH,
        },
        warning_throttle::WarningThrottle,
    },
    activity::{Activity, Phase},
};
use crate::waitlist::locked;

/// Limits the open connections, and closes some of them when places become scarce.
///
/// A crowd behind one address opens as many connections as an attacker. So a client may take any number of places while more
/// than the reserve are free, and then only as many as its share.
pub(in crate::server) struct ConnectionLimit {
    count: usize,
    /// The number of places that only clients within their share may take.
    reserve: usize,
    /// The number of places that a client may have while they are scarce.
    share: usize,
    places: Mutex<Places>,
    /// Notified when a connection comes while places are scarce.
    scarcity: Notify,
    warning: WarningThrottle,
}

#[derive(Default)]
struct Places {
    free: usize,
    /// The connections that have a place, of each client that has one. A trusted proxy is not a client.
    clients: HashMap<ClientKey, Vec<Arc<Activity>>>,
    /// The connections that wait: first come, first served. Some may have given up.
    queue: VecDeque<(Option<ClientKey>, oneshot::Sender<Place>)>,
    /// The number of connections in the queue, of each client. Each search for connections to close corrects it.
    waiting: HashMap<Option<ClientKey>, usize>,
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
    pub(in crate::server) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self {
            count,
            reserve: count / RESERVE_DIVISOR,
            share: (count / SHARE_DIVISOR).max(1),
            places: Mutex::new(Places {
                free: count,
                ..Places::default()
            }),
            scarcity: Notify::new(),
            warning: WarningThrottle::default(),
        })
    }

    /// Waits until a connection may wait, if there are fewer places than shares. Then one browser is beyond its share, so
    /// nobody is rejected at once, and further connections stay in the kernel's queue.
    pub(super) async fn wait_for_room(&self) {
        while self.count < SHARE_DIVISOR && locked(&self.places).queue.len() >= self.count {
            sleep(MAKE_ROOM_INTERVAL).await;
        }
    }

    /// Requests a place for a connection. Dropping the receiver ends the wait. Returns `None` if too many wait already: as many
    /// as there are places, or all but the reserve of this client.
    pub(super) fn request(
        self: &Arc<Self>,
        client: Option<ClientKey>,
    ) -> Option<oneshot::Receiver<Place>> {
        let (grant, granted) = oneshot::channel();
        let mut places = locked(&self.places);
        if self.may_take(&places, client) {
            // The receiver is above.
            let _ = grant.send(self.take(&mut places, client));
        } else {
            let is_full = places.queue.len() >= self.count;
            let has_share = client.is_some() && self.count >= SHARE_DIVISOR;
            let of_client = places.waiting.entry(client).or_default();
            if is_full || has_share && *of_client >= self.count - self.reserve {
                return None;
            }
            *of_client += 1;
            places.queue.push_back((client, grant));
        }
        if places.free < self.reserve || !places.queue.is_empty() {
            self.scarcity.notify_one();
        }
        Some(granted)
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
            self.scarcity.notified().await;
            self.make_room();
            // Looking at all connections for each new one would itself make others wait.
            sleep(MAKE_ROOM_INTERVAL).await;
        }
    }

    /// Closes connections for those that wait and for the reserve:
    ///
    /// 1. those that have been idle for the longest time, at most [`IDLE_EVICTION_BATCH`] now;
    /// 2. slow ones of a client beyond its share: of the one with the most, so that an attacker does not hide behind a crowd.
    ///
    /// If there are too few, busy ones of clients beyond their share close after their next response. So a client whose
    /// connections are all busy does not keep the places, and loses no request. Slow and busy ones are at most
    /// [`SLOW_EVICTION_BATCH`] now.
    fn make_room(&self) {
        let mut guard = locked(&self.places);
        let places = &mut *guard;
        places.queue.retain(|(_, grant)| !grant.is_closed());
        places.waiting.clear();
        for (client, _) in &places.queue {
            *places.waiting.entry(*client).or_default() += 1;
        }
        let (mut idle, mut slow, mut closing) = (Vec::new(), Vec::new(), 0);
        for placed in places.clients.values() {
            let (mut slow_of_client, mut open) = (Vec::new(), placed.len());
            for activity in placed {
                let mut state = activity.lock();
                match state.phase() {
                    _ if state.closing.is_some() => {
                        open -= 1;
                        // Once more: its client may have become slow since then, and nothing else notices that.
                        state.evict();
                    }
                    Phase::Idle => idle.push((state.waiting_since, activity)),
                    Phase::Slow => slow_of_client.push(activity),
                    Phase::Busy => {}
                }
            }
            closing += placed.len() - open;
            slow_of_client.truncate(open.saturating_sub(self.share));
            if slow_of_client.len() > slow.len() {
                slow = slow_of_client;
            }
        }
        idle.sort_unstable_by_key(|(since, _)| *since);
        let missing = (self.reserve + places.queue.len()).saturating_sub(places.free + closing);
        // Slow and busy ones, which get a response.
        let batch = missing.saturating_sub(idle.len()).min(SLOW_EVICTION_BATCH);
        slow.truncate(batch);
        places.busy_to_close = batch - slow.len();
        if batch > 0 && self.warning.try_acquire() {
            tracing::warn!(
                "most of the {} places are taken, so clients with more than {} connections lose slow ones or wait; raise \
                 --max-connections, or if such a client is a proxy, add it to --trusted-proxies",
                self.count,
                self.share
            );
        }
        let idle = idle.iter().take(missing.min(IDLE_EVICTION_BATCH));
        idle.for_each(|(_, it)| it.lock().evict());
        slow.iter().for_each(|it| it.lock().evict());
        if !places.queue.is_empty() {
            self.scarcity.notify_one();
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
    pub(super) fn begin_response(&self) -> bool {
        let mut places = locked(&self.limit.places);
        let mut activity = self.activity.lock();
        activity.has_request = false;
        activity.is_form = false;
        let may_close = places.busy_to_close > 0 && activity.closing.is_none();
        let client = self.client.filter(|_| may_close);
        if client.is_some_and(|it| places.placed(it) > self.limit.share) {
            places.busy_to_close -= 1;
            activity.evict();
        }
        activity.closing.is_some() || activity.closes_after_response || activity.has_body
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = locked(&self.limit.places);
        places.free += 1;
        if let Some(client) = self.client
            && let Some(placed) = places.clients.get_mut(&client)
        {
            placed.retain(|it| !Arc::ptr_eq(it, &self.activity));
            if placed.is_empty() {
                places.clients.remove(&client);
            }
        }
        // One place is free, so one connection gets it: the first of all that wait, or of those within their share. Most are of
        // the same client, and some have given up.
        let mut rejected = None;
        let next = places.queue.iter().position(|(client, grant)| {
            let may_take = rejected != Some(*client) && self.limit.may_take(&places, *client);
            rejected = Some(*client).filter(|_| !may_take);
            may_take && !grant.is_closed()
        });
        let next = next.and_then(|next| places.queue.remove(next));
        let granted = next.map(|(client, grant)| (grant, self.limit.take(&mut places, client)));
        drop(places);
        // Without the lock, which a place takes that nobody wants any more.
        if let Some((grant, place)) = granted {
            let _ = grant.send(place);
        }
    }
}
