//! What the ledger says about the people who got a message: whether one must get it again, and whether time is up.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

use super::{
    history::{AttemptResult, DAY, DeliveryAttempt, age, doubled_pause},
    kind::MessageKind,
};
use crate::{
    mail::is_deferred_by_objection,
    waitlist::{
        AddressHash, Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus,
        StoreError, Waitlist, WaitlistEntry,
    },
};

/// How often a message is tried. With the pauses between, that takes three days.
const ATTEMPTS_MAX: u32 = 20;
/// The first pauses before a message is tried again, after the server has asked for it, and if nobody knows whether it was
/// sent. They double, up to the longest one.
const DEFERRED_PAUSE: Duration = Duration::from_secs(60);
const UNKNOWN_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_RETRY_PAUSE: Duration = Duration::from_secs(6 * 60 * 60);

/// The people who got a message, by the hashes of their addresses.
pub struct Recipients {
    pub(super) kind: MessageKind,
    /// Only people who have confirmed since then are welcomed.
    since: Option<SystemTime>,
    people: HashMap<AddressHash, LastDelivery>,
}

/// The last delivery to a person.
struct LastDelivery {
    start: DeliveryStart,
    since: Option<SystemTime>,
    /// When the mail server has accepted the last message that it has accepted.
    accepted_at: Option<SystemTime>,
}

/// How to send a message to a person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due {
    /// The delivery that is tried again, if there is one.
    pub(super) retry: Option<DeliveryStart>,
    /// How long to wait.
    pub(super) pause: Duration,
}

impl Recipients {
    /// Takes the deliveries of a message, the first one with the number `from`. `since` is when the welcome message was begun: if it was not, nobody is welcomed.
    pub fn new(
        kind: MessageKind,
        since: Option<SystemTime>,
        from: u32,
        deliveries: &[Delivery],
    ) -> Self {
        let mut people = HashMap::<_, LastDelivery>::new();
        for (number, delivery) in (from..).zip(deliveries) {
            let DeliveryStatus { state, since, .. } = delivery.status;
            let before = people.get(&delivery.recipient);
            let accepted_before = before.and_then(|it| it.accepted_at);
            let accepted_at = since.filter(|_| state == DeliveryState::Accepted);
            let last = LastDelivery {
                start: delivery.start(number),
                since,
                accepted_at: accepted_at.or(accepted_before),
            };
            people.insert(delivery.recipient, last);
        }
        Self {
            kind,
            since,
            people,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.people.is_empty()
    }

    pub(super) fn contains(&self, hash: AddressHash) -> bool {
        self.people.contains_key(&hash)
    }

    /// Returns how to send the message to a person: nothing was sent since the last sign-up, or it must be tried again.
    pub fn due(&self, hash: AddressHash, entry: &WaitlistEntry, now: SystemTime) -> Option<Due> {
        let asked_at = match self.kind {
            MessageKind::Code => entry.asked_at,
            MessageKind::Welcome => self.since.filter(|it| entry.confirmed_at >= Some(*it)),
        };
        let asked_at = asked_at.filter(|_| self.kind.is_for(entry))?;
        let new = Due {
            retry: None,
            pause: Duration::ZERO,
        };
        let Some(last) = self.people.get(&hash) else {
            return Some(new);
        };
        if let Some(pause) = retry_pause(self.kind, &last.start) {
            let waited = match (last.start.state, last.since) {
                // Another process is sending it. If that was killed, the ledger says so later.
                (DeliveryState::Sending, _) => Duration::ZERO,
                (_, since) => since.map_or(Duration::MAX, |since| age(since, now)),
            };
            let (retry, pause) = (Some(last.start), pause.saturating_sub(waited));
            return Some(Due { retry, pause });
        }
        if self.kind == MessageKind::Welcome {
            return None;
        }
        // If the clock was wrong at the sign-up, one message is enough.
        let was_asked = last.since.is_none_or(|since| since >= asked_at) || asked_at > now;
        let was_sent = last.start.state != DeliveryState::Skipped;
        (!was_asked || !was_sent).then_some(new)
    }

    /// Returns whether a person may have got no message, and gets none any more: it was tried as often as any is, or it may
    /// have arrived and must not come twice.
    pub fn is_given_up(&self, hash: AddressHash, entry: &WaitlistEntry, now: SystemTime) -> bool {
        let last = self.people.get(&hash);
        let has_failed = last.is_some_and(|last| is_open(last.start.state));
        self.kind.is_for(entry) && has_failed && self.due(hash, entry, now).is_none()
    }

    /// Returns whether the time of a person who has not confirmed the address is up: the mail server has accepted a message
    /// since the person joined, and since then, and since the last sign-up, the site was asking on as many days as people
    /// have. It has noted these days (`noted`), and fewer if it was switched off for a while, or has begun with a wrong clock.
    pub(super) fn is_time_up(
        &self,
        hash: AddressHash,
        entry: &WaitlistEntry,
        days: u32,
        noted: &[SystemTime],
        now: SystemTime,
    ) -> bool {
        let (Some(asked_at), None) = (entry.asked_at, entry.confirmed_at) else {
            return false;
        };
        let accepted_at = self.people.get(&hash).and_then(|last| last.accepted_at);
        let Some(accepted_at) = accepted_at.filter(|at| *at >= entry.joined_at) else {
            return false;
        };
        let from = accepted_at.max(asked_at).max(entry.joined_at);
        let counts = |day: &&SystemTime| (from..=now).contains(*day);
        let days_asking = noted.iter().filter(counts).count();
        days_asking > days as usize && now.duration_since(from).is_ok_and(|it| it >= DAY * days)
    }
}

/// Returns how a message is tried again after this attempt, or `None` if it was the last one.
pub(super) fn next_attempt(kind: MessageKind, delivery: DeliveryStart) -> Option<Due> {
    let pause = retry_pause(kind, &delivery);
    if pause.is_none() && is_open(delivery.state) {
        tracing::warn!(
            "a message is not tried again after attempt {}, and may not have arrived; see `landing messages {}`",
            delivery.attempts,
            kind.id()
        );
    }
    let retry = Some(delivery);
    pause.map(|pause| Due { retry, pause })
}

/// Returns whether an attempt with this result is not the last one, unless there were too many.
fn is_open(state: DeliveryState) -> bool {
    matches!(state, DeliveryState::Deferred | DeliveryState::Unknown)
}

/// Returns the pause before a delivery is tried again, or `None` if nothing more happens with it.
fn retry_pause(kind: MessageKind, delivery: &DeliveryStart) -> Option<Duration> {
    use MessageKind::{Code, Welcome};
    let first = match (delivery.state, kind) {
        (DeliveryState::Waiting, _) => return Some(Duration::ZERO),
        // The server was stopped, or the person had left and has come back. A new code has a delivery of its own.
        (DeliveryState::Skipped, Welcome) => return Some(Duration::ZERO),
        (DeliveryState::Deferred, _) => DEFERRED_PAUSE,
        // It may have arrived. Nothing else may arrive twice.
        (DeliveryState::Sending | DeliveryState::Unknown, Code) => UNKNOWN_PAUSE,
        _ => return None,
    };
    let pause = doubled_pause(first, delivery.attempts, LONGEST_RETRY_PAUSE);
    (delivery.attempts < ATTEMPTS_MAX).then_some(pause)
}

/// Returns what counts of the result of an attempt, or `None` if this program has sent nothing.
pub(super) fn result_of(status: &DeliveryStatus) -> Option<AttemptResult> {
    match (status.state, &status.reply) {
        (DeliveryState::Waiting | DeliveryState::Skipped, _) | (DeliveryState::Refused, None) => {
            None
        }
        (DeliveryState::Accepted, _) => Some(AttemptResult::Arrived),
        (DeliveryState::Unknown | DeliveryState::Sending, _) => Some(AttemptResult::Unknown),
        (DeliveryState::Refused, Some(reply)) if reply.is_bad_address() => {
            Some(AttemptResult::BadAddress)
        }
        // It is about the recipient.
        (_, Some(reply)) if !reply.is_closing() && !is_deferred_by_objection(status) => {
            Some(AttemptResult::Refused)
        }
        _ => Some(AttemptResult::Trouble),
    }
}

/// Returns the attempts of the last 24 hours of deliveries from the number `from` on. The ledger keeps only the last attempt of a
/// delivery: the earlier ones have its result, and were at least as much earlier as the shortest pauses. If the last one has sent
/// nothing, an earlier one may have arrived.
pub(super) fn recent_attempts(
    kind: MessageKind,
    from: u32,
    deliveries: &[Delivery],
    now: SystemTime,
) -> Vec<DeliveryAttempt> {
    let mut recent = Vec::new();
    for (number, delivery) in (from..).zip(deliveries) {
        // A delivery that has begun has no time until it is tried again.
        let may_be_tried = delivery.attempts < ATTEMPTS_MAX;
        let at = delivery.status.since.or(may_be_tried.then_some(now));
        let Some(at) = at.filter(|at| age(*at, now) < DAY) else {
            continue;
        };
        let (attempts, result) = match result_of(&delivery.status) {
            Some(result) => (delivery.attempts.max(1), result),
            // Another process has added it, and begins it now: this one must not add another.
            None if delivery.status.state == DeliveryState::Waiting => (1, AttemptResult::Refused),
            None => (delivery.attempts.saturating_sub(1), AttemptResult::Unknown),
        };
        let mut before = Duration::ZERO;
        for attempt in (1..=attempts).rev() {
            let Some(at) = at.checked_sub(before).filter(|at| age(*at, now) < DAY) else {
                break;
            };
            recent.push(DeliveryAttempt {
                at,
                number: (kind, number, attempt),
                recipient: delivery.recipient,
                by: None,
                result,
            });
            before += doubled_pause(UNKNOWN_PAUSE, attempt - 1, LONGEST_RETRY_PAUSE);
        }
    }
    recent
}

/// Returns how many of the deliveries count against the budget of the last 24 hours, with all their attempts.
pub fn count_recent(deliveries: &[Delivery], now: SystemTime) -> usize {
    recent_attempts(MessageKind::Code, 0, deliveries, now).len()
}

/// Records the result of an attempt, unless another process has taken this one for dead and has begun the delivery again.
pub(super) async fn finish(
    list: &dyn Waitlist,
    kind: MessageKind,
    delivery: &DeliveryStart,
    status: DeliveryStatus,
) -> Result<(), StoreError> {
    let result = DeliveryResult {
        number: delivery.number,
        recipient: delivery.recipient,
        attempt: delivery.attempts,
        status,
    };
    let finished = list.finish_deliveries(&kind.id(), vec![result]);
    match finished.await {
        Err(StoreError::Superseded) => Ok(()),
        finished => finished,
    }
}
