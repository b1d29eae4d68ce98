//! The messages, and how far all deliveries are, in memory: 8 bytes for each delivery. The rest of the ledger is read from the
//! records, because only the owner's commands need it.

use std::{collections::HashMap, ops::Range, time::Instant};

use super::{
    super::{
        error::StoreError,
        ledger::{DELIVERY_LEASE, Delivery, DeliveryState, Message, MessageId},
    },
    entries::Snapshot,
    items::RecordItem,
};

/// How far a delivery is.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryProgress {
    pub(super) state: DeliveryState,
    /// How often it was begun.
    pub(super) attempts: u32,
}

/// The messages and the progress of their deliveries, by their numbers.
#[derive(Debug, Default)]
pub(super) struct LedgerStates {
    messages: Vec<MessageStates>,
    /// When the deliveries have begun that are under way, by the numbers of their message and of themselves.
    begun_at: HashMap<(u16, u32), Instant>,
}

#[derive(Debug)]
struct MessageStates {
    message: Message,
    deliveries: Vec<DeliveryProgress>,
    /// The numbers from its first item to its last one, between which other messages may have items.
    items: Range<u64>,
}

impl LedgerStates {
    /// Returns the number of a message.
    pub(super) fn find(&self, id: &MessageId) -> Option<u16> {
        let at = self.messages.iter().position(|it| it.message.id == *id)?;
        u16::try_from(at).ok()
    }

    /// Returns the messages, the oldest first.
    pub(super) fn messages(&self) -> Vec<Message> {
        let mut messages: Vec<_> = self.messages.iter().map(|it| it.message.clone()).collect();
        messages.sort_by(|a, b| (a.begun_at, &a.id).cmp(&(b.begun_at, &b.id)));
        messages
    }

    /// Returns the number of messages.
    pub(super) fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// Returns the number of deliveries of a message.
    pub(super) fn delivery_count(&self, message: u16) -> usize {
        self.stored(message).len()
    }

    /// Returns where the items of a message are, and the progress of its deliveries.
    pub(super) fn deliveries(&self, message: u16) -> (Range<u64>, Vec<DeliveryProgress>) {
        let deliveries = (0..).zip(self.stored(message));
        let current = |(number, stored): (u32, &_)| self.current((message, number), *stored);
        let items = self.messages.get(usize::from(message));
        let items = items.map_or(0..0, |message| message.items.clone());
        (items, deliveries.map(current).collect())
    }

    /// Returns the progress of a delivery, if there is one with this number.
    pub(super) fn progress(&self, message: u16, number: u32) -> Option<DeliveryProgress> {
        let stored = self.stored(message).get(number as usize)?;
        Some(self.current((message, number), *stored))
    }

    fn stored(&self, message: u16) -> &[DeliveryProgress] {
        let message = self.messages.get(usize::from(message));
        message.map_or(&[], |message| &message.deliveries)
    }

    fn current(&self, delivery: (u16, u32), mut progress: DeliveryProgress) -> DeliveryProgress {
        let begun_at = self.begun_at.get(&delivery);
        if progress.state == DeliveryState::Sending
            && begun_at.is_none_or(|it| it.elapsed() > DELIVERY_LEASE)
        {
            progress.state = DeliveryState::Unknown;
        }
        progress
    }

    /// Takes an item with its number into account. Returns `None` if it names a message or a delivery that does not exist.
    pub(super) fn add(&mut self, item_number: u64, item: &RecordItem) -> Option<()> {
        match item {
            RecordItem::Message(message) => self.messages.push(MessageStates {
                message: message.clone(),
                deliveries: Vec::new(),
                items: item_number..item_number + 1,
            }),
            RecordItem::Recipient(message, _) => {
                let message = self.messages.get_mut(usize::from(*message))?;
                message.items.end = item_number + 1;
                message.deliveries.push(DeliveryProgress {
                    state: DeliveryState::Waiting,
                    attempts: 0,
                });
            }
            RecordItem::Status {
                message: number,
                delivery,
                status,
            } => {
                let message = self.messages.get_mut(usize::from(*number))?;
                message.items.end = item_number + 1;
                let progress = message.deliveries.get_mut(*delivery as usize)?;
                let delivery = (*number, *delivery);
                progress.state = status.state;
                if status.state == DeliveryState::Sending {
                    progress.attempts += 1;
                    self.begun_at.insert(delivery, Instant::now());
                } else {
                    self.begun_at.remove(&delivery);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Forgets which deliveries had begun when the process ended. Then their results are unknown.
    pub(super) fn forget_begun(&mut self) {
        self.begun_at.clear();
    }
}

/// Reads the deliveries of a message, whose `items` are in this range. `progress` is what the committer knows of them. Unlike
/// the records, it distinguishes a delivery that has begun from one that was interrupted.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn read_deliveries(
    snapshot: &Snapshot,
    sought: u16,
    items: Range<u64>,
    progress: &[DeliveryProgress],
) -> Result<Vec<Delivery>, StoreError> {
    let mut deliveries = Vec::new();
    snapshot.for_each_item_in(items, |_, item| {
        match item {
            RecordItem::Recipient(message, recipient) if message == sought => {
                deliveries.push(Delivery::waiting(recipient));
            }
            RecordItem::Status {
                message,
                delivery,
                status,
            } if message == sought => {
                if let Some(delivery) = deliveries.get_mut(delivery as usize) {
                    delivery.attempts += u32::from(status.state == DeliveryState::Sending);
                    delivery.status = status;
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
