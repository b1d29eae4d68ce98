//! The ledger of a list in a data directory. The committer appends its items to the list like entries.

use super::{
    super::{
        email::Email,
        error::{StoreError, StoreFuture},
        ledger::{
            Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Ledger, Message,
        },
        message_id::MessageId,
        suppression::ListKey,
    },
    SledWaitlist,
    committer::SledCommitter,
    ledger_items::{StoredMessage, StoredRecipient, StoredStatus},
    ledger_states::DeliveryProgress,
    read_ledger,
    record::RecordItem,
};

/// Maximum number of messages.
const MESSAGES_MAX: usize = 1 << 16;

/// Maximum number of deliveries in a job. Even if the server has replied to all of them, they are as long as the entries
/// of a batch.
const DELIVERIES_MAX: usize = 128;

/// Number of beginnings that cost as much as an entry in a batch. A beginning has 9 bytes.
const BEGINNINGS_PER_ENTRY: usize = 8;

impl Ledger for SledWaitlist {
    fn keys(&self) -> StoreFuture<'_, Vec<ListKey>> {
        self.run(0, |committer| {
            committer.contents.suppressions.keys().to_vec()
        })
    }

    fn are_listed(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let keys: Vec<_> = emails.iter().map(Email::key).collect();
        self.run(0, move |committer| {
            let are_listed = keys
                .iter()
                .map(|key| committer.contents.people.contains(key));
            are_listed.collect()
        })
    }

    fn messages(&self) -> StoreFuture<'_, Vec<Message>> {
        Box::pin(self.search(read_ledger::read_messages))
    }

    fn add_message(&self, message: Message) -> StoreFuture<'_, ()> {
        self.run(1, move |committer| committer.add_message(&message))
    }

    fn deliveries(&self, message: &MessageId) -> StoreFuture<'_, Vec<Delivery>> {
        let message = message.clone();
        Box::pin(async move {
            let id = message.clone();
            let progress = self.run(0, move |committer| {
                let ledger = &committer.contents.ledger;
                let number = ledger.find(&id);
                number.map(|number| ledger.deliveries(number))
            });
            let progress = progress.await?.unwrap_or_default();
            let deliveries = self.search(move |records, end| {
                read_ledger::read_deliveries(records, end, &message, &progress)
            });
            deliveries.await
        })
    }

    fn add_deliveries(
        &self,
        message: &MessageId,
        mut known: u32,
        deliveries: Vec<Delivery>,
    ) -> StoreFuture<'_, bool> {
        let message = message.clone();
        Box::pin(async move {
            for some in deliveries.chunks(DELIVERIES_MAX) {
                let (message, some) = (message.clone(), some.to_vec());
                let count = some.len();
                let added = self.run(count, move |it| it.add_deliveries(&message, known, &some));
                if !added.await? {
                    return Ok(false);
                }
                known += count as u32;
            }
            Ok(true)
        })
    }

    fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: Vec<DeliveryStart>,
    ) -> StoreFuture<'_, Vec<bool>> {
        let message = message.clone();
        Box::pin(async move {
            let mut are_begun = Vec::with_capacity(deliveries.len());
            for some in deliveries.chunks(DELIVERIES_MAX) {
                let (message, some) = (message.clone(), some.to_vec());
                let cost = some.len().div_ceil(BEGINNINGS_PER_ENTRY);
                let begun = self.run(cost, move |it| it.begin_deliveries(&message, &some));
                are_begun.extend(begun.await?);
            }
            Ok(are_begun)
        })
    }

    fn finish_deliveries(
        &self,
        message: &MessageId,
        results: Vec<DeliveryResult>,
    ) -> StoreFuture<'_, ()> {
        let message = message.clone();
        Box::pin(async move {
            let mut are_recorded = true;
            for some in results.chunks(DELIVERIES_MAX) {
                let (message, some) = (message.clone(), some.to_vec());
                let finished =
                    self.run(some.len(), move |it| it.finish_deliveries(&message, &some));
                are_recorded &= finished.await?;
            }
            match are_recorded {
                true => Ok(()),
                false => Err(StoreError::Superseded),
            }
        })
    }
}

impl SledCommitter {
    fn add_message(&mut self, message: &Message) {
        let ledger = &self.contents.ledger;
        if ledger.find(&message.id).is_none() && ledger.message_count() < MESSAGES_MAX {
            self.append(RecordItem::Message(StoredMessage::from(message)));
        }
    }

    fn add_deliveries(&mut self, id: &MessageId, known: u32, deliveries: &[Delivery]) -> bool {
        let Some(message) = self.contents.ledger.find(id) else {
            return false;
        };
        if self.contents.ledger.delivery_count(message) != known as usize {
            return false;
        }
        for (delivery, number) in deliveries.iter().zip(known..) {
            let recipient = delivery.recipient;
            self.append(RecordItem::Recipient(StoredRecipient {
                message,
                recipient,
            }));
            let mut status = delivery.status.clone();
            if status.state == DeliveryState::Sending {
                status.state = DeliveryState::Unknown;
            }
            if status.state != DeliveryState::Waiting {
                let status = StoredStatus::new(message, number, &status);
                self.append(RecordItem::Status(status));
            }
        }
        true
    }

    fn begin_deliveries(&mut self, id: &MessageId, deliveries: &[DeliveryStart]) -> Vec<bool> {
        let mut begin = |start: &DeliveryStart| {
            let Some((message, known)) = self.progress_of(id, start.number) else {
                return false;
            };
            let may_begin = known.state != DeliveryState::Sending
                && (known.state, known.attempts) == (start.state, start.attempts);
            if may_begin {
                let sending = DeliveryStatus::new(DeliveryState::Sending);
                let status = StoredStatus::new(message, start.number, &sending);
                self.append(RecordItem::Status(status));
            }
            may_begin
        };
        deliveries.iter().map(&mut begin).collect()
    }

    /// Returns whether all results were recorded.
    fn finish_deliveries(&mut self, id: &MessageId, results: &[DeliveryResult]) -> bool {
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
                self.append(RecordItem::Status(status));
            }
            may_finish
        };
        results
            .iter()
            .map(&mut finish)
            .fold(true, |all, one| all && one)
    }

    fn progress_of(&self, id: &MessageId, number: u32) -> Option<(u16, DeliveryProgress)> {
        let message = self.contents.ledger.find(id)?;
        Some((message, self.contents.ledger.progress(message, number)?))
    }
}
