//! Calls with more items than a store takes at once.

use std::{sync::Arc, time::UNIX_EPOCH};

use futures_util::future::join_all;
use landing::waitlist::{
    CALL_MAX, Delivery, DeliveryResult, DeliveryStart, DeliveryState, Email, Erasure, JoinOutcome,
    Message, MessageId, StoreError, StoreFuture, Waitlist, WaitlistEntry,
};

use super::{
    SledFixture, StoreFixture, TestDatabase, email, entry,
    ledger::{hash, id, result, start, status},
    run,
};

/// Makes a call for each part of some items, and returns the results for all items.
async fn in_parts<'a, I, T>(
    items: &'a [I],
    call: impl Fn(&'a [I]) -> StoreFuture<'a, Vec<T>>,
) -> Result<Vec<T>, StoreError> {
    let mut results = Vec::with_capacity(items.len());
    for part in items.chunks(CALL_MAX) {
        results.extend(call(part).await?);
    }
    Ok(results)
}

/// The calls of a store, for any number of items.
pub(super) trait ManyItems: Waitlist {
    async fn join_many(&self, entries: Vec<WaitlistEntry>) -> Result<Vec<JoinOutcome>, StoreError> {
        in_parts(&entries, |part| self.join_all(part.to_vec())).await
    }

    async fn erase_many(
        &self,
        emails: &[Email],
        erasure: Erasure,
    ) -> Result<Vec<bool>, StoreError> {
        in_parts(emails, |part| self.erase(part, erasure)).await
    }

    async fn find_many(&self, emails: &[Email]) -> Result<Vec<Option<WaitlistEntry>>, StoreError> {
        in_parts(emails, |part| self.find(part)).await
    }

    /// Adds deliveries to a message after those that it has.
    async fn add_many_deliveries(
        &self,
        message: &MessageId,
        deliveries: Vec<Delivery>,
    ) -> Result<bool, StoreError> {
        for part in deliveries.chunks(CALL_MAX) {
            let known = self.deliveries(message, 0).await?.len() as u32;
            if !self.add_deliveries(message, known, part.to_vec()).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn begin_many(
        &self,
        message: &MessageId,
        starts: Vec<DeliveryStart>,
    ) -> Result<Vec<bool>, StoreError> {
        in_parts(&starts, |part| {
            self.begin_deliveries(message, part.to_vec())
        })
        .await
    }

    async fn finish_many(
        &self,
        message: &MessageId,
        results: Vec<DeliveryResult>,
    ) -> Result<(), StoreError> {
        for part in results.chunks(CALL_MAX) {
            self.finish_deliveries(message, part.to_vec()).await?;
        }
        Ok(())
    }
}

impl<W: Waitlist + ?Sized> ManyItems for W {}

#[test]
fn sled_refuses_too_many_items() {
    run(SledFixture::default(), too_many_items_are_refused);
}

#[test]
fn postgres_refuses_too_many_items() {
    run(TestDatabase::default(), too_many_items_are_refused);
}

#[test]
fn sled_refuses_more_messages_than_it_can_number() {
    run(SledFixture::default(), async |fixture: Arc<SledFixture>| {
        let list = fixture.open();
        let message = |number: u32| Message::new(id(&format!("launch-{number}")), UNIX_EPOCH, "Hi");
        const MAX: u32 = 1 << 16;
        let numbers: Vec<_> = (0..MAX).collect();
        for part in numbers.chunks(CALL_MAX) {
            // At once, so that they share a sync.
            let added = join_all(part.iter().map(|it| list.add_message(message(*it)))).await;
            assert_eq!(added.into_iter().collect::<Result<Vec<_>, _>>().err(), None);
        }
        let refused = Err(StoreError::TooManyMessages);
        assert_eq!(list.add_message(message(MAX)).await, refused);
        assert_eq!(list.add_message(message(0)).await, Ok(()), "it is there");
        assert_eq!(list.messages().await.map(|it| it.len()), Ok(MAX as usize));
    });
}

/// A batch that is too large could make a list in a directory unreadable after a power cut.
async fn too_many_items_are_refused(fixture: impl StoreFixture) {
    let list = fixture.open();
    let launch = &id("launch");
    let message = Message::new(launch.clone(), UNIX_EPOCH, "Hi");
    assert_eq!(list.add_message(message).await, Ok(()));
    for (count, is_refused) in [(CALL_MAX + 1, true), (CALL_MAX, false)] {
        let numbers = || 0..count as u32;
        let emails: Vec<_> = numbers()
            .map(|it| email(&format!("{it}@example.com")))
            .collect();
        let people = emails.iter().map(|it| entry(it.as_typed(), 7)).collect();
        let added = numbers().map(|it| Delivery::waiting(hash(it))).collect();
        let starts = numbers()
            .map(|it| start(it, DeliveryState::Waiting, 0))
            .collect();
        let results = numbers()
            .map(|it| result(it, 1, status(DeliveryState::Accepted, None)))
            .collect();
        let outcomes = [
            list.join_all(people).await.err(),
            list.find(&emails).await.err(),
            list.suppress(&emails).await.err(),
            list.lift(&emails).await.err(),
            list.add_deliveries(launch, 0, added).await.err(),
            list.begin_deliveries(launch, starts).await.err(),
            list.finish_deliveries(launch, results).await.err(),
            list.erase(&emails, Erasure::Complete).await.err(),
        ];
        let expected = is_refused.then_some(StoreError::CallTooLarge);
        assert!(outcomes.iter().all(|it| *it == expected), "{outcomes:?}");
    }
}
