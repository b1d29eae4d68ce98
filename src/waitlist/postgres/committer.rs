//! The task that commits requests in batches, and the task that polls the count.

use std::{
    ops::RangeInclusive,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use super::{
    super::{
        queue::{Queue, READY_TIMEOUT},
        store_panic::store_task,
    },
    batch::{Batch, Request},
    connection::Connection,
    connector::Connector,
    error::{Failure, FailureKind},
    schema,
    state::State,
    writer::Writer,
};

/// Maximum number of requests in a batch, and so of entries in a statement.
const BATCH_MAX_REQUESTS: usize = 512;
/// Maximum number of requests that a batch waits for. It waits for as many as the last batch had, and arrived during it.
///
/// A transaction costs the database as much as twenty sign-ups in it. Without the wait, clients split into two groups
/// that alternate. With three instances and 16 clients, the database then did 70 % more work per client, and a fifth
/// fewer sign-ups succeeded. A lone request is not delayed.
const COALESCE_MAX_REQUESTS: usize = 16;
/// Maximum time of that wait. With the resolution of the timer it becomes one or two milliseconds.
const COALESCE_TIMEOUT: Duration = Duration::from_millis(1);
/// First and longest pause between two attempts.
const RETRY_BACKOFF: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];
/// Failures shorter than this are not an outage: a connection that breaks, a database that restarts, a locked row of
/// the count. Visitors wait longer than this (`REPLY_TIMEOUT` in `queue`).
const OUTAGE_MIN_DURATION: Duration = Duration::from_secs(3);
/// How long an inserted entry proves that sign-ups work. Readiness checks are public, so not each of them may cause a
/// write.
const PROBE_VALIDITY: Duration = Duration::from_secs(1);

/// Number of entries, and bytes of text in each, that must fit before an outage is over.
///
/// Together they are more than a page of 8 KiB. Otherwise an almost full disk would begin a new outage with each
/// sign-up that does not fit. The entries are few, because a trigger may be slow. Each is shorter than 2 KiB, because
/// PostgreSQL compresses longer ones.
const PROBE_AFTER_OUTAGE: (usize, usize) = (5, 1_900);

/// Pause between two reads of the count, which other instances change too.
const COUNT_INTERVAL: Duration = Duration::from_millis(250);

/// Commits the sign-ups of this process.
pub(super) struct PostgresCommitter {
    connector: Arc<Connector>,
    state: Arc<State>,
    /// The row in which this instance counts.
    slot: i64,
    /// When an entry was last inserted, if nothing has failed since.
    last_success: Option<Instant>,
    /// From the beginning of the first failed attempt to the end of the last one, if none has succeeded since.
    failures: Option<RangeInclusive<Instant>>,
}

impl PostgresCommitter {
    pub(super) fn new(connector: Arc<Connector>, state: Arc<State>) -> Self {
        Self {
            connector,
            state,
            slot: schema::random_slot(None),
            last_success: None,
            failures: None,
        }
    }

    /// Commits requests until the task is aborted.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        let mut writer = None;
        let mut requests = Vec::with_capacity(BATCH_MAX_REQUESTS);
        let mut expected = 0;
        while queue.recv_many(&mut requests, BATCH_MAX_REQUESTS).await > 0 {
            wait_for_more_requests(
                expected.min(COALESCE_MAX_REQUESTS),
                &mut queue,
                &mut requests,
            )
            .await;
            expected = requests.len();
            requests.retain(|request| !request.is_abandoned());
            self.commit(Batch::new(requests.drain(..)), &mut writer)
                .await;
            expected += queue.len();
        }
    }

    /// Retries a batch until it succeeds, or until all its clients have gone.
    async fn commit(&mut self, mut batch: Batch, writer: &mut Option<Writer>) {
        let [mut pause, longest] = RETRY_BACKOFF;
        while !batch.is_abandoned() {
            let started = Instant::now();
            match self.try_to_commit(&mut batch, writer).await {
                Ok(()) => {
                    self.failures = None;
                    // A separate task sends the replies, so that the next batch starts before they are sent.
                    tokio::spawn(store_task(async { batch.send_replies() }));
                    return;
                }
                // Other clients change the same rows, and a retry succeeds: this is not an outage.
                Err(failure) if failure.kind == FailureKind::Conflict => {}
                Err(failure) => {
                    let first = self
                        .failures
                        .take()
                        .filter(|it| it.end().elapsed() < OUTAGE_MIN_DURATION);
                    let first = first.map_or(started, |it| *it.start());
                    self.failures = Some(first..=Instant::now());
                    self.handle_failure(failure, &mut batch);
                }
            }
            sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }

    /// Connects if necessary, and commits a batch once.
    async fn try_to_commit(
        &mut self,
        batch: &mut Batch,
        connected: &mut Option<Writer>,
    ) -> Result<(), Failure> {
        let usable = match connected.take().filter(|it| it.connection.is_usable()) {
            Some(usable) => usable,
            None => {
                let connection = self.connector.connect().await?;
                Writer::begin(connection, &self.state, self.slot).await?
            }
        };
        let writer = connected.insert(usable);
        let has_recent_success = self
            .last_success
            .is_some_and(|at| at.elapsed() < PROBE_VALIDITY);
        if batch.has_readiness_check() && !has_recent_success {
            self.probe(writer).await?;
        }
        let done = batch.commit(writer).await;
        self.slot = writer.slot;
        match done {
            Ok(has_inserted) => {
                if has_inserted && self.state.outage.borrow().is_none() {
                    self.last_success = Some(Instant::now());
                }
                Ok(())
            }
            // The writer knows the new epoch, or is no longer usable. Either way, a retry may succeed.
            Err(Failure {
                kind: FailureKind::OtherEpoch | FailureKind::NoSlot,
                ..
            }) => Err(Failure::conflict()),
            Err(failure) => Err(failure),
        }
    }

    /// Checks that sign-ups work, and ends the outage if they do.
    async fn probe(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let has_outage = self.state.outage.borrow().is_some();
        let (entries, width) = if has_outage {
            PROBE_AFTER_OUTAGE
        } else {
            (1, 0)
        };
        writer.probe(entries, width).await?;
        self.last_success = Some(Instant::now());
        if has_outage {
            // A failure from now on is another outage only if it lasts.
            self.failures = None;
        }
        self.state.end_outage();
        Ok(())
    }

    /// Prepares the next attempt after a failure, begins an outage if it lasts, and fails requests that need not wait.
    fn handle_failure(&mut self, failure: Failure, batch: &mut Batch) {
        self.last_success = None;
        if failure.kind.is_slow() || failure.kind == FailureKind::NoSlot {
            self.slot = schema::random_slot(Some(self.slot));
        }
        let is_lasting = !failure.kind.is_transient();
        let is_brief = self
            .failures
            .as_ref()
            .is_some_and(|it| it.start().elapsed() < OUTAGE_MIN_DURATION);
        if is_brief && !is_lasting {
            return;
        }
        self.state.begin_outage(failure);
        let outage = self.state.outage.borrow();
        if is_lasting && let Some(outage) = outage.as_ref() {
            batch.fail_all_but_visitors(&outage.error);
        }
    }
}

/// Waits until `expected` requests have arrived, or until [`COALESCE_TIMEOUT`].
async fn wait_for_more_requests(
    expected: usize,
    queue: &mut mpsc::Receiver<Request>,
    requests: &mut Vec<Request>,
) {
    let receive = async {
        while requests.len() < expected {
            let room = BATCH_MAX_REQUESTS - requests.len();
            if queue.recv_many(requests, room).await == 0 {
                break;
            }
        }
    };
    // After the timeout, fewer requests are enough.
    let _ = timeout(COALESCE_TIMEOUT, receive).await;
}

/// Polls the count, also while a commit is in progress.
///
/// A successful read does not prove that writes work, and a failed one does not prove that they fail. So only the
/// committer's writes begin and end an [`Outage`]. This task requests such a write when the count cannot be read, and
/// during an outage.
pub(super) async fn poll_count(
    connector: Arc<Connector>,
    mut connection: Option<Connection>,
    state: Arc<State>,
    committer: Arc<Queue<Request>>,
) {
    let mut ticks = interval(COUNT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let done = refresh_count(&connector, &mut connection, &state).await;
        let has_failed = done.is_err_and(|failure| failure.kind != FailureKind::Conflict);
        if has_failed || state.outage.borrow().is_some() {
            // The committer records the result in the state.
            let _ = committer.request(READY_TIMEOUT, Request::Ready).await;
        }
    }
}

async fn refresh_count(
    connector: &Connector,
    connection: &mut Option<Connection>,
    state: &State,
) -> Result<(), Failure> {
    let current = |it: &Connection| it.is_usable() && !it.has_moved();
    let usable = match connection.take().filter(current) {
        Some(usable) => usable,
        None => connector.connect().await?,
    };
    state.refresh_count(connection.insert(usable)).await
}
