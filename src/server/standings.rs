//! The line in which people wait. It is read from the list when somebody asks for it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{Mutex, watch},
    task::spawn_blocking,
    time::{self, timeout_at},
};

use super::list_key::ListKeyCache;
use crate::waitlist::{Email, Selection, Standings, StoreError, Waitlist};

/// The line is read again after this time, or this many times the time that reading has taken, if that is longer.
const KEPT_TIME_MIN: Duration = Duration::from_secs(1);
const KEPT_TIME_FACTOR: u32 = 20;

/// Reads the line, and keeps it for a while.
pub(super) struct StandingsCache {
    list: Arc<dyn Waitlist>,
    key: Arc<ListKeyCache>,
    latest: watch::Sender<Option<Arc<Standings>>>,
    /// When to read it again. Locked while it is read.
    next_reading: Mutex<Instant>,
}

impl StandingsCache {
    pub(super) fn new(list: Arc<dyn Waitlist>, key: Arc<ListKeyCache>) -> Arc<Self> {
        Arc::new(Self {
            list,
            key,
            latest: watch::Sender::default(),
            next_reading: Mutex::new(Instant::now()),
        })
    }

    /// Returns the place of a person who is on the list, from 1, or `None` if the list cannot be read. A person who has joined
    /// after the last reading is the last one.
    pub(super) async fn place(
        self: &Arc<Self>,
        email: &Email,
        until: time::Instant,
    ) -> Option<u64> {
        // In a task, because a request that ends must not end the reading: the next one would begin another.
        let reading = tokio::spawn(Arc::clone(self).refresh());
        // After that time, an older line is better than none.
        let _ = timeout_at(until, reading).await;
        let latest = self.latest.borrow().clone()?;
        Some(latest.place(email).unwrap_or_else(|| self.list.count()))
    }

    async fn refresh(self: Arc<Self>) {
        let mut next_reading = self.next_reading.lock().await;
        let started = Instant::now();
        if started < *next_reading {
            return;
        }
        match self.read().await {
            Ok(standings) => drop(self.latest.send_replace(Some(Arc::new(standings)))),
            Err(error) => tracing::warn!("cannot read the line in which people wait: {error}"),
        }
        let kept_time = KEPT_TIME_MIN.max(started.elapsed() * KEPT_TIME_FACTOR);
        *next_reading = Instant::now() + kept_time;
    }

    async fn read(&self) -> Result<Standings, StoreError> {
        let (list, key) = (Arc::clone(&self.list), self.key.get().await?);
        let read = move || Standings::read(key, list.entries(Selection::default())?);
        let read = spawn_blocking(read).await;
        read.map_err(|_| StoreError::Unreadable)?
    }
}
