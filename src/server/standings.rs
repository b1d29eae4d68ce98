//! The line in which people wait. It is read from the list when somebody asks for it.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{sync::watch, task::spawn_blocking, time::timeout};

use super::list_key::ListKeyCache;
use crate::waitlist::{
    Email, ListKey, Selection, Standings, StandingsReader, StoreError, Waitlist,
};

/// Longest time that a request waits for the line to be read.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// The line is read again after this time, or this many times the time that reading has taken, if that is longer.
const KEPT_TIME_MIN: Duration = Duration::from_secs(1);
const KEPT_TIME_FACTOR: u32 = 20;

/// Reads the line, and keeps it for a while.
pub(super) struct StandingsCache {
    list: Arc<dyn Waitlist>,
    key: Arc<ListKeyCache>,
    latest: watch::Sender<Reading>,
    /// Locked while the line is read.
    reader: Arc<Mutex<()>>,
}

/// The last reading.
struct Reading {
    /// `None` before the line was read.
    standings: Option<Arc<Standings>>,
    /// When the line is read again.
    kept_until: Instant,
}

impl Reading {
    fn is_fresh(&self) -> bool {
        Instant::now() < self.kept_until
    }
}

impl StandingsCache {
    pub(super) fn new(list: Arc<dyn Waitlist>, key: Arc<ListKeyCache>) -> Self {
        let nothing = Reading {
            standings: None,
            kept_until: Instant::now(),
        };
        Self {
            list,
            key,
            latest: watch::Sender::new(nothing),
            reader: Arc::default(),
        }
    }

    /// Returns the place of a person who is on the list, from 1, or `None` if the list cannot be read. A person who has joined
    /// since then comes last.
    pub(super) async fn place(&self, email: &Email) -> Option<u64> {
        let mut latest = self.latest.subscribe();
        if !latest.borrow().is_fresh() {
            self.start_to_read(self.key.get().await.ok()?);
        }
        // After that time, an older line is better than none.
        let _ = timeout(READ_TIMEOUT, latest.wait_for(Reading::is_fresh)).await;
        let standings = latest.borrow().standings.clone()?;
        Some(standings.place(email).unwrap_or_else(|| self.list.count()))
    }

    /// Reads the line, unless another request has begun to.
    fn start_to_read(&self, key: ListKey) {
        let (list, latest) = (Arc::clone(&self.list), self.latest.clone());
        let reader = Arc::clone(&self.reader);
        spawn_blocking(move || {
            let Ok(_guard) = reader.try_lock() else {
                return;
            };
            // Another request may have read it a moment ago.
            if latest.borrow().is_fresh() {
                return;
            }
            let started = Instant::now();
            let read = read(&*list, key);
            let kept_time = KEPT_TIME_MIN.max(started.elapsed() * KEPT_TIME_FACTOR);
            latest.send_modify(|latest| {
                latest.kept_until = Instant::now() + kept_time;
                match read {
                    Ok(standings) => latest.standings = Some(Arc::new(standings)),
                    Err(error) => {
                        tracing::warn!("cannot read the line of the people who wait: {error}")
                    }
                }
            });
        });
    }
}

fn read(list: &dyn Waitlist, key: ListKey) -> Result<Standings, StoreError> {
    let mut reader = StandingsReader::new(key);
    for entry in list.entries(Selection::default())? {
        reader.add(&entry?);
    }
    Ok(reader.finish())
}
