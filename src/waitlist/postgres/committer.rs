//! The one task of this process that writes, and keeps the count.

use std::time::{Duration, Instant};

use deadpool_postgres::{Object, Pool};
use tokio::{
    sync::{mpsc, watch},
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_postgres::{Error, error::SqlState};

use super::{
    super::queue::{Request, take_batch},
    batch::{Batch, Done},
    error::{words, words_of_the_pool},
};

/// Entries that share a transaction.
pub(super) const BATCH_MAX: usize = 512;
/// How long a connection, or a statement, may take. It is then given up for a new one, perhaps to another
/// host: more than one try must fit into the time that an answer may take.
pub(super) const TRY_PATIENCE: Duration = Duration::from_secs(3);
/// Between two tries, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];
/// How often the count is read, which other copies change too.
const COUNT_PERIOD: Duration = Duration::from_millis(250);

/// The database does not answer, or refuses.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Since when.
    pub since: Instant,
    /// In words for the owner, without anybody's address.
    pub why: String,
}

/// Owns every write of this process.
pub(super) struct Committer {
    pub(super) pool: Pool,
    /// Where it counts.
    pub(super) slot: i64,
    pub(super) count: watch::Sender<u64>,
    pub(super) trouble: watch::Sender<Option<Trouble>>,
}

/// Why a try came to nothing.
enum Failure {
    /// Others were at the same rows.
    Conflict,
    Trouble(String),
}

impl Committer {
    /// Commits until the queue is closed and empty.
    pub(super) async fn run(self, mut queue: mpsc::Receiver<Request>) {
        let mut requests = Vec::with_capacity(BATCH_MAX);
        let mut count_is_due = interval(COUNT_PERIOD);
        count_is_due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                taken = queue.recv_many(&mut requests, BATCH_MAX) => if taken == 0 { return },
                _ = count_is_due.tick() => self.read_count().await,
            }
            requests.retain(|request| !request.is_abandoned());
            while !requests.is_empty() {
                let batch = Batch::new(take_batch(&mut requests, BATCH_MAX));
                self.commit(batch).await;
            }
        }
    }

    /// Tries until it is done, or nobody waits for it any more.
    async fn commit(&self, mut batch: Batch) {
        let [mut pause, longest] = PAUSES;
        while !batch.is_abandoned() {
            match self.try_to_commit(&mut batch).await {
                Ok(done) => {
                    self.is_well();
                    if let Some(count) = done.count {
                        self.publish(count);
                    }
                    return batch.answer(done);
                }
                Err(Failure::Conflict) => {}
                Err(Failure::Trouble(why)) => self.is_in_trouble(why),
            }
            sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }

    async fn try_to_commit(&self, batch: &mut Batch) -> Result<Done, Failure> {
        let client = self.connection().await?;
        let done = timeout(TRY_PATIENCE, batch.commit(&client, self.slot)).await;
        settle(client, done.ok())
    }

    async fn read_count(&self) {
        match self.try_to_read_count().await {
            Ok(count) => {
                self.is_well();
                self.publish(count);
            }
            Err(Failure::Conflict) => {}
            Err(Failure::Trouble(why)) => self.is_in_trouble(why),
        }
    }

    async fn try_to_read_count(&self) -> Result<i64, Failure> {
        let client = self.connection().await?;
        let count = timeout(TRY_PATIENCE, super::count(&client)).await;
        settle(client, count.ok())
    }

    async fn connection(&self) -> Result<Object, Failure> {
        let connection = self.pool.get().await;
        connection.map_err(|error| Failure::Trouble(words_of_the_pool(&error)))
    }

    fn publish(&self, count: i64) {
        let fresh = u64::try_from(count).unwrap_or(0);
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, fresh);
            before != fresh
        });
    }

    fn is_well(&self) {
        self.trouble
            .send_if_modified(|trouble| trouble.take().is_some());
    }

    fn is_in_trouble(&self, why: String) {
        self.trouble.send_if_modified(|trouble| {
            let is_news = trouble.is_none();
            trouble.get_or_insert(Trouble {
                since: Instant::now(),
                why,
            });
            is_news
        });
    }
}

/// What came of a try; nothing, when it took too long. A connection that failed is not used again: what
/// it still waits for, or whether it leads to a host that can write, nobody knows. It is closed, and no
/// statement on it cancelled: to a commit that waits for its standby that would mean not to wait.
fn settle<T>(client: Object, done: Option<Result<T, Error>>) -> Result<T, Failure> {
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
