//! The task that does what is asked, in batches.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use deadpool_postgres::{Client, Object, Pool};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_postgres::{Error, error::SqlState};

use super::{
    super::queue::{Request, take_batch},
    batch::{Batch, Done},
    error::{words, words_of_the_pool},
    state::State,
};

/// Entries that share a transaction.
pub(super) const BATCH_MAX: usize = 512;
/// How long a connection, or a statement, may take. It is then given up for a new one, perhaps to another
/// host: more than one try must fit into the time that an answer may take.
pub(super) const TRY_PATIENCE: Duration = Duration::from_secs(3);
/// Between two tries, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];
/// How long ago it may be that something was written, when it is asked whether something could be. Who asks
/// may be a stranger, so each can't have a write of theirs.
const WRITTEN_LATELY: Duration = Duration::from_secs(1);

/// Owns every write of this process but the watcher's.
pub(super) struct Committer {
    pub(super) pool: Pool,
    /// Where it counts.
    pub(super) slot: i64,
    pub(super) state: Arc<State>,
}

/// Why a try came to nothing.
pub(super) enum Failure {
    /// Others were at the same rows.
    Conflict,
    Trouble(String),
}

impl Committer {
    /// Commits until the queue is closed and empty.
    pub(super) async fn run(self, mut queue: mpsc::Receiver<Request>) {
        let mut requests = Vec::with_capacity(BATCH_MAX);
        let mut written = None;
        while queue.recv_many(&mut requests, BATCH_MAX).await > 0 {
            requests.retain(|request| !request.is_abandoned());
            while !requests.is_empty() {
                let batch = Batch::new(take_batch(&mut requests, BATCH_MAX));
                self.commit(batch, &mut written).await;
            }
        }
    }

    /// Tries until it is done, or nobody waits for it any more.
    async fn commit(&self, mut batch: Batch, written: &mut Option<Instant>) {
        let [mut pause, longest] = PAUSES;
        while !batch.is_abandoned() {
            match self.try_to_commit(&mut batch, *written).await {
                Ok(done) => {
                    self.state.is_well();
                    if let Some(count) = done.count {
                        self.state.publish(count);
                        *written = Some(Instant::now());
                    }
                    return batch.answer(done);
                }
                Err(Failure::Conflict) => {}
                Err(Failure::Trouble(why)) => {
                    *written = None;
                    self.state.is_in_trouble(why);
                }
            }
            sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }

    /// `written`: when something was written, if no trouble came after it.
    async fn try_to_commit(
        &self,
        batch: &mut Batch,
        written: Option<Instant>,
    ) -> Result<Done, Failure> {
        let client = connection(&self.pool).await?;
        // An earlier commit may have been cut off from the standby that it waited for, and be here all the
        // same. Whoever writes waits for all that was written before, and only then it is told of.
        let is_new = Object::metrics(&client).recycle_count == 0;
        let must_write = is_new
            || match written {
                Some(at) => !batch.changes() && at.elapsed() > WRITTEN_LATELY,
                None => true,
            };
        let work = async {
            if must_write {
                write(&client, self.slot).await?;
            }
            let mut done = batch.commit(&client, self.slot).await?;
            if must_write && done.count.is_none() {
                done.count = Some(super::count(&client).await?);
            }
            Ok(done)
        };
        let done = timeout(TRY_PATIENCE, work).await;
        settle(client, done.ok())
    }
}

/// A connection of the pool.
pub(super) async fn connection(pool: &Pool) -> Result<Object, Failure> {
    let connection = pool.get().await;
    connection.map_err(|error| Failure::Trouble(words_of_the_pool(&error)))
}

/// Changes nothing, but has the database keep that as it would keep a sign-up.
pub(super) async fn write(client: &Client, slot: i64) -> Result<(), Error> {
    let write = "UPDATE waitlist_count SET entries = entries WHERE slot = $1";
    let statement = client.prepare_cached(write).await?;
    client.execute(&statement, &[&slot]).await?;
    Ok(())
}

/// What came of a try; nothing, when it took too long. A connection that failed is not used again: what
/// it still waits for, or whether it leads to a host that can write, nobody knows. It is closed, and no
/// statement on it cancelled: to a commit that waits for its standby that would mean not to wait.
pub(super) fn settle<T>(client: Object, done: Option<Result<T, Error>>) -> Result<T, Failure> {
    let why = match done {
        Some(Ok(done)) => return Ok(done),
        Some(Err(error)) if is_conflict(&error) => return Err(Failure::Conflict),
        Some(Err(error)) => words(&error),
        None => format!("no answer in {} seconds", TRY_PATIENCE.as_secs()),
    };
    drop(Object::take(client));
    Err(Failure::Trouble(why))
}

/// To be tried again as it is, and no trouble.
pub(super) fn is_conflict(error: &Error) -> bool {
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    error.code().is_some_and(|code| conflicts.contains(code))
}
