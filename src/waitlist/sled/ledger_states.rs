//! The states of all deliveries, in memory: a byte for each.

use super::{
    super::{ledger::DeliveryState, message_id::MessageId},
    record::RecordItem,
};

/// The messages and the states of their deliveries, by their numbers.
#[derive(Debug, Default)]
pub(super) struct LedgerStates(Vec<MessageStates>);

#[derive(Debug)]
struct MessageStates {
    id: MessageId,
    deliveries: Vec<DeliveryState>,
}

impl LedgerStates {
    /// Returns the number of a message.
    pub(super) fn find(&self, id: &MessageId) -> Option<u16> {
        let at = self.0.iter().position(|message| message.id == *id)?;
        u16::try_from(at).ok()
    }

    /// Returns the number of messages.
    pub(super) fn message_count(&self) -> usize {
        self.0.len()
    }

    /// Returns the states of the deliveries of a message.
    pub(super) fn deliveries(&self, message: u16) -> &[DeliveryState] {
        let message = self.0.get(usize::from(message));
        message.map_or(&[], |message| &message.deliveries)
    }

    /// Takes an item into account. Returns `None` if it names a message or a delivery that does not exist.
    pub(super) fn add(&mut self, item: &RecordItem<'_>) -> Option<()> {
        match item {
            RecordItem::Message(message) => self.0.push(MessageStates {
                id: MessageId::from_stored(message.id),
                deliveries: Vec::new(),
            }),
            RecordItem::Recipient(recipient) => {
                let message = self.0.get_mut(usize::from(recipient.message))?;
                message.deliveries.push(DeliveryState::Waiting);
            }
            RecordItem::Status(status) => {
                let message = self.0.get_mut(usize::from(status.message))?;
                *message.deliveries.get_mut(status.delivery as usize)? = status.state;
            }
            _ => {}
        }
        Some(())
    }

    /// Marks deliveries as unknown that had begun when the process ended.
    pub(super) fn mark_interrupted(&mut self) {
        for state in self.0.iter_mut().flat_map(|it| &mut it.deliveries) {
            if *state == DeliveryState::Sending {
                *state = DeliveryState::Unknown;
            }
        }
    }
}
