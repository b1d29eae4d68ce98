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
    super::queue::{Request, of_the_store, take_batch},
    batch::Batch,
    connector::Connector,
    error::{Failure, Outage, OutageKind},
    schema,
    state::State,
    writer::Writer,
};

/// Maximum number of entries in a statement.
pub(super) const BATCH_MAX: usize = 512;
/// Number of entries by which a limit grows with each batch that is done.
const BATCH_GROWTH: usize = 32;
/// A batch waits until it has as many requests as came during the last one, or so many, for a millisecond or
/// two. A transaction costs the database as much as twenty people in it, and without the wait clients split into
/// two groups that alternate: with three instances and 16 clients the database worked 70 % more for each of them,
/// and a fifth fewer came through. A lone request is not delayed.
const COMPANY_MAX: usize = 16;
const COMPANY_TIMEOUT: Duration = Duration::from_millis(1);
/// Between two attempts, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];
/// What is over sooner is no outage: a connection that breaks, a database that restarts, a held row of the count.
/// Visitors wait longer.
const OUTAGE_MIN: Duration = Duration::from_secs(3);
/// For so long an inserted entry shows that people can join. Strangers may ask, so each cannot have a write.
const PROOF_VALIDITY: Duration = Duration::from_secs(1);

/// Number of entries, and bytes of text in each, that must fit before an outage is over: more than a page of 8 KiB.
/// Otherwise a disk that is almost full would have an outage for each sign-up that found no room. Few, because a
/// trigger of the owner's may take its time, and below 2 KiB, from which on PostgreSQL compresses them.
const PROOF_AFTER_OUTAGE: (usize, usize) = (5, 1_900);

/// Owns every write of this process.
pub(super) struct Committer {
    connector: Arc<Connector>,
    state: Arc<State>,
    /// Where this instance counts.
    slot: i64,
    /// Maximum number of entries in a statement, for now.
    limit: usize,
    /// When an entry was inserted last, if nothing failed since.
    proven: Option<Instant>,
    /// When the first failed attempt began and the last one ended, if none has succeeded since.
    failures: Option<RangeInclusive<Instant>>,
}

impl Committer {
    pub(super) fn new(connector: Arc<Connector>, state: Arc<State>) -> Self {
        Self {
            connector,
            state,
            slot: schema::any_slot(None),
            limit: BATCH_MAX,
            proven: None,
            failures: None,
        }
    }

    /// Commits until it is aborted.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        let mut writer = None;
        let mut requests = Vec::with_capacity(BATCH_MAX);
        let mut company = 0;
        while queue.recv_many(&mut requests, BATCH_MAX).await > 0 {
            wait_for_company(company.min(COMPANY_MAX), &mut queue, &mut requests).await;
            company = requests.len();
            requests.retain(|request| !request.is_abandoned());
            while !requests.is_empty() {
                let batch = Batch::new(take_batch(&mut requests, BATCH_MAX));
                self.commit(batch, &mut writer).await;
            }
            company += queue.len();
        }
    }

    /// Tries until it is done, or nobody waits for it any more.
    async fn commit(&mut self, mut batch: Batch, writer: &mut Option<Writer>) {
        let [mut pause, longest] = PAUSES;
        while !batch.is_abandoned() {
            let begun = Instant::now();
            match self.try_to_commit(&mut batch, writer).await {
                Ok(()) => {
                    self.failures = None;
                    self.limit = BATCH_MAX.min(self.limit + BATCH_GROWTH);
                    // By a task of its own: the next batch is on its way before this one is told.
                    tokio::spawn(of_the_store(async { batch.answer() }));
                    return;
                }
                Err(Failure::Conflict) => {}
                Err(failure) => {
                    let first = self
                        .failures
                        .take()
                        .filter(|it| it.end().elapsed() < OUTAGE_MIN);
                    let first = first.map_or(begun, |it| *it.start());
                    self.failures = Some(first..=Instant::now());
                    self.note(failure, &mut batch);
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
        let is_proven = self.proven.is_some_and(|at| at.elapsed() < PROOF_VALIDITY);
        if batch.asks_if_ready() && !is_proven {
            self.prove(writer).await?;
        }
        let done = batch.commit(writer, &mut self.limit).await;
        self.slot = writer.slot();
        match done {
            Ok(has_inserted) => {
                if has_inserted && self.state.trouble.borrow().is_none() {
                    self.proven = Some(Instant::now());
                }
                Ok(())
            }
            // The writer knows the new epoch, or is not usable any more.
            Err(Failure::Slot) => Err(Failure::Conflict),
            Err(failure) => Err(failure),
        }
    }

    /// Sees that people can join, and ends an outage.
    async fn prove(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let has_outage = self.state.trouble.borrow().is_some();
        let (entries, width) = if has_outage {
            PROOF_AFTER_OUTAGE
        } else {
            (1, 0)
        };
        writer.probe(entries, width).await?;
        self.proven = Some(Instant::now());
        self.state.end_outage();
        Ok(())
    }

    /// After a failure: what is to be different at the next attempt, and who is told.
    fn note(&mut self, failure: Failure, batch: &mut Batch) {
        self.proven = None;
        if failure.may_concern_the_slot() {
            self.slot = schema::any_slot(Some(self.slot));
        }
        let outage = match failure {
            Failure::Conflict => return,
            Failure::Slot => Outage {
                why: "rows of waitlist_count are missing, and this user may not create them".into(),
                kind: OutageKind::Unavailable,
            },
            Failure::Rejected(why) => Outage {
                why,
                kind: OutageKind::Refused,
            },
            Failure::Outage(outage) => outage,
        };
        let is_lasting = outage.kind == OutageKind::Refused;
        let is_brief = self
            .failures
            .as_ref()
            .is_some_and(|it| it.start().elapsed() < OUTAGE_MIN);
        if is_brief && !is_lasting {
            return;
        }
        self.state.begin_outage(outage);
        let trouble = self.state.trouble.borrow();
        if is_lasting && let Some(trouble) = trouble.as_ref() {
            batch.give_up(&trouble.error());
        }
    }
}

/// Until so many requests are there.
async fn wait_for_company(
    company: usize,
    queue: &mut mpsc::Receiver<Request>,
    requests: &mut Vec<Request>,
) {
    let come = async {
        while requests.len() < company {
            let room = BATCH_MAX - requests.len();
            if queue.recv_many(requests, room).await == 0 {
                break;
            }
        }
    };
    // Fewer will do.
    let _ = timeout(COMPANY_TIMEOUT, come).await;
}
