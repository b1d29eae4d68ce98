//! The task that does what is asked, in batches.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use deadpool_postgres::Pool;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    super::queue::{Request, of_the_store, take_batch},
    batch::{self, Batch, Done},
    pool::{Failure, TRY_PATIENCE, connection, settle, write},
    schema,
    state::State,
};

/// Entries that share a transaction.
pub(super) const BATCH_MAX: usize = 512;
/// A batch waits until it has as many requests as came during the last one, or so many, for a millisecond or
/// two. A transaction costs the database as much as twenty people in it, and those who sign up at the same
/// pace would else take turns in two halves: with three copies and 16 clients the database worked 70 % more
/// for each of them, and a fifth fewer came through. For whoever comes alone nobody is waited for.
const COMPANY_MAX: usize = 16;
const COMPANY_PATIENCE: Duration = Duration::from_millis(1);
/// Between two tries, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];
/// How long ago it may be that something was written, when it is asked whether something could be. Who asks
/// may be a stranger, so each can't have a write of theirs.
const WRITTEN_LATELY: Duration = Duration::from_secs(1);

/// Owns every write of this process but the watcher's.
pub(super) struct Committer {
    pub(super) pool: Pool,
    pub(super) state: Arc<State>,
}

impl Committer {
    /// Commits until the queue is closed and empty.
    pub(super) async fn run(self, mut queue: mpsc::Receiver<Request>) {
        let mut requests = Vec::with_capacity(BATCH_MAX);
        let mut written = None;
        let mut company = 0;
        while queue.recv_many(&mut requests, BATCH_MAX).await > 0 {
            wait_for_company(company.min(COMPANY_MAX), &mut queue, &mut requests).await;
            company = requests.len();
            requests.retain(|request| !request.is_abandoned());
            while !requests.is_empty() {
                let batch = Batch::new(take_batch(&mut requests, BATCH_MAX));
                self.commit(batch, &mut written).await;
            }
            company += queue.len();
        }
    }

    /// Tries until it is done, or nobody waits for it any more.
    async fn commit(&self, mut batch: Batch, written: &mut Option<Instant>) {
        let [mut pause, longest] = PAUSES;
        while !batch.is_abandoned() {
            match self.try_to_commit(&mut batch, *written).await {
                Ok((done, is_written)) => {
                    if is_written {
                        self.state.is_well();
                        *written = Some(Instant::now());
                    }
                    if let Some(counted) = done.counted {
                        self.state.counts(counted);
                    }
                    // By a task of its own: the next batch is on its way before this one is told.
                    tokio::spawn(of_the_store(async { batch.answer(done) }));
                    return;
                }
                Err(failure) => {
                    *written = None;
                    let failure = match failure {
                        Failure::NoSlot => self.make_slot().await.err(),
                        failure => Some(failure),
                    };
                    if let Some(Failure::Trouble(why)) = failure {
                        self.state.is_in_trouble(why);
                    }
                }
            }
            sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }

    /// Somebody has deleted it, and with it what it counted.
    async fn make_slot(&self) -> Result<(), Failure> {
        let slot = self.state.slot;
        let client = connection(&self.pool, slot).await?;
        let done = timeout(TRY_PATIENCE, schema::make_slot(&client, slot)).await;
        settle(client, done).map(|_| ())
    }

    /// `written`: when something was written, if no trouble came after it. What was done, and whether
    /// something was written.
    async fn try_to_commit(
        &self,
        batch: &mut Batch,
        written: Option<Instant>,
    ) -> Result<(Done, bool), Failure> {
        let slot = self.state.slot;
        let mut client = connection(&self.pool, slot).await?;
        let must_write = match written {
            Some(at) => !batch.changes() && at.elapsed() > WRITTEN_LATELY,
            // Since this list was opened, or since the trouble.
            None => true,
        };
        if must_write {
            let done = timeout(TRY_PATIENCE, write(&client, slot)).await;
            (client, ()) = settle(client, done)?;
        }
        let work = async {
            let mut done = batch.commit(&client, slot).await?;
            let is_written = must_write || done.counted.is_some();
            if done.counted.is_none() && must_write {
                // An earlier try that was cut off may have changed it.
                done.counted = batch::counted(&client, slot).await?;
            }
            Ok((done, is_written))
        };
        let done = timeout(TRY_PATIENCE, work).await;
        settle(client, done).map(|(_, done)| done)
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
    let _ = timeout(COMPANY_PATIENCE, come).await;
}
