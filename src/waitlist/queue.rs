//! The queue before a store's committer, which does what is asked in batches and then answers everybody
//! in one: who waits at the same time shares the cost of it.

use std::{panic, thread, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    task::futures::TaskLocalFuture,
    task_local,
    time::timeout,
};

use super::{
    Email, JoinOutcome, StoreError, StoreFuture, WaitlistEntry,
    exit::{EXIT_FAILURE, print_and_exit},
};

/// Requests that may wait for the committer. Beyond it they are turned away at once. Half of the
/// connections that a server has: while a store is stuck, visitors still get the page through the others.
const QUEUE_MAX_REQUESTS: usize = 2048;
/// How long an answer may take. A store that does not write any more must not keep people waiting.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a store may take to say that it is ready: who asks would rather know soon that it is not.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// Where a committer answers.
pub(super) type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// What is asked of a committer, and who waits for the answer.
pub(super) enum Request {
    Join(WaitlistEntry, ReplySender<JoinOutcome>),
    /// At most as many as a batch may have.
    JoinAll(Vec<WaitlistEntry>, ReplySender<Vec<JoinOutcome>>),
    Erase(Erasure, ReplySender<Vec<bool>>),
    /// Nothing but the answer.
    Ready(ReplySender<()>),
}

/// Addresses that are to be taken off the list.
pub(super) struct Erasure {
    /// See [`Email::key`].
    pub(super) keys: Vec<String>,
    /// The records that have them, where the store has searched for them before it asks.
    pub(super) records: Vec<u64>,
    /// Entries with lower numbers were searched.
    pub(super) searched_up_to: u64,
}

impl Erasure {
    /// Without a search.
    pub(super) fn without_search(emails: &[Email]) -> Self {
        Self {
            keys: emails.iter().map(Email::key).collect(),
            records: Vec::new(),
            searched_up_to: 0,
        }
    }
}

impl Request {
    /// Nobody waits any more: the client has gone.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::Join(_, reply) => reply.is_closed(),
            Self::JoinAll(_, reply) => reply.is_closed(),
            Self::Erase(_, reply) => reply.is_closed(),
            Self::Ready(reply) => reply.is_closed(),
        }
    }

    pub(super) fn fail(self, error: StoreError) {
        // Whoever has left needs no answer.
        match self {
            Self::Join(_, reply) => drop(reply.send(Err(error))),
            Self::JoinAll(_, reply) => drop(reply.send(Err(error))),
            Self::Erase(_, reply) => drop(reply.send(Err(error))),
            Self::Ready(reply) => drop(reply.send(Err(error))),
        }
    }

    /// What it takes of a batch of `max_entries` entries. An erasure ends it: it may write more than all before.
    fn batch_cost(&self, max_entries: usize) -> usize {
        match self {
            Self::Join(..) => 1,
            Self::JoinAll(entries, _) => entries.len(),
            Self::Erase(..) => max_entries,
            Self::Ready(_) => 0,
        }
    }
}

/// Takes the first requests of those that were taken from the queue, as many as make a batch of `max_entries`
/// entries.
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

/// The end of the queue that people stand at.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    requests: mpsc::Sender<Request>,
    batch_max: usize,
}

impl Queue {
    /// A queue for a committer whose batches have at most so many entries, and the committer's end of it.
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
        Box::pin(async move {
            let (mut entries, mut waiting) = (entries.into_iter(), Vec::new());
            while entries.len() > 0 {
                let batch = entries.by_ref().take(self.batch_max).collect();
                let (reply, response) = oneshot::channel();
                self.enqueue(Request::JoinAll(batch, reply)).await?;
                waiting.push(response);
            }
            let mut joined = Vec::new();
            for response in waiting {
                joined.extend(await_reply(REPLY_TIMEOUT, response).await?);
            }
            Ok(joined)
        })
    }

    /// See [`super::Waitlist::erase`].
    pub(super) fn erase(&self, erasure: Erasure) -> StoreFuture<'_, Vec<bool>> {
        Box::pin(async move {
            let (reply, response) = oneshot::channel();
            self.enqueue(Request::Erase(erasure, reply)).await?;
            await_reply(REPLY_TIMEOUT, response).await
        })
    }

    /// Waits until everything that was asked before is done.
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

    /// Lets nobody in any more. The committer does what is asked already, and ends.
    pub(super) fn close(&mut self) {
        (self.requests, _) = mpsc::channel(1);
    }

    /// Asks the committer, and waits for what it answers. Who finds no place is told at once.
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

    /// For the owner, who is not turned away.
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

/// The name of a store's thread.
pub(super) const COMMITTER_THREAD_NAME: &str = "committer";

task_local! {
    /// That a task is a store's.
    static STORE_TASK: ();
}

/// A task of a store, see [`exit_on_store_panic`].
pub(super) fn store_task<F: Future>(task: F) -> TaskLocalFuture<(), F> {
    STORE_TASK.scope((), task)
}

/// From now on the process ends when a thread or a task of the store panics: sled's own threads would leave
/// those who wait for a write waiting, and without the committer nobody could sign up. Who watches over the
/// process starts it anew.
pub fn exit_on_store_panic() {
    let previous_hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or_default();
        if name == COMMITTER_THREAD_NAME
            || name.starts_with("sled-io-")
            || STORE_TASK.try_with(|()| ()).is_ok()
        {
            // Not by the log, which may write it too late.
            let location = panic.location().map(ToString::to_string);
            print_and_exit(
                &format!(
                    "a fault of the store at {}; it stops, and everything that was acknowledged is kept. Start \
                 it again",
                    location.as_deref().unwrap_or("a place unknown")
                ),
                EXIT_FAILURE,
            );
        }
        previous_hook(panic);
    }));
}
