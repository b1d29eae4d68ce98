//! The number of people that the page shows: all on the list, or those who have confirmed their address
//! (`--count-confirmed`).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{Notify, watch},
    task::spawn_blocking,
    time::sleep,
};

use crate::waitlist::{Selection, StoreError, Waitlist};

/// Minimum time between two counts of those who have confirmed. A count reads the whole list.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);
/// The counts take at most this share of the time.
const COUNT_SHARE: u32 = 20;
/// Time after which the people are counted again, because another instance may have confirmed some.
const COUNT_MAX_AGE: Duration = Duration::from_secs(60);

/// The number of people that the page shows.
pub(super) struct ShownCount {
    list: Arc<dyn Waitlist>,
    /// `None` if all people are counted.
    confirmed: Option<Confirmed>,
}

/// The number of people who have confirmed their address, as it was a moment ago.
struct Confirmed {
    count: watch::Sender<u64>,
    changed: Notify,
}

impl ShownCount {
    /// Counts all people, or those who have confirmed. That reads the list.
    pub(super) fn new(list: Arc<dyn Waitlist>, is_confirmed: bool) -> Self {
        let confirmed = is_confirmed.then(|| Confirmed {
            count: watch::Sender::new(count_confirmed(&*list).unwrap_or_default()),
            changed: Notify::new(),
        });
        Self { list, confirmed }
    }

    pub(super) fn get(&self) -> u64 {
        match &self.confirmed {
            Some(confirmed) => *confirmed.count.borrow(),
            None => self.list.count(),
        }
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        match &self.confirmed {
            Some(confirmed) => confirmed.count.subscribe(),
            None => self.list.watch_count(),
        }
    }

    /// Notes that a person has confirmed.
    pub(super) fn note_confirmation(&self) {
        if let Some(confirmed) = &self.confirmed {
            confirmed.changed.notify_one();
        }
    }

    /// Counts those who have confirmed whenever that may have changed.
    pub(super) async fn keep_fresh(&self) {
        let Some(confirmed) = &self.confirmed else {
            return;
        };
        let mut changes = self.list.watch_count();
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return;
                },
                () = confirmed.changed.notified() => {}
                () = sleep(COUNT_MAX_AGE) => {}
            }
            changes.mark_unchanged();
            let (started, list) = (Instant::now(), Arc::clone(&self.list));
            match spawn_blocking(move || count_confirmed(&*list)).await {
                Ok(Ok(count)) => drop(confirmed.count.send_replace(count)),
                Ok(Err(error)) => tracing::warn!("cannot count who has confirmed: {error}"),
                Err(_) => return,
            }
            sleep(COUNT_INTERVAL.max(started.elapsed() * COUNT_SHARE)).await;
        }
    }
}

fn count_confirmed(list: &dyn Waitlist) -> Result<u64, StoreError> {
    let selection = Selection {
        confirmed: Some(true),
        ..Selection::default()
    };
    Ok(list.entries(selection)?.selected_count())
}
