//! Deliveries as `send`, `messages` and `show` print them: one, and the number in each state.

use std::collections::BTreeMap;

use serde::Serialize;

use super::time::rfc3339;
use crate::waitlist::{Delivery, DeliveryState, DeliveryStatus, ServerReply};

/// A delivery.
#[derive(Serialize)]
pub(super) struct ShownDelivery {
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<String>,
    attempts: u32,
    /// What the mail server replied, or why it has said nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reply: Option<String>,
}

impl From<&Delivery> for ShownDelivery {
    fn from(delivery: &Delivery) -> Self {
        Self {
            state: delivery.status.state.as_str(),
            since: delivery.status.since.map(rfc3339),
            attempts: delivery.attempts,
            reply: words(&delivery.status),
        }
    }
}

/// Returns the words of the mail server, or why it has said nothing.
fn words(status: &DeliveryStatus) -> Option<String> {
    let reply = status.reply.as_ref().map(ServerReply::to_string);
    reply.or_else(|| match status.state {
        DeliveryState::Deferred => Some("not sent: no reply of the mail server".into()),
        DeliveryState::Refused => Some(
            "not sent: the address cannot be written, or the mailbox had as many messages as a day allows"
                .into(),
        ),
        _ => None,
    })
}

/// How many of each kind there are. JSON has every kind.
#[derive(Debug, Serialize)]
pub(super) struct Counts<K: Ord>(BTreeMap<K, u64>);

impl<K: Copy + Ord> Counts<K> {
    /// Returns zeros for all kinds.
    pub(super) fn new(kinds: impl IntoIterator<Item = K>) -> Self {
        Self(kinds.into_iter().map(|kind| (kind, 0)).collect())
    }

    pub(super) fn add(&mut self, kind: K, count: u64) {
        *self.0.entry(kind).or_default() += count;
    }

    pub(super) fn get(&self, kind: K) -> u64 {
        self.0.get(&kind).copied().unwrap_or_default()
    }
}

/// The number of deliveries in each state.
pub(super) type DeliveryCounts = Counts<DeliveryState>;

impl Default for DeliveryCounts {
    fn default() -> Self {
        Self::new(DeliveryState::ALL)
    }
}

impl DeliveryCounts {
    /// Describes the counts, such as `98 accepted, 2 refused`.
    pub(super) fn describe(&self) -> String {
        let counts = DeliveryState::ALL.map(|state| (state, self.get(state)));
        let counts = counts.into_iter();
        let counts =
            counts.filter(|(state, count)| *count > 0 || *state == DeliveryState::Accepted);
        let counts: Vec<_> = counts
            .map(|(state, count)| format!("{count} {}", state.as_str()))
            .collect();
        counts.join(", ")
    }
}
