//! The ledger of the committer, whose items it appends to the list like entries.

use super::{
    super::{
        ledger::{Delivery, DeliveryState, DeliveryStatus, Message},
        ledger_request::LedgerRequest,
        message_id::MessageId,
    },
    committer::SledCommitter,
    ledger_items::{StoredMessage, StoredRecipient, StoredStatus},
    ledger_reply::PendingLedgerReply,
    record::RecordItem,
};

/// Maximum number of messages.
const MESSAGES_MAX: usize = 1 << 16;

impl SledCommitter {
    /// Carries out a request. Its changes are durable after the next sync.
    pub(super) fn handle_ledger_request(&mut self, request: LedgerRequest) -> PendingLedgerReply {
        match request {
            LedgerRequest::AreListed(keys, reply) => {
                let are_listed = keys.iter().map(|key| self.keys.contains(key));
                PendingLedgerReply::Flags(are_listed.collect(), reply)
            }
            LedgerRequest::Keys(reply) => {
                PendingLedgerReply::Keys(self.suppressions.keys().to_vec(), reply)
            }
            LedgerRequest::IsSuppressed(key, reply) => {
                let is_suppressed = !self.find_suppressions(&key).is_empty();
                PendingLedgerReply::Flag(is_suppressed, reply)
            }
            LedgerRequest::AddMessage(message, reply) => {
                self.add_message(&message);
                PendingLedgerReply::Done(reply)
            }
            LedgerRequest::States(message, reply) => {
                let message = self.ledger.find(&message);
                let states = message.map(|message| self.ledger.deliveries(message));
                PendingLedgerReply::States(states.unwrap_or_default(), reply)
            }
            LedgerRequest::Add {
                message,
                known,
                deliveries,
                reply,
            } => PendingLedgerReply::Flag(self.add(&message, known, &deliveries), reply),
            LedgerRequest::Begin {
                message,
                deliveries,
                reply,
            } => PendingLedgerReply::Flags(self.begin(&message, &deliveries), reply),
            LedgerRequest::Finish {
                message,
                results,
                reply,
            } => {
                self.finish(&message, &results);
                PendingLedgerReply::Done(reply)
            }
        }
    }

    fn add_message(&mut self, message: &Message) {
        let is_new = self.ledger.find(&message.id).is_none();
        if is_new && self.ledger.message_count() < MESSAGES_MAX {
            self.push_ledger_item(RecordItem::Message(StoredMessage::from(message)));
        }
    }

    fn add(&mut self, id: &MessageId, known: u32, deliveries: &[Delivery]) -> bool {
        let Some(message) = self.ledger.find(id) else {
            return false;
        };
        if self.ledger.delivery_count(message) != known as usize {
            return false;
        }
        for (delivery, number) in deliveries.iter().zip(known..) {
            let recipient = delivery.recipient;
            self.push_ledger_item(RecordItem::Recipient(StoredRecipient {
                message,
                recipient,
            }));
            let mut status = delivery.status.clone();
            if status.state == DeliveryState::Sending {
                status.state = DeliveryState::Unknown;
            }
            if status.state != DeliveryState::Waiting {
                let status = StoredStatus::new(message, number, &status);
                self.push_ledger_item(RecordItem::Status(status));
            }
        }
        true
    }

    fn begin(&mut self, id: &MessageId, deliveries: &[(u32, DeliveryState)]) -> Vec<bool> {
        let message = self.ledger.find(id);
        let mut begin = |(number, expected): &(u32, DeliveryState)| {
            let Some((message, state)) = self.state_of(message, *number) else {
                return false;
            };
            let may_begin = state == *expected && state != DeliveryState::Sending;
            if may_begin {
                let sending = DeliveryStatus::new(DeliveryState::Sending);
                let status = StoredStatus::new(message, *number, &sending);
                self.push_ledger_item(RecordItem::Status(status));
            }
            may_begin
        };
        deliveries.iter().map(&mut begin).collect()
    }

    fn finish(&mut self, id: &MessageId, results: &[(u32, DeliveryStatus)]) {
        let message = self.ledger.find(id);
        for (number, status) in results {
            // It is unknown if the sender was believed dead.
            if let Some((message, DeliveryState::Sending | DeliveryState::Unknown)) =
                self.state_of(message, *number)
            {
                let status = StoredStatus::new(message, *number, status);
                self.push_ledger_item(RecordItem::Status(status));
            }
        }
    }

    fn state_of(&self, message: Option<u16>, number: u32) -> Option<(u16, DeliveryState)> {
        Some((message?, self.ledger.state(message?, number)?))
    }

    /// Appends an item of the ledger, and takes it into account.
    fn push_ledger_item(&mut self, item: RecordItem<'_>) {
        self.make_room(item.len());
        self.tail.push(item);
        // The item names only what exists.
        let _ = self.ledger.add(&item);
    }
}
