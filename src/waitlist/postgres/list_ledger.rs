//! The ledger of a list in a database, as the trait has it.

use super::{
    super::{
        email::Email,
        error::StoreFuture,
        ledger::{Delivery, DeliveryResult, DeliveryStart, Ledger, Message},
        message_id::MessageId,
        suppression::ListKey,
    },
    PostgresWaitlist,
};

impl Ledger for PostgresWaitlist {
    fn keys(&self) -> StoreFuture<'_, Vec<ListKey>> {
        Box::pin(self.ledger.keys())
    }

    fn are_listed(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let emails = emails.to_vec();
        Box::pin(async move { self.ledger.are_listed(&emails).await })
    }

    fn messages(&self) -> StoreFuture<'_, Vec<Message>> {
        Box::pin(self.ledger.messages())
    }

    fn add_message(&self, message: Message) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.ledger.add_message(&message).await })
    }

    fn deliveries(&self, message: &MessageId) -> StoreFuture<'_, Vec<Delivery>> {
        let message = message.clone();
        Box::pin(async move { self.ledger.deliveries(&message).await })
    }

    fn add_deliveries(
        &self,
        message: &MessageId,
        known: u32,
        deliveries: Vec<Delivery>,
    ) -> StoreFuture<'_, bool> {
        let message = message.clone();
        Box::pin(async move {
            self.ledger
                .add_deliveries(&message, known, deliveries)
                .await
        })
    }

    fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: Vec<DeliveryStart>,
    ) -> StoreFuture<'_, Vec<bool>> {
        let message = message.clone();
        Box::pin(async move { self.ledger.begin_deliveries(&message, &deliveries).await })
    }

    fn finish_deliveries(
        &self,
        message: &MessageId,
        results: Vec<DeliveryResult>,
    ) -> StoreFuture<'_, ()> {
        let message = message.clone();
        Box::pin(async move { self.ledger.finish_deliveries(&message, &results).await })
    }
}
