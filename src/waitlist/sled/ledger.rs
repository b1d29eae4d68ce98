//! The ledger of a list in a data directory. The committer appends its items to the list like entries.

use tokio::task::spawn_blocking;

use super::{
    super::{
        entry::{from_unix_millis, unix_millis},
        error::{StoreError, StoreFuture},
        ledger::{
            Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Ledger,
            Message, MessageId,
        },
        store_panic::locked,
    },
    SledWaitlist,
    committer::SledCommitter,
    items::RecordItem,
    ledger_states::{DeliveryProgress, read_deliveries},
};

/// Maximum number of messages: an item names its message by a `u16`.
const MESSAGES_MAX: usize = 1 << 16;

impl Ledger for SledWaitlist {
    fn messages(&self) -> StoreFuture<'_, Vec<Message>> {
        self.run(0, |committer| committer.contents.ledger.messages())
    }

    fn add_message(&self, message: Message) -> StoreFuture<'_, ()> {
        let added = self.run(1, move |committer| committer.add_message(message));
        Box::pin(async move { added.await? })
    }

    fn deliveries(&self, message: &MessageId, from: u32) -> StoreFuture<'_, Vec<Delivery>> {
        let message = message.clone();
        Box::pin(async move {
            let found = self.run(0, move |committer| {
                let ledger = &committer.contents.ledger;
                let number = ledger.find(&message)?;
                Some((number, ledger.deliveries(number)))
            });
            let Some((message, (items, progress))) = found.await? else {
                return Ok(Vec::new());
            };
            let snapshot = locked(&self.published.snapshot).clone();
            let read = move || read_deliveries(&snapshot, message, items, &progress);
            // On another thread. In the committer it would delay every sign-up.
            let read = spawn_blocking(read).await;
            let mut deliveries = read.map_err(|_| StoreError::Unreadable)??;
            deliveries.drain(..deliveries.len().min(from as usize));
            Ok(deliveries)
        })
    }

    fn add_deliveries(
        &self,
        message: &MessageId,
        known: u32,
        deliveries: Vec<Delivery>,
    ) -> StoreFuture<'_, bool> {
        let message = message.clone();
        self.run(deliveries.len(), move |committer| {
            committer.add_deliveries(&message, known, deliveries)
        })
    }

    fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: Vec<DeliveryStart>,
    ) -> StoreFuture<'_, Vec<bool>> {
        let message = message.clone();
        self.run_for_each(deliveries, move |committer, start| {
            committer.begin_delivery(&message, &start)
        })
    }

    fn finish_deliveries(
        &self,
        message: &MessageId,
        results: Vec<DeliveryResult>,
    ) -> StoreFuture<'_, ()> {
        let message = message.clone();
        let recorded = self.run_for_each(results, move |committer, result| {
            committer.finish_delivery(&message, result)
        });
        Box::pin(async move {
            match recorded.await?.contains(&false) {
                true => Err(StoreError::Superseded),
                false => Ok(()),
            }
        })
    }
}

impl SledCommitter {
    pub(super) fn add_message(&mut self, mut message: Message) -> Result<(), StoreError> {
        let ledger = &self.contents.ledger;
        if ledger.find(&message.id).is_some() {
            return Ok(());
        }
        if ledger.message_count() == MESSAGES_MAX {
            return Err(StoreError::TooManyMessages);
        }
        // The list in memory must have the time as it is stored.
        message.begun_at = from_unix_millis(unix_millis(message.begun_at));
        self.append([RecordItem::Message(message)]);
        Ok(())
    }

    fn add_deliveries(&mut self, id: &MessageId, known: u32, deliveries: Vec<Delivery>) -> bool {
        let Some(message) = self.contents.ledger.find(id) else {
            return false;
        };
        if self.contents.ledger.delivery_count(message) != known as usize {
            return false;
        }
        for mut delivery in deliveries {
            delivery.attempts = 0;
            self.add_delivery(message, delivery);
        }
        true
    }

    /// Adds a delivery to a message, with its attempts.
    pub(super) fn add_delivery(&mut self, message: u16, delivery: Delivery) {
        let number = self.contents.ledger.delivery_count(message) as u32;
        let Delivery {
            recipient,
            status,
            attempts,
        } = delivery.taken_over();
        self.append([RecordItem::Recipient(message, recipient)]);
        for _ in 0..attempts {
            self.set_status(message, number, DeliveryStatus::new(DeliveryState::Sending));
        }
        if attempts > 0 || status != DeliveryStatus::new(DeliveryState::Waiting) {
            self.set_status(message, number, status);
        }
    }

    fn set_status(&mut self, message: u16, delivery: u32, status: DeliveryStatus) {
        self.append([RecordItem::Status {
            message,
            delivery,
            status,
        }]);
    }

    fn begin_delivery(&mut self, id: &MessageId, start: &DeliveryStart) -> bool {
        let Some((message, known)) = self.progress_of(id, start.number) else {
            return false;
        };
        let may_begin = known.state != DeliveryState::Sending
            && (known.state, known.attempts) == (start.state, start.attempts);
        if may_begin {
            let sending = DeliveryStatus::new(DeliveryState::Sending);
            self.set_status(message, start.number, sending);
        }
        may_begin
    }

    fn finish_delivery(&mut self, id: &MessageId, result: DeliveryResult) -> bool {
        let Some((message, known)) = self.progress_of(id, result.number) else {
            return false;
        };
        let may_finish = known.attempts == result.attempt
            && match known.state {
                // It is unknown if the sender was believed dead.
                DeliveryState::Sending | DeliveryState::Unknown => true,
                DeliveryState::Waiting | DeliveryState::Deferred => {
                    [known.state, DeliveryState::Skipped].contains(&result.status.state)
                }
                // A repetition.
                state => state == result.status.state,
            };
        if may_finish {
            self.set_status(message, result.number, result.status);
        }
        may_finish
    }

    fn progress_of(&self, id: &MessageId, number: u32) -> Option<(u16, DeliveryProgress)> {
        let message = self.contents.ledger.find(id)?;
        Some((message, self.contents.ledger.progress(message, number)?))
    }
}
