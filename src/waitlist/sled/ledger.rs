//! The ledger of the committer, whose items it appends to the list like entries.

use super::{
    super::{
        ledger::{Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Message},
        ledger_request::{DeliveryProgress, LedgerRequest},
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
            LedgerRequest::Progress(message, reply) => {
                let message = self.ledger.find(&message);
                let progress = message.map(|message| self.ledger.deliveries(message));
                PendingLedgerReply::Progress(progress.unwrap_or_default(), reply)
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
            } => PendingLedgerReply::Flag(self.finish(&message, &results), reply),
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

    fn begin(&mut self, id: &MessageId, deliveries: &[DeliveryStart]) -> Vec<bool> {
        let mut begin = |start: &DeliveryStart| {
            let Some((message, known)) = self.progress_of(id, start.number) else {
                return false;
            };
            let may_begin = known.state != DeliveryState::Sending
                && (known.state, known.attempts) == (start.state, start.attempts);
            if may_begin {
                let sending = DeliveryStatus::new(DeliveryState::Sending);
                let status = StoredStatus::new(message, start.number, &sending);
                self.push_ledger_item(RecordItem::Status(status));
            }
            may_begin
        };
        deliveries.iter().map(&mut begin).collect()
    }

    /// Returns whether all results were recorded.
    fn finish(&mut self, id: &MessageId, results: &[DeliveryResult]) -> bool {
        let mut finish = |result: &DeliveryResult| {
            let Some((message, known)) = self.progress_of(id, result.number) else {
                return false;
            };
            // It is unknown if the sender was believed dead. The same state again is a repetition.
            let is_open = matches!(known.state, DeliveryState::Sending | DeliveryState::Unknown);
            let may_finish =
                known.attempts == result.attempt && (is_open || known.state == result.status.state);
            if may_finish {
                let status = StoredStatus::new(message, result.number, &result.status);
                self.push_ledger_item(RecordItem::Status(status));
            }
            may_finish
        };
        results
            .iter()
            .map(&mut finish)
            .fold(true, |all, one| all && one)
    }

    fn progress_of(&self, id: &MessageId, number: u32) -> Option<(u16, DeliveryProgress)> {
        let message = self.ledger.find(id)?;
        Some((message, self.ledger.progress(message, number)?))
    }

    /// Appends an item of the ledger, and takes it into account.
    fn push_ledger_item(&mut self, item: RecordItem<'_>) {
        self.make_room(item.len());
        self.tail.push(item);
        // The item names only what exists.
        let _ = self.ledger.add(&item);
    }
}
