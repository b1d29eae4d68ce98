//! The queue in front of a store's committer.
//!
//! The committer processes the queue in batches and replies to a whole batch at once, so requests that wait at the
//! same time share its cost.

use std::{sync::Weak, time::Duration};

use futures_util::future::try_join_all;
use tokio::{
    sync::{mpsc, oneshot},
    task::futures::TaskLocalFuture,
    task_local,
    time::{Instant, timeout, timeout_at},
};

use super::error::{StoreError, StoreFuture};

/// Maximum number of requests that wait for the committer. Further requests are rejected at once. It is half of a
/// server's connections: while a store is stuck, visitors still get the page through the other half.
const QUEUE_MAX_REQUESTS: usize = 2048;
/// Maximum time until a reply, and so the time that a visitor waits for a sign-up. It keeps callers from waiting for
/// a store that no longer writes.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// As good as no limit.
pub(super) const NO_TIMEOUT: Duration = Duration::from_secs(1 << 30);
/// Maximum time until a store reports that it is ready. It is short, so that a health check fails soon.
pub(super) const READY_TIMEOUT: Duration = Duration::from_secs(2);

task_local! {
    /// The visitor of the calls of a task. When it is dropped, the visitor has gone.
    static VISITOR: Weak<()>;
}

/// Makes calls for a visitor, who has gone when `visitor` is dropped: then a call that has not begun has no effect, and one
/// that has begun still returns its reply.
pub fn for_visitor<F: Future>(visitor: Weak<()>, calls: F) -> TaskLocalFuture<Weak<()>, F> {
    VISITOR.scope(visitor, calls)
}

/// Carries the reply of a committer.
pub(super) struct ReplySender<T> {
    sender: oneshot::Sender<Result<T, StoreError>>,
    /// Until when the caller waits.
    until: Instant,
    visitor: Option<Weak<()>>,
}

impl<T> ReplySender<T> {
    /// Returns whether nobody waits for the reply of a request that has not begun, so that it must have no effect.
    pub(super) fn is_abandoned(&self) -> bool {
        let visitor = self.visitor.as_ref();
        self.is_expired() || visitor.is_some_and(|visitor| visitor.strong_count() == 0)
    }

    /// Returns whether the caller does not wait any more. The time decides too: after a process hung, its committer may run
    /// before its callers find that they have waited too long. By then, a load balancer has sent a sign-up elsewhere, and the
    /// person may have been erased.
    pub(super) fn is_expired(&self) -> bool {
        self.sender.is_closed() || self.until <= Instant::now()
    }

    /// Sends the reply. Does nothing if the caller has gone.
    pub(super) fn send(self, reply: Result<T, StoreError>) {
        let _ = self.sender.send(reply);
    }
}

/// The callers' end of a queue of requests. A request is made from the sender for its reply.
pub(super) struct Queue<R> {
    requests: mpsc::Sender<R>,
}

impl<R: Send + 'static> Queue<R> {
    /// Creates a queue. Also returns the committer's end.
    pub(super) fn new() -> (Self, mpsc::Receiver<R>) {
        let (requests, receiver) = mpsc::channel(QUEUE_MAX_REQUESTS);
        (Self { requests }, receiver)
    }

    /// Sends a visitor's request, and waits for the reply. Fails at once if the queue is full.
    pub(super) fn request<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl FnOnce(ReplySender<T>) -> R,
    ) -> StoreFuture<'static, T> {
        let (reply, response) = reply_channel(limit);
        let sent = self.requests.try_send(request(reply));
        let sent = sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy,
            mpsc::error::TrySendError::Closed(_) => StoreError::Stopped,
        });
        Box::pin(async move {
            sent?;
            response.await
        })
    }

    /// Sends a request of the owner, which waits for space in the queue, and waits for the reply.
    pub(super) async fn enqueue<T>(
        &self,
        limit: Duration,
        request: impl FnOnce(ReplySender<T>) -> R,
    ) -> Result<T, StoreError> {
        self.send(limit, request).await?.await
    }

    /// Sends requests of the owner in this order, and waits for all replies.
    pub(super) async fn enqueue_all<T>(
        &self,
        requests: impl Iterator<Item = impl FnOnce(ReplySender<T>) -> R>,
    ) -> Result<Vec<T>, StoreError> {
        let mut responses = Vec::new();
        for request in requests {
            responses.push(self.send(REPLY_TIMEOUT, request).await?);
        }
        try_join_all(responses).await
    }

    /// Sends a request once the queue has space, for which it waits as long as for the reply. Returns the reply, for which the
    /// caller waits.
    async fn send<T>(
        &self,
        limit: Duration,
        request: impl FnOnce(ReplySender<T>) -> R,
    ) -> Result<impl Future<Output = Result<T, StoreError>>, StoreError> {
        let space = timeout(limit, self.requests.reserve()).await;
        let space = space.map_err(|_| StoreError::TimedOut)?;
        let space = space.map_err(|_| StoreError::Stopped)?;
        let (reply, response) = reply_channel(limit);
        space.send(request(reply));
        Ok(response)
    }

    /// Sends a request, and waits for the reply, however long it takes. It blocks, so do not call it from a task.
    pub(super) fn blocking_request<T>(
        &self,
        request: impl FnOnce(ReplySender<T>) -> R,
    ) -> Result<T, StoreError> {
        let (sender, response) = oneshot::channel();
        let reply = ReplySender {
            sender,
            until: Instant::now() + NO_TIMEOUT,
            visitor: None,
        };
        let sent = self.requests.blocking_send(request(reply));
        sent.map_err(|_| StoreError::Stopped)?;
        response.blocking_recv().map_err(|_| StoreError::Stopped)?
    }

    /// Closes the queue. The committer processes the requests that are in it, and ends.
    pub(super) fn close(&mut self) {
        (self.requests, _) = mpsc::channel(1);
    }
}

/// Removes the first requests, up to a batch that costs `max`. It takes at least one, however much that costs.
pub(super) fn take_batch<R>(
    requests: &mut Vec<R>,
    max: usize,
    cost: impl Fn(&R) -> usize,
) -> impl Iterator<Item = R> {
    let mut taken = 0;
    let batch_end = requests.iter().position(|request| {
        taken += cost(request);
        taken > max
    });
    let batch_end = batch_end.map_or(requests.len(), |end| end.max(1));
    requests.drain(..batch_end)
}

/// Creates the sender of a reply, and the reply, which comes within a time.
fn reply_channel<T>(
    limit: Duration,
) -> (ReplySender<T>, impl Future<Output = Result<T, StoreError>>) {
    let (sender, receiver) = oneshot::channel();
    let until = Instant::now() + limit;
    let response = async move {
        match timeout_at(until, receiver).await {
            Ok(Ok(reply)) => reply,
            // An abandoned request gets no reply.
            Ok(Err(_)) if Instant::now() < until => Err(StoreError::Stopped),
            _ => Err(StoreError::TimedOut),
        }
    };
    let visitor = VISITOR.try_with(Weak::clone).ok();
    let reply = ReplySender {
        sender,
        until,
        visitor,
    };
    (reply, response)
}
