//! The messages that are waiting, shared by the connections.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{brake::Brake, pace::Pace, plan::Recipient};
use crate::{
    cli::delivery_counts::DeliveryCounts,
    waitlist::{DeliveryState, DeliveryStatus},
};

/// The messages of a send.
pub(super) struct Outbox {
    state: Mutex<OutboxState>,
    stop: StopHandle,
    pub(super) pace: Pace,
    /// Whether deferred messages are tried again.
    retries: bool,
}

struct OutboxState {
    waiting: VecDeque<Recipient>,
    /// Deferred ones, and when each is tried again.
    deferred: Vec<(Instant, Recipient)>,
    /// The number that the connections are sending.
    under_way: usize,
    /// The number of connections.
    connections: usize,
    counts: DeliveryCounts,
    brake: Brake,
}

/// Stops a send before its end. The first reason counts.
#[derive(Clone, Default)]
pub(super) struct StopHandle(Arc<Mutex<Option<String>>>);

impl StopHandle {
    pub(super) fn stop(&self, reason: impl fmt::Display) {
        locked(&self.0).get_or_insert(reason.to_string());
    }

    pub(super) fn get(&self) -> Option<String> {
        locked(&self.0).clone()
    }
}

/// What a connection has done with a message.
#[derive(Clone, Debug)]
pub(super) enum Attempt {
    /// Nothing: the delivery is given back, and is as it was before.
    GivenBack,
    /// The delivery has this status now.
    Done(DeliveryStatus),
}

impl Attempt {
    /// The delivery has begun, and only another command or a later one knows its result.
    pub(super) fn without_result() -> Self {
        Self::Done(DeliveryStatus::new(DeliveryState::Sending))
    }
}

/// What a connection does next.
pub(super) enum Next {
    /// It sends to this person.
    Send(Recipient),
    /// It waits.
    Wait(Duration),
    Done,
}

/// Pauses before a deferred message is tried again: mail servers that defer unknown senders expect a retry after
/// minutes.
const RETRY_PAUSES: [Duration; 3] = [
    Duration::from_secs(60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(15 * 60),
];

/// Maximum pause until a connection looks again.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

impl Outbox {
    pub(super) fn new(
        recipients: Vec<Recipient>,
        connections: usize,
        rate: u32,
        retries: bool,
    ) -> Self {
        Self {
            state: Mutex::new(OutboxState {
                waiting: recipients.into(),
                deferred: Vec::new(),
                under_way: 0,
                connections,
                counts: DeliveryCounts::default(),
                brake: Brake::default(),
            }),
            stop: StopHandle::default(),
            pace: Pace::per_second(rate),
            retries,
        }
    }

    pub(super) fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Returns why the send stops, if it does.
    pub(super) fn stop(&self) -> Option<String> {
        self.stop.get()
    }

    /// Stops the send for this reason.
    pub(super) fn fail(&self, reason: impl fmt::Display) {
        self.stop.stop(reason);
    }

    /// Takes the next recipient.
    pub(super) fn take(&self) -> Next {
        if self.stop().is_some() {
            return Next::Done;
        }
        let mut state = locked(&self.state);
        let now = Instant::now();
        let taken = state.waiting.pop_front().or_else(|| {
            let due = state.deferred.iter().position(|(due, _)| *due <= now);
            due.map(|at| state.deferred.swap_remove(at).1)
        });
        match taken {
            Some(recipient) => {
                state.under_way += 1;
                Next::Send(recipient)
            }
            None if state.deferred.is_empty() && state.under_way == 0 => Next::Done,
            None => Next::Wait(POLL_INTERVAL),
        }
    }

    /// Notes what was done with a message. A deferred one is tried again later, unless it was tried often. Returns
    /// whether this send is done with it.
    pub(super) fn finish(&self, mut recipient: Recipient, attempt: Attempt) -> bool {
        let mut state = locked(&self.state);
        state.under_way -= 1;
        let result = match attempt {
            Attempt::GivenBack => {
                state.waiting.push_front(recipient);
                return false;
            }
            Attempt::Done(result) => result,
        };
        let pause = RETRY_PAUSES.get(recipient.retries);
        match (result.state, pause) {
            (DeliveryState::Deferred, Some(pause)) if self.retries && self.stop().is_none() => {
                recipient.retries += 1;
                recipient.status = result;
                state.deferred.push((Instant::now() + *pause, recipient));
                false
            }
            (result, _) => {
                state.counts.add(result);
                true
            }
        }
    }

    /// Notes that a connection ends, unless it is the last one. Returns whether it was not.
    pub(super) fn leave_to_others(&self) -> bool {
        let mut state = locked(&self.state);
        let has_others = state.connections > 1;
        state.connections -= usize::from(has_others);
        has_others
    }

    /// Takes the result of a message into account, which may stop the send.
    pub(super) fn check(&self, status: &DeliveryStatus) {
        if let Some(reason) = locked(&self.state).brake.check(status) {
            self.fail(reason);
        }
    }

    /// Returns the results, and the number of messages that were not sent.
    pub(super) fn counts(&self) -> DeliveryCounts {
        let state = locked(&self.state);
        let mut counts = state.counts.clone();
        let deferred = state.deferred.iter().map(|(_, recipient)| recipient);
        for recipient in state.waiting.iter().chain(deferred) {
            counts.add(recipient.status.state);
        }
        counts
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
