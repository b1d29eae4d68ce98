//! The task: sends one event after another, in order.
//!
//! After a failure, all events wait, each time longer. Then the next one may be of somebody else: the person whose event has
//! failed waits longer the older that event is. So events of a person stay in order, and one that the receiver cannot handle
//! does not stop the others. Nothing is stored about attempts.

use std::{
    collections::HashMap,
    time::{Duration, Instant, SystemTime},
};

use hyper::{Response, StatusCode, header};
use tokio::time::sleep;

use super::sender::WebhookSender;
use crate::{
    server::warning_throttle::WarningThrottle,
    waitlist::{EVENT_LEASE, Event, StoreError, Waitlist},
};

/// Time after which the task asks for the events again, to keep the lease. A request that begins before ends before the
/// lease does.
const LEASE_RENEWAL: Duration = Duration::from_secs(EVENT_LEASE.as_secs() / 3);
/// Pause after the store has failed.
const STORE_PAUSE: Duration = Duration::from_secs(5);
/// A time is long ago after this number of the longest pauses: an hour.
const LONG_AGO_PAUSES: u32 = 6;

/// Sends the events of a list. Ends when the list no longer records them.
pub async fn run_webhook(sender: &WebhookSender, list: &dyn Waitlist) {
    let mut task = Task {
        sender,
        list,
        waiting: HashMap::new(),
        failing_since: None,
        is_reported: false,
        reported_at: None,
        paused_until: Instant::now(),
        given_up: 0,
    };
    let warning = WarningThrottle::default();
    loop {
        let pause = match task.send_pending().await {
            Ok(false) => return,
            Ok(true) => task.pause_left().min(LEASE_RENEWAL),
            Err(error) => {
                if warning.try_acquire() {
                    tracing::warn!("the webhook waits for the list: {error}");
                }
                STORE_PAUSE
            }
        };
        if task.given_up > 0 {
            tracing::warn!(
                "the webhook gave up {} events, which its endpoint has not accepted for three days",
                std::mem::take(&mut task.given_up)
            );
        }
        sleep(pause.max(sender.times.poll_interval)).await;
    }
}

struct Task<'a> {
    sender: &'a WebhookSender,
    list: &'a dyn Waitlist,
    /// Until when the events of a person wait, by the key of the address.
    waiting: HashMap<String, Instant>,
    /// Since when no event was accepted.
    failing_since: Option<Instant>,
    /// Whether that was reported, and when it or an earlier failure was.
    is_reported: bool,
    reported_at: Option<Instant>,
    /// Until when all events wait.
    paused_until: Instant,
    /// Events that were given up since the last warning.
    given_up: u64,
}

impl Task<'_> {
    /// Sends the events that wait, until one fails. Returns whether others may follow.
    async fn send_pending(&mut self) -> Result<bool, StoreError> {
        // An event whose person waits until later than this must not be overtaken by the next one.
        let begun_at = Instant::now();
        let mut last = 0;
        loop {
            let asked_at = Instant::now();
            let Some(events) = self.list.events_after(last).await? else {
                tracing::warn!(
                    "the webhook stops: its endpoint is gone, or another server runs without --webhook"
                );
                return Ok(false);
            };
            if events.is_empty() {
                return Ok(true);
            }
            for (number, event) in events {
                if !self.pause_left().is_zero() {
                    return Ok(true);
                }
                if asked_at.elapsed() > LEASE_RENEWAL {
                    break;
                }
                last = number;
                let until = self.waiting.get(&event.email.key());
                if until.is_none_or(|until| *until <= begun_at) {
                    self.send(number, &event).await?;
                }
            }
        }
    }

    /// Sends an event, and removes it from the list if the endpoint has accepted it, or has not for too long.
    async fn send(&mut self, number: u64, event: &Event) -> Result<(), StoreError> {
        let age = SystemTime::now().duration_since(event.at);
        let (age, key) = (age.unwrap_or_default(), event.email.key());
        let is_old = age > self.sender.times.max_age;
        // No server may have run for days, so an old event that has not failed yet is tried, unless nothing works for long.
        let has_failed = self.waiting.contains_key(&key);
        let is_hopeless = self.failing_since.is_some_and(|it| self.is_long_ago(it));
        let is_tried = !(is_old && is_hopeless);
        let is_accepted = is_tried && self.attempt(event, age).await?;
        if is_accepted || is_old && (has_failed || is_hopeless) {
            self.given_up += u64::from(!is_accepted);
            self.waiting.remove(&key);
            self.list.finish_events(vec![number]).await?;
        }
        Ok(())
    }

    /// Sends an event. Returns whether the endpoint has accepted it. Otherwise all events wait.
    async fn attempt(&mut self, event: &Event, age: Duration) -> Result<bool, StoreError> {
        let response = self.sender.send(event).await;
        let status = response.as_ref().map(Response::status);
        let reason = match status {
            Ok(status) if status.is_success() => {
                self.note_success();
                return Ok(true);
            }
            Ok(status) => format!("it replies {status}"),
            Err(error) => error.to_string(),
        };
        if matches!(status, Ok(StatusCode::GONE)) {
            self.list.record_events(false).await?;
        }
        self.note_failure(&reason);
        let (now, times) = (Instant::now(), self.sender.times);
        let pause = |time: Duration| (time / 2).clamp(times.shortest_pause, times.longest_pause);
        let failing_since = *self.failing_since.get_or_insert(now);
        let asked = response.map_or(Duration::ZERO, |it| retry_after(&it));
        let asked = asked.min(times.longest_pause);
        self.paused_until = now + pause(now - failing_since).max(asked);
        self.waiting.insert(event.email.key(), now + pause(age));
        Ok(false)
    }

    fn note_success(&mut self) {
        self.failing_since = None;
        if std::mem::take(&mut self.is_reported) {
            tracing::info!("the webhook works again");
        }
    }

    /// Reports a failure once, and the next one an hour later at the earliest: a single event may fail again and again, and
    /// others be accepted in between.
    fn note_failure(&mut self, reason: &str) {
        if !self.is_reported && self.reported_at.is_none_or(|it| self.is_long_ago(it)) {
            (self.is_reported, self.reported_at) = (true, Some(Instant::now()));
            tracing::warn!(
                "the webhook fails: {reason}; events are sent again for three days, with growing pauses; `landing check` \
                 counts those that wait"
            );
        }
    }

    /// Returns whether a time is an hour ago: several of the longest pauses.
    fn is_long_ago(&self, time: Instant) -> bool {
        time.elapsed() > self.sender.times.longest_pause * LONG_AGO_PAUSES
    }

    /// Returns how long all events wait from now on.
    fn pause_left(&self) -> Duration {
        self.paused_until.saturating_duration_since(Instant::now())
    }
}

/// Returns how long the endpoint asks to wait, in seconds. It may be a date instead, which is ignored.
fn retry_after<B>(response: &Response<B>) -> Duration {
    let header = response.headers().get(header::RETRY_AFTER);
    let seconds = header.and_then(|it| it.to_str().ok()?.trim().parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}
