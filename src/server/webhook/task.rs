//! The task: sends one event after another, in rounds. A round reaches each event once, in their order.
//!
//! After a failure, all events wait, each time longer. Then the round goes on with the next one, and leaves out the person
//! whose event has failed: that person waits longer the older the event is. So the events of a person stay in order, and
//! those that the receiver cannot handle do not stop the others. Nothing is stored about attempts.

use std::{
    collections::HashMap,
    time::{Duration, Instant, SystemTime},
};

use hyper::StatusCode;
use tokio::time::sleep;

use super::sender::WebhookSender;
use crate::{
    server::warning_throttle::WarningThrottle,
    waitlist::{EVENT_LEASE, Event, StoreError, Waitlist},
};

/// Time after which the task asks for the events again, to keep the lease. A request that begins earlier ends before the
/// lease.
const LEASE_RENEWAL: Duration = Duration::from_secs(EVENT_LEASE.as_secs() / 3);
/// Pause after the store has failed.
const STORE_PAUSE: Duration = Duration::from_secs(5);

/// Sends the events of a list, while it records them.
pub async fn run_webhook(sender: &WebhookSender, list: &dyn Waitlist) {
    let mut task = Task {
        sender,
        list,
        round_begun: Instant::now(),
        last: 0,
        failed: HashMap::new(),
        failing_since: None,
        is_reported: false,
        was_any_reported: false,
        paused_until: Instant::now(),
        is_stopped: false,
        given_up: 0,
    };
    let warning = WarningThrottle::default();
    loop {
        let pause = match task.send_pending().await {
            Ok(()) => task.pause_left().min(LEASE_RENEWAL),
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
    /// When the round began.
    round_begun: Instant,
    /// The last event that it has reached.
    last: u64,
    /// Until when the people wait whose event has failed, by the key of the address.
    failed: HashMap<String, Instant>,
    /// Since when no event was accepted.
    failing_since: Option<Instant>,
    /// Whether this failure was reported.
    is_reported: bool,
    /// Whether any failure was reported.
    was_any_reported: bool,
    /// Until when all events wait.
    paused_until: Instant,
    /// Whether the list records no events.
    is_stopped: bool,
    /// Events that were given up since the last warning.
    given_up: u64,
}

impl Task<'_> {
    /// Goes on with the round until an event fails, or the round ends.
    async fn send_pending(&mut self) -> Result<(), StoreError> {
        loop {
            let read_at = Instant::now();
            let Some(events) = self.list.events_after(self.last).await? else {
                if !std::mem::replace(&mut self.is_stopped, true) {
                    tracing::warn!(
                        "the webhook stops until a server starts with one, and its events were dropped: its endpoint \
                         replied 410 Gone, or a server runs without --webhook"
                    );
                }
                self.paused_until = Instant::now() + self.sender.times.longest_pause_for_all;
                return Ok(());
            };
            self.is_stopped = false;
            if events.is_empty() {
                (self.last, self.round_begun) = (0, Instant::now());
                return Ok(());
            }
            for (number, event) in events {
                if !self.pause_left().is_zero() {
                    return Ok(());
                }
                if read_at.elapsed() > LEASE_RENEWAL {
                    break;
                }
                // Not of a person whose pause ends during the round: it has passed the event that failed.
                let until = self.failed.get(&event.email.key());
                if until.is_none_or(|until| *until <= self.round_begun) {
                    self.send(number, &event).await?;
                }
                self.last = number;
            }
        }
    }

    /// Sends an event, and removes it from the list if the endpoint has accepted it, or has not for too long.
    async fn send(&mut self, number: u64, event: &Event) -> Result<(), StoreError> {
        let age = SystemTime::now().duration_since(event.at);
        let (age, key) = (age.unwrap_or_default(), event.email.key());
        let is_old = age > self.sender.times.max_age;
        // Perhaps no server has run for days, so an old event is tried too, unless nothing has worked for long.
        let longest_pause = self.sender.times.longest_pause;
        let failing_for = self.failing_since.map(|it| it.elapsed());
        let is_hopeless = is_old && failing_for > Some(longest_pause);
        let is_last_try = is_old && self.failed.contains_key(&key);
        let is_accepted = !is_hopeless && self.attempt(event, age).await?;
        if is_accepted || is_hopeless || is_last_try {
            self.given_up += u64::from(!is_accepted);
            self.failed.remove(&key);
            self.list.finish_events(vec![(number, event.id)]).await?;
        }
        Ok(())
    }

    /// Sends an event. Returns whether the endpoint has accepted it. Otherwise all events wait.
    async fn attempt(&mut self, event: &Event, age: Duration) -> Result<bool, StoreError> {
        match self.sender.send(event).await.map(|it| it.status()) {
            Ok(status) if status.is_success() => {
                self.failing_since = None;
                if std::mem::take(&mut self.is_reported) {
                    tracing::info!("the webhook works again");
                }
                return Ok(true);
            }
            Ok(StatusCode::GONE) => self.list.record_events(false).await?,
            Ok(status) => self.note_failure(&format!("it replies {status}")),
            Err(error) => self.note_failure(&error.to_string()),
        }
        let (now, times) = (Instant::now(), self.sender.times);
        let pause = |time: Duration, longest| (time / 2).clamp(times.shortest_pause, longest);
        let failing_since = *self.failing_since.get_or_insert(now);
        let pause_for_all = pause(now - failing_since, times.longest_pause_for_all);
        self.paused_until = now + pause_for_all;
        let pause_for_person = pause(age, times.longest_pause).max(pause_for_all);
        self.failed
            .insert(event.email.key(), now + pause_for_person);
        Ok(false)
    }

    /// Reports the first failure. After a success, the next one is reported if nothing was accepted for a while: a single event
    /// may fail again and again, and others be accepted in between.
    fn note_failure(&mut self, reason: &str) {
        let pause = self.sender.times.longest_pause_for_all;
        let is_outage = self.failing_since.is_some_and(|it| it.elapsed() > pause);
        if !self.is_reported && (is_outage || !self.was_any_reported) {
            (self.is_reported, self.was_any_reported) = (true, true);
            tracing::warn!(
                "the webhook fails: {reason}; events are sent again for three days, with growing pauses; `landing check` \
                 counts those that wait"
            );
        }
    }

    /// Returns how long all events wait from now on.
    fn pause_left(&self) -> Duration {
        self.paused_until.saturating_duration_since(Instant::now())
    }
}
