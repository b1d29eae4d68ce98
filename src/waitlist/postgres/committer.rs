//! The task that does what is asked, in batches.

use std::{
    ops::RangeInclusive,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    super::queue::{Request, store_task, take_batch},
    batch::Batch,
    connector::Connector,
    error::{DatabaseFailure, Failure, FailureKind},
    schema,
    state::State,
    writer::Writer,
};

/// Maximum number of entries in a statement.
pub(super) const BATCH_MAX_ENTRIES: usize = 512;
/// Number of entries by which a limit grows with each batch that is done.
const LIMIT_GROWTH_ENTRIES: usize = 32;
/// A batch waits until it has as many requests as came during the last one, or so many, for a millisecond or
/// two. A transaction costs the database as much as twenty people in it, and without the wait clients split into
/// two groups that alternate: with three instances and 16 clients the database worked 70 % more for each of them,
/// and a fifth fewer came through. A lone request is not delayed.
const COALESCE_MAX_REQUESTS: usize = 16;
const COALESCE_TIMEOUT: Duration = Duration::from_millis(1);
/// Between two attempts, at first and at most.
const RETRY_BACKOFF: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];
/// What is over sooner is no outage: a connection that breaks, a database that restarts, a held row of the count.
/// Visitors wait longer.
const OUTAGE_MIN_DURATION: Duration = Duration::from_secs(3);
/// For so long an inserted entry shows that people can join. Strangers may ask, so each cannot have a write.
const PROBE_VALIDITY: Duration = Duration::from_secs(1);

/// Number of entries, and bytes of text in each, that must fit before an outage is over: more than a page of 8 KiB.
/// Otherwise a disk that is almost full would have an outage for each sign-up that found no room. Few, because a
/// trigger of the owner's may take its time, and below 2 KiB, from which on PostgreSQL compresses them.
const PROBE_AFTER_OUTAGE: (usize, usize) = (5, 1_900);

/// Owns every write of this process.
pub(super) struct Committer {
    connector: Arc<Connector>,
    state: Arc<State>,
    /// Where this instance counts.
    slot: i64,
    /// Maximum number of entries in a statement, for now.
    limit: usize,
    /// When an entry was inserted last, if nothing failed since.
    last_success: Option<Instant>,
    /// When the first failed attempt began and the last one ended, if none has succeeded since.
    failures: Option<RangeInclusive<Instant>>,
}

impl Committer {
    pub(super) fn new(connector: Arc<Connector>, state: Arc<State>) -> Self {
        Self {
            connector,
            state,
            slot: schema::random_slot(None),
            limit: BATCH_MAX_ENTRIES,
            last_success: None,
            failures: None,
        }
    }

    /// Commits until it is aborted.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        let mut writer = None;
        let mut requests = Vec::with_capacity(BATCH_MAX_ENTRIES);
        let mut expected = 0;
        while queue.recv_many(&mut requests, BATCH_MAX_ENTRIES).await > 0 {
            wait_for_more_requests(
                expected.min(COALESCE_MAX_REQUESTS),
                &mut queue,
                &mut requests,
            )
            .await;
            expected = requests.len();
            requests.retain(|request| !request.is_abandoned());
            while !requests.is_empty() {
                let batch = Batch::new(take_batch(&mut requests, BATCH_MAX_ENTRIES));
                self.commit(batch, &mut writer).await;
            }
            expected += queue.len();
        }
    }

    /// Tries until it is done, or nobody waits for it any more.
    async fn commit(&mut self, mut batch: Batch, writer: &mut Option<Writer>) {
        let [mut pause, longest] = RETRY_BACKOFF;
        while !batch.is_abandoned() {
            let started = Instant::now();
            match self.try_to_commit(&mut batch, writer).await {
                Ok(()) => {
                    self.failures = None;
                    self.limit = BATCH_MAX_ENTRIES.min(self.limit + LIMIT_GROWTH_ENTRIES);
                    // By a task of its own: the next batch is on its way before this one is told.
                    tokio::spawn(store_task(async { batch.send_replies() }));
                    return;
                }
                Err(Failure::Conflict) => {}
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

    async fn try_to_commit(
        &mut self,
        batch: &mut Batch,
        connected: &mut Option<Writer>,
    ) -> Result<(), Failure> {
        let usable = match connected.take().filter(Writer::is_usable) {
            Some(usable) => usable,
            None => Writer::connect(&self.connector, &self.state, self.slot).await?,
        };
        let writer = connected.insert(usable);
        let has_recent_success = self
            .last_success
            .is_some_and(|at| at.elapsed() < PROBE_VALIDITY);
        if batch.has_readiness_check() && !has_recent_success {
            self.probe(writer).await?;
        }
        let done = batch.commit(writer, &mut self.limit).await;
        self.slot = writer.slot();
        match done {
            Ok(has_inserted) => {
                if has_inserted && self.state.outage.borrow().is_none() {
                    self.last_success = Some(Instant::now());
                }
                Ok(())
            }
            // The writer knows the new epoch, or is not usable any more.
            Err(Failure::StaleSlot) => Err(Failure::Conflict),
            Err(failure) => Err(failure),
        }
    }

    /// Sees that people can join, and ends an outage.
    async fn probe(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let has_outage = self.state.outage.borrow().is_some();
        let (entries, width) = if has_outage {
            PROBE_AFTER_OUTAGE
        } else {
            (1, 0)
        };
        writer.probe(entries, width).await?;
        self.last_success = Some(Instant::now());
        self.state.end_outage();
        Ok(())
    }

    /// After a failure: what is to be different at the next attempt, and who is told.
    fn handle_failure(&mut self, failure: Failure, batch: &mut Batch) {
        self.last_success = None;
        if failure.may_be_slot_problem() {
            self.slot = schema::random_slot(Some(self.slot));
        }
        let failure = match failure {
            Failure::Conflict => return,
            Failure::StaleSlot => DatabaseFailure {
                reason: "rows of waitlist_count are missing, and this user may not create them"
                    .into(),
                kind: FailureKind::Unavailable,
            },
            Failure::RowRejected(reason) => DatabaseFailure {
                reason,
                kind: FailureKind::Permanent,
            },
            Failure::Database(failure) => failure,
        };
        let is_lasting = failure.kind == FailureKind::Permanent;
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
            batch.fail_all_but_visitors(&outage.error());
        }
    }
}

/// Until so many requests are there.
async fn wait_for_more_requests(
    expected: usize,
    queue: &mut mpsc::Receiver<Request>,
    requests: &mut Vec<Request>,
) {
    let receive = async {
        while requests.len() < expected {
            let room = BATCH_MAX_ENTRIES - requests.len();
            if queue.recv_many(requests, room).await == 0 {
                break;
            }
        }
    };
    // Fewer will do.
    let _ = timeout(COALESCE_TIMEOUT, receive).await;
}
