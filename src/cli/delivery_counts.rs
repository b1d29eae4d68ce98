//! Deliveries as `send`, `messages` and `show` print them: one, and the number in each state.

use serde::{Serialize, Serializer, ser::SerializeMap};

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
            "not sent: the address cannot be written, or the mailbox had five messages that day"
                .into(),
        ),
        _ => None,
    })
}

/// The number of deliveries in each state.
#[derive(Clone, Debug, Default)]
pub(super) struct DeliveryCounts([u64; DeliveryState::ALL.len()]);

impl DeliveryCounts {
    pub(super) fn add(&mut self, state: DeliveryState) {
        for (count, it) in self.0.iter_mut().zip(DeliveryState::ALL) {
            *count += u64::from(it == state);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (DeliveryState, u64)> + '_ {
        DeliveryState::ALL.into_iter().zip(self.0.iter().copied())
    }

    pub(super) fn get(&self, state: DeliveryState) -> u64 {
        self.iter()
            .find(|(it, _)| *it == state)
            .map_or(0, |(_, count)| count)
    }

    /// Returns the number of deliveries that the same command would continue.
    pub(super) fn unfinished(&self) -> u64 {
        self.get(DeliveryState::Waiting) + self.get(DeliveryState::Deferred)
    }

    /// Describes the counts, such as `98 accepted, 2 refused`.
    pub(super) fn describe(&self) -> String {
        let counts = self
            .iter()
            .filter(|(state, count)| *count > 0 || *state == DeliveryState::Accepted);
        let counts: Vec<_> = counts
            .map(|(state, count)| format!("{count} {}", state.as_str()))
            .collect();
        counts.join(", ")
    }
}

/// A field for each state.
impl Serialize for DeliveryCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(DeliveryState::ALL.len()))?;
        for (state, count) in self.iter() {
            map.serialize_entry(state.as_str(), &count)?;
        }
        map.end()
    }
}
