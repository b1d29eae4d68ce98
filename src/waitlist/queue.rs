//! The queue in front of a store's committer.
//!
//! The committer processes the queue in batches and replies to a whole batch at once, so requests that wait at the
//! same time share its cost.

use std::time::{Duration, SystemTime};

use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    email::Email,
    entry::{Fact, WaitlistEntry},
    error::{StoreError, StoreFuture},
    ledger_request::LedgerRequest,
    reply::ReplySender,
    store::{CorrectOutcome, Erasure, JoinOutcome},
    suppression::{ListKey, SuppressionItem},
};

/// Maximum number of requests that wait for the committer. Further requests are rejected at once. It is half of a
/// server's connections: while a store is stuck, visitors still get the page through the other half.
const QUEUE_MAX_REQUESTS: usize = 2048;
/// Maximum time until a reply, and so the time that a visitor waits for a sign-up. It keeps callers from waiting for
/// a store that no longer writes.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time until a store reports that it is ready. It is short, so that a health check fails soon.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// A request to a committer, with the sender for its reply.
pub(super) enum Request {
    Join(WaitlistEntry, ReplySender<JoinOutcome>),
    /// At most as many entries as fit into a batch.
    JoinAll(Vec<WaitlistEntry>, ReplySender<Vec<JoinOutcome>>),
    Erase(EraseTask, ReplySender<Vec<bool>>),
    Correct(Correction, ReplySender<CorrectOutcome>),
    /// At most one batch of facts. A fact counts like an entry.
    AddFacts(Vec<NewFact>, ReplySender<Vec<bool>>),
    /// At most one batch of suppressions. One counts like an entry.
    AddSuppressions(Vec<SuppressionItem>, ReplySender<Vec<()>>),
    /// At most one batch of addresses (see [`Email::key`]) whose suppressions are lifted if they are on the list.
    LiftListed(Vec<String>, ReplySender<Vec<bool>>),
    /// Only for the sled store. In a database, the ledger has a separate connection.
    Ledger(LedgerRequest),
    /// Asks only for the reply.
    Ready(ReplySender<()>),
}

/// Addresses, and what a store found when it searched for them before the request.
pub(super) struct AddressSearch {
    /// The addresses, see [`Email::key`].
    pub(super) keys: Vec<String>,
    /// The first numbers of the records that have the entries of the addresses, or facts about them.
    pub(super) records: Vec<u64>,
    /// The number of these entries and facts.
    pub(super) item_count: u64,
    /// The end of the search: items with lower numbers were searched.
    pub(super) searched_up_to: u64,
}

impl AddressSearch {
    /// Returns the addresses without a search.
    pub(super) fn not_searched(emails: &[Email]) -> Self {
        Self {
            keys: emails.iter().map(Email::key).collect(),
            records: Vec::new(),
            item_count: 0,
            searched_up_to: 0,
        }
    }
}

/// A request to erase addresses.
pub(super) struct EraseTask {
    pub(super) addresses: AddressSearch,
    /// Suppresses the addresses too: with this key, if the list has none. `None` suppresses nobody.
    pub(super) suppress_with: Option<ListKey>,
    /// See [`Erasure::Unconfirmed`].
    pub(super) unconfirmed_before: Option<SystemTime>,
}

impl EraseTask {
    /// Prepares an erasure, with a new key if it needs one.
    pub(super) fn new(addresses: AddressSearch, erasure: Erasure) -> Result<Self, StoreError> {
        let (suppress_with, unconfirmed_before) = match erasure {
            Erasure::Complete => (None, None),
            Erasure::Suppress => (Some(ListKey::generate()?), None),
            Erasure::Unconfirmed { before } => (None, Some(before)),
        };
        Ok(Self {
            addresses,
            suppress_with,
            unconfirmed_before,
        })
    }
}

/// A request to give the entry of one address another address.
pub(super) struct Correction {
    /// The old address.
    pub(super) old: AddressSearch,
    pub(super) new: Email,
}

/// A fact to record about the entry of an address.
pub(super) struct NewFact {
    /// The address, see [`Email::key`].
    pub(super) key: String,
    pub(super) fact: Fact,
    /// The number of the entry, if the store has searched for it before the request.
    pub(super) entry: Option<u64>,
}

impl NewFact {
    /// Returns facts without a search.
    pub(super) fn not_searched(facts: Vec<(Email, Fact)>) -> Vec<Self> {
        let facts = facts.into_iter().map(|(email, fact)| Self {
            key: email.key(),
            fact,
            entry: None,
        });
        facts.collect()
    }
}

impl Request {
    /// Returns whether the client has gone, so that nobody waits for the reply.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::Join(_, reply) => reply.is_closed(),
            Self::JoinAll(_, reply) => reply.is_closed(),
            Self::Erase(_, reply) => reply.is_closed(),
            Self::Correct(_, reply) => reply.is_closed(),
            Self::AddFacts(_, reply) => reply.is_closed(),
            Self::AddSuppressions(_, reply) => reply.is_closed(),
            Self::LiftListed(_, reply) => reply.is_closed(),
            Self::Ledger(request) => request.is_abandoned(),
            Self::Ready(reply) => reply.is_closed(),
        }
    }

    pub(super) fn fail(self, error: StoreError) {
        // Sending fails if the client has gone.
        match self {
            Self::Join(_, reply) => drop(reply.send(Err(error))),
            Self::JoinAll(_, reply) => drop(reply.send(Err(error))),
            Self::Erase(_, reply) => drop(reply.send(Err(error))),
            Self::Correct(_, reply) => drop(reply.send(Err(error))),
            Self::AddFacts(_, reply) => drop(reply.send(Err(error))),
            Self::AddSuppressions(_, reply) => drop(reply.send(Err(error))),
            Self::LiftListed(_, reply) => drop(reply.send(Err(error))),
            Self::Ledger(request) => request.fail(error),
            Self::Ready(reply) => drop(reply.send(Err(error))),
        }
    }

    /// Returns how much of a batch of `max_entries` entries the request takes. An erasure or a correction fills the
    /// batch, because it may write more than all requests before it.
    fn batch_cost(&self, max_entries: usize) -> usize {
        match self {
            Self::Join(..) => 1,
            Self::JoinAll(entries, _) => entries.len(),
            Self::AddFacts(facts, _) => facts.len(),
            Self::AddSuppressions(items, _) => items.len(),
            Self::LiftListed(addresses, _) => addresses.len(),
            Self::Ledger(request) => request.batch_cost(),
            Self::Erase(..) | Self::Correct(..) => max_entries,
            Self::Ready(_) => 0,
        }
    }
}

/// Removes the first requests, up to a batch of `max_entries` entries.
pub(super) fn take_batch(
    requests: &mut Vec<Request>,
    max_entries: usize,
) -> impl Iterator<Item = Request> {
    let mut taken = 0;
    let batch_end = requests.iter().position(|request| {
        taken += request.batch_cost(max_entries);
        taken > max_entries
    });
    requests.drain(..batch_end.unwrap_or(requests.len()))
}

/// The callers' end of the queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    requests: mpsc::Sender<Request>,
    batch_max: usize,
}

impl Queue {
    /// Creates a queue for a committer whose batches have at most `batch_max` entries. Also returns the committer's
    /// end.
    pub(super) fn new(batch_max: usize) -> (Self, mpsc::Receiver<Request>) {
        let (requests, receiver) = mpsc::channel(QUEUE_MAX_REQUESTS);
        let queue = Self {
            requests,
            batch_max,
        };
        (queue, receiver)
    }

    /// See [`super::Waitlist::join`].
    pub(super) fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        self.request(REPLY_TIMEOUT, |reply| Request::Join(entry, reply))
    }

    /// See [`super::Waitlist::join_all`].
    pub(super) fn join_all(
        &self,
        entries: Vec<WaitlistEntry>,
    ) -> StoreFuture<'_, Vec<JoinOutcome>> {
        Box::pin(self.enqueue_batches(entries, Request::JoinAll))
    }

    /// See [`super::Waitlist::add_facts`].
    pub(super) fn add_facts(&self, facts: Vec<NewFact>) -> StoreFuture<'_, Vec<bool>> {
        Box::pin(self.enqueue_batches(facts, Request::AddFacts))
    }

    /// See [`super::Waitlist::add_suppressions`].
    pub(super) fn add_suppressions(&self, items: Vec<SuppressionItem>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.enqueue_batches(items, Request::AddSuppressions)
                .await?;
            Ok(())
        })
    }

    /// See [`super::Waitlist::lift_listed`].
    pub(super) fn lift_listed(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let keys = emails.iter().map(Email::key).collect();
        Box::pin(self.enqueue_batches(keys, Request::LiftListed))
    }

    /// See [`super::Waitlist::erase`].
    pub(super) fn erase(&self, erasure: EraseTask) -> StoreFuture<'_, Vec<bool>> {
        Box::pin(async move {
            let (reply, response) = oneshot::channel();
            self.enqueue(Request::Erase(erasure, reply)).await?;
            await_reply(REPLY_TIMEOUT, response).await
        })
    }

    /// See [`super::Waitlist::correct`].
    pub(super) fn correct(&self, correction: Correction) -> StoreFuture<'_, CorrectOutcome> {
        Box::pin(async move {
            let (reply, response) = oneshot::channel();
            self.enqueue(Request::Correct(correction, reply)).await?;
            await_reply(REPLY_TIMEOUT, response).await
        })
    }

    /// Sends a request about the ledger, which waits for space in the queue.
    pub(super) fn ledger<T: Send + 'static>(
        &self,
        request: impl FnOnce(ReplySender<T>) -> LedgerRequest + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(async move {
            let (reply, response) = oneshot::channel();
            self.enqueue(Request::Ledger(request(reply))).await?;
            await_reply(REPLY_TIMEOUT, response).await
        })
    }

    /// Waits until all earlier requests are done, however long they take. It blocks, so do not call it from a task.
    pub(super) fn blocking_barrier(&self) -> Result<(), StoreError> {
        let (reply, response) = oneshot::channel();
        let sent = self.requests.blocking_send(Request::Ready(reply));
        sent.map_err(|_| StoreError::Stopped)?;
        response.blocking_recv().map_err(|_| StoreError::Stopped)?
    }

    /// Waits until all earlier requests are done.
    pub(super) fn barrier(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let (reply, response) = oneshot::channel();
            self.enqueue(Request::Ready(reply)).await?;
            await_reply(REPLY_TIMEOUT, response).await
        })
    }

    /// See [`super::Waitlist::ready`].
    pub(super) fn ready(&self) -> StoreFuture<'_, ()> {
        self.request(READY_TIMEOUT, Request::Ready)
    }

    /// Closes the queue. The committer processes the requests that are in it, and ends.
    pub(super) fn close(&mut self) {
        (self.requests, _) = mpsc::channel(1);
    }

    /// Sends a request to the committer and waits for the reply. Fails at once if the queue is full.
    fn request<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl FnOnce(ReplySender<T>) -> Request,
    ) -> StoreFuture<'static, T> {
        let (reply, response) = oneshot::channel();
        let sent = self.requests.try_send(request(reply));
        let sent = sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy,
            mpsc::error::TrySendError::Closed(_) => StoreError::Stopped,
        });
        Box::pin(async move {
            sent?;
            await_reply(limit, response).await
        })
    }

    /// Sends the items of a request from the owner in batches, and returns the results for all items.
    async fn enqueue_batches<I, R>(
        &self,
        items: Vec<I>,
        request: impl Fn(Vec<I>, ReplySender<Vec<R>>) -> Request,
    ) -> Result<Vec<R>, StoreError> {
        let (mut items, mut waiting) = (items.into_iter(), Vec::new());
        while items.len() > 0 {
            let batch = items.by_ref().take(self.batch_max).collect();
            let (reply, response) = oneshot::channel();
            self.enqueue(request(batch, reply)).await?;
            waiting.push(response);
        }
        let mut results = Vec::new();
        for response in waiting {
            results.extend(await_reply(REPLY_TIMEOUT, response).await?);
        }
        Ok(results)
    }

    /// Sends a request from the owner, which waits for space in the queue.
    async fn enqueue(&self, request: Request) -> Result<(), StoreError> {
        let sent = self.requests.send(request).await;
        sent.map_err(|_| StoreError::Stopped)
    }
}

async fn await_reply<T>(
    limit: Duration,
    response: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let response = timeout(limit, response).await;
    let response = response.map_err(|_| StoreError::TimedOut)?;
    response.map_err(|_| StoreError::Stopped)?
}
