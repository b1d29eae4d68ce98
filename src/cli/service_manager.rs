//! Notifications to the service manager: `Type=notify` and `WatchdogSec=` of systemd. The watchdog also runs without one.

use std::{sync::Arc, time::Duration};

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::waitlist::{StoreError, Waitlist};

/// Pause between two checks of the store without a watchdog.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Pause before the next readiness check of a store that did not respond.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Sends a notification. Does nothing without a service manager.
pub(super) fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(
            "cannot notify the service manager: {error}; check that the unit has Type=notify"
        );
    }
}

/// Checks the store until the handle is dropped, twice per watchdog timeout (`WATCHDOG_USEC`), and sends a keep-alive
/// after each response. If the store hangs, they stop, and the service manager restarts the process. A store whose files
/// were removed ends the process, also if nobody signs up. Needs a runtime.
pub(super) fn start_watchdog(list: Arc<dyn Waitlist>) -> AbortOnDropHandle<()> {
    let timeout = sd_notify::watchdog_enabled().filter(|timeout| !timeout.is_zero());
    let check_interval = timeout.map_or(CHECK_INTERVAL, |timeout| timeout / 2);
    AbortOnDropHandle::new(tokio::spawn(send_keep_alives(list, check_interval)))
}

async fn send_keep_alives(list: Arc<dyn Waitlist>, keep_alive_interval: Duration) {
    let mut ticks = interval(keep_alive_interval.max(RETRY_INTERVAL));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        wait_for_response(&*list).await;
        notify(NotifyState::Watchdog);
    }
}

/// Waits until the store responds to a readiness check. A timeout is not a response. A full queue is not one either,
/// because a store that hangs fills its queue. Any other error is a response: during an outage of the database, for
/// example, a restart would not help.
async fn wait_for_response(list: &dyn Waitlist) {
    while let Err(StoreError::TimedOut | StoreError::Busy) = list.ready().await {
        sleep(RETRY_INTERVAL).await;
    }
}
