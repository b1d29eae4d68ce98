//! Reads the ledger from the records. Only the owner's commands read it, so it is not kept in memory.

use super::{
    super::{
        error::StoreError,
        ledger::{Delivery, DeliveryState, DeliveryStatus, Message},
        message_id::MessageId,
    },
    items::RecordItem,
    ledger_states::DeliveryProgress,
    snapshot::Snapshot,
};

/// Reads the messages.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn read_messages(snapshot: &Snapshot) -> Result<Vec<Message>, StoreError> {
    let mut messages = Vec::new();
    snapshot.for_each_item(|_, item| {
        if let RecordItem::Message(message) = item {
            messages.push(Message::from(message));
        }
        Ok::<_, StoreError>(())
    })?;
    messages.sort_by(|a, b| (a.begun_at, &a.id).cmp(&(b.begun_at, &b.id)));
    Ok(messages)
}

/// Reads the deliveries of a message. `progress` is what the committer knows of them. Unlike the records, it
/// distinguishes a delivery that has begun from one that was interrupted.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn read_deliveries(
    snapshot: &Snapshot,
    id: &MessageId,
    progress: &[DeliveryProgress],
) -> Result<Vec<Delivery>, StoreError> {
    let (mut number, mut sought) = (0, None);
    let mut deliveries = Vec::new();
    snapshot.for_each_item(|_, item| {
        match item {
            RecordItem::Message(message) => {
                if message.id == id.as_str() {
                    sought = Some(number);
                }
                number += 1;
            }
            RecordItem::Recipient(it) if Some(it.message) == sought => {
                deliveries.push(Delivery::waiting(it.recipient));
            }
            RecordItem::Status(status) if Some(status.message) == sought => {
                if let Some(delivery) = deliveries.get_mut(status.delivery as usize) {
                    delivery.status = DeliveryStatus::from(status);
                    delivery.attempts += u32::from(status.state == DeliveryState::Sending);
                }
            }
            _ => {}
        }
        Ok::<_, StoreError>(())
    })?;
    for (delivery, progress) in deliveries.iter_mut().zip(progress) {
        let is_interrupted = progress.state == DeliveryState::Unknown;
        if delivery.status.state == DeliveryState::Sending && is_interrupted {
            delivery.status.state = DeliveryState::Unknown;
        }
    }
    Ok(deliveries)
}
