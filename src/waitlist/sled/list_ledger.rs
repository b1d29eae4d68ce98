//! The ledger of a list in a data directory.

use super::{
    super::{
        email::Email,
        error::{StoreError, StoreFuture},
        ledger::{Delivery, DeliveryResult, DeliveryStart, Ledger, Message},
        ledger_request::{DELIVERIES_MAX, LedgerRequest},
        message_id::MessageId,
        suppression::ListKey,
    },
    SledWaitlist, read_ledger,
};

impl Ledger for SledWaitlist {
    fn keys(&self) -> StoreFuture<'_, Vec<ListKey>> {
        self.queue.ledger(LedgerRequest::Keys)
    }

    fn are_listed(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let keys = emails.iter().map(Email::key).collect();
        self.queue
            .ledger(|reply| LedgerRequest::AreListed(keys, reply))
    }

    fn messages(&self) -> StoreFuture<'_, Vec<Message>> {
        Box::pin(self.search(read_ledger::read_messages))
    }

    fn add_message(&self, message: Message) -> StoreFuture<'_, ()> {
        self.queue
            .ledger(|reply| LedgerRequest::AddMessage(message, reply))
    }

    fn deliveries(&self, message: &MessageId) -> StoreFuture<'_, Vec<Delivery>> {
        let message = message.clone();
        Box::pin(async move {
            let id = message.clone();
            let progress = self
                .queue
                .ledger(|reply| LedgerRequest::Progress(id, reply));
            let progress = progress.await?;
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
                let (message, deliveries) = (message.clone(), some.to_vec());
                let added = self.queue.ledger(move |reply| LedgerRequest::Add {
                    message,
                    known,
                    deliveries,
                    reply,
                });
                if !added.await? {
                    return Ok(false);
                }
                known += some.len() as u32;
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
                let (message, deliveries) = (message.clone(), some.to_vec());
                let begun = self.queue.ledger(move |reply| LedgerRequest::Begin {
                    message,
                    deliveries,
                    reply,
                });
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
                let (message, results) = (message.clone(), some.to_vec());
                let finished = self.queue.ledger(move |reply| LedgerRequest::Finish {
                    message,
                    results,
                    reply,
                });
                are_recorded &= finished.await?;
            }
            match are_recorded {
                true => Ok(()),
                false => Err(StoreError::Superseded),
            }
        })
    }
}
