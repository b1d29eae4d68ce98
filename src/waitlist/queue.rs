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
    Answer, Email, Entry, Joined, StoreError,
    stop::{FAILED, report_and_exit},
};

/// Requests that may wait for the committer. Beyond it they are turned away at once. Half of the
/// connections that a server has: while a store is stuck, visitors still get the page through the others.
const QUEUE_MAX: usize = 2048;
/// How long an answer may take. A store that does not write any more must not keep people waiting.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How long a store may take to say that it is ready: who asks would rather know soon that it is not.
const READY_PATIENCE: Duration = Duration::from_secs(2);

/// Where a committer answers.
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What is asked of a committer, and who waits for the answer.
pub(super) enum Request {
    Join(Entry, Reply<Joined>),
    /// At most as many as a batch may have.
    JoinAll(Vec<Entry>, Reply<Vec<Joined>>),
    Erase(Erasure, Reply<Vec<bool>>),
    /// Nothing but the answer.
    Ready(Reply<()>),
}

/// Addresses that are to be taken off the list.
pub(super) struct Erasure {
    /// See [`Email::key`].
    pub(super) keys: Vec<String>,
    /// The records that have them, where the store has searched for them before it asks.
    pub(super) records: Vec<u64>,
    /// Entries with lower numbers were searched.
    pub(super) searched: u64,
}

impl Erasure {
    /// Without a search.
    pub(super) fn of(emails: &[Email]) -> Self {
        Self {
            keys: emails.iter().map(Email::key).collect(),
            records: Vec::new(),
            searched: 0,
        }
    }
}

impl Request {
    /// Nobody waits any more: the client has gone.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::Join(_, answer) => answer.is_closed(),
            Self::JoinAll(_, answer) => answer.is_closed(),
            Self::Erase(_, answer) => answer.is_closed(),
            Self::Ready(answer) => answer.is_closed(),
        }
    }

    pub(super) fn fail(self, error: StoreError) {
        // Whoever has left needs no answer.
        match self {
            Self::Join(_, answer) => drop(answer.send(Err(error))),
            Self::JoinAll(_, answer) => drop(answer.send(Err(error))),
            Self::Erase(_, answer) => drop(answer.send(Err(error))),
            Self::Ready(answer) => drop(answer.send(Err(error))),
        }
    }

    /// What it takes of a batch of `most` entries. An erasure ends it: it may write more than all before.
    fn entries(&self, most: usize) -> usize {
        match self {
            Self::Join(..) => 1,
            Self::JoinAll(entries, _) => entries.len(),
            Self::Erase(..) => most,
            Self::Ready(_) => 0,
        }
    }
}

/// Takes the first requests of those that were taken from the queue, as many as make a batch of `most`
/// entries.
pub(super) fn take_batch(
    requests: &mut Vec<Request>,
    most: usize,
) -> impl Iterator<Item = Request> {
    let mut taken = 0;
    let more = requests.iter().position(|request| {
        taken += request.entries(most);
        taken > most
    });
    requests.drain(..more.unwrap_or(requests.len()))
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
        let (requests, committers) = mpsc::channel(QUEUE_MAX);
        let queue = Self {
            requests,
            batch_max,
        };
        (queue, committers)
    }

    /// See [`super::Waitlist::join`].
    pub(super) fn join(&self, entry: Entry) -> Answer<'_, Joined> {
        self.ask(ANSWER_PATIENCE, |answer| Request::Join(entry, answer))
    }

    /// See [`super::Waitlist::join_all`].
    pub(super) fn join_all(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Joined>> {
        Box::pin(async move {
            let (mut entries, mut waiting) = (entries.into_iter(), Vec::new());
            while entries.len() > 0 {
                let batch = entries.by_ref().take(self.batch_max).collect();
                let (answer, answered) = oneshot::channel();
                self.wait_for_room(Request::JoinAll(batch, answer)).await?;
                waiting.push(answered);
            }
            let mut joined = Vec::new();
            for answered in waiting {
                joined.extend(in_time(ANSWER_PATIENCE, answered).await?);
            }
            Ok(joined)
        })
    }

    /// See [`super::Waitlist::erase`].
    pub(super) fn erase(&self, erasure: Erasure) -> Answer<'_, Vec<bool>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.wait_for_room(Request::Erase(erasure, answer)).await?;
            in_time(ANSWER_PATIENCE, answered).await
        })
    }

    /// Waits until everything that was asked before is done.
    pub(super) fn barrier(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.wait_for_room(Request::Ready(answer)).await?;
            in_time(ANSWER_PATIENCE, answered).await
        })
    }

    /// See [`super::Waitlist::ready`].
    pub(super) fn ready(&self) -> Answer<'_, ()> {
        self.ask(READY_PATIENCE, Request::Ready)
    }

    /// Lets nobody in any more. The committer does what is asked already, and ends.
    pub(super) fn close(&mut self) {
        (self.requests, _) = mpsc::channel(1);
    }

    /// Asks the committer, and waits for what it answers. Who finds no place is told at once.
    fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        request: impl FnOnce(Reply<T>) -> Request,
    ) -> Answer<'static, T> {
        let (answer, answered) = oneshot::channel();
        let sent = self.requests.try_send(request(answer));
        let sent = sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy,
            mpsc::error::TrySendError::Closed(_) => StoreError::Stopped,
        });
        Box::pin(async move {
            sent?;
            in_time(patience, answered).await
        })
    }

    /// For the owner, who is not turned away.
    async fn wait_for_room(&self, request: Request) -> Result<(), StoreError> {
        let sent = self.requests.send(request).await;
        sent.map_err(|_| StoreError::Stopped)
    }
}

async fn in_time<T>(
    patience: Duration,
    answered: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let answered = timeout(patience, answered).await;
    let answered = answered.map_err(|_| StoreError::TimedOut)?;
    answered.map_err(|_| StoreError::Stopped)?
}

/// The name of a store's thread.
pub(super) const THREAD: &str = "committer";

task_local! {
    /// That a task is a store's.
    static OF_THE_STORE: ();
}

/// A task of a store, see [`stop_if_the_store_panics`].
pub(super) fn of_the_store<F: Future>(task: F) -> TaskLocalFuture<(), F> {
    OF_THE_STORE.scope((), task)
}

/// From now on the process ends when a thread or a task of the store panics: sled's own threads would leave
/// those who wait for a write waiting, and without the committer nobody could sign up. Who watches over the
/// process starts it anew.
pub fn stop_if_the_store_panics() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or_default();
        if name == THREAD || name.starts_with("sled-io-") || OF_THE_STORE.try_with(|()| ()).is_ok()
        {
            // Not by the log, which may write it too late.
            let place = panic.location().map(ToString::to_string);
            report_and_exit(
                &format!(
                    "a fault of the store at {}; it stops, and everything that was acknowledged is kept. Start \
                 it again",
                    place.as_deref().unwrap_or("a place unknown")
                ),
                FAILED,
            );
        }
        tell(panic);
    }));
}
