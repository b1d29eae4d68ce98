//! Runs operations over pooled connections, and repeats one that fails. Sign-ups have another connection, so no
//! operation delays them.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    super::{error::StoreError, queue::REPLY_TIMEOUT},
    change::Change,
    connection::Connection,
    connector::Connector,
    error::Failure,
    sql,
    state::State,
};

/// Maximum number of operations at a time. It is less than the connections to a host, because statements still run after
/// their operation was abandoned.
const OPERATIONS_MAX: usize = 2;

/// Pause before an operation is repeated.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// What changes the list. An attempt that failed may have taken effect, fully or in part, so another one must be
/// harmless.
pub(super) trait Operation: Send {
    type Output: Send;

    fn attempt(
        &mut self,
        change: &mut Change<'_>,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// What runs in a pool: a change, or a single statement.
trait Attempt: Send {
    type Output: Send;

    fn run(
        &mut self,
        connection: &mut Connection,
        state: &State,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

impl<O: Operation> Attempt for O {
    type Output = O::Output;

    async fn run(
        &mut self,
        connection: &mut Connection,
        state: &State,
    ) -> Result<O::Output, Failure> {
        let mut change = Change::begin(connection, state).await?;
        self.attempt(&mut change).await
    }
}

/// The connections for operations. Their statements wait briefly for locks, see [`sql::BRIEF_LOCKS`].
pub(super) struct Pool {
    connector: Connector,
    idle: Mutex<Vec<Connection>>,
    running: Semaphore,
    state: Arc<State>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

impl Pool {
    pub(super) fn new(connector: Connector, state: &Arc<State>) -> Self {
        Self {
            connector,
            idle: Mutex::default(),
            running: Semaphore::new(OPERATIONS_MAX),
            state: Arc::clone(state),
        }
    }

    /// Changes the list, and repeats that after a failure that may pass. Between two attempts, others run.
    ///
    /// # Errors
    /// [`StoreError`], after as long as a client waits for a reply. Then the change may have taken effect.
    pub(super) async fn change<O: Operation>(&self, change: O) -> Result<O::Output, StoreError> {
        self.run(change).await
    }

    /// Returns the rows of a statement.
    ///
    /// # Errors
    /// Like [`change`](Self::change).
    pub(super) async fn query(
        &self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        self.run(Query { statement, params }).await
    }

    async fn run<A: Attempt>(&self, mut operation: A) -> Result<A::Output, StoreError> {
        let deadline = Instant::now() + REPLY_TIMEOUT;
        let mut last_error = StoreError::TimedOut;
        loop {
            let turn = async {
                let _turn = self.running.acquire().await;
                self.attempt(&mut operation).await
            };
            // An attempt that is dropped leaves its connection to the driver, which reads the rest of the response.
            let failure = match timeout_at(deadline, turn).await {
                Ok(Ok(output)) => return Ok(output),
                Ok(Err(failure)) => failure,
                Err(_) => return Err(last_error),
            };
            let may_pass = failure.may_pass();
            last_error = failure.into();
            if !may_pass || Instant::now() > deadline {
                return Err(last_error);
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    async fn attempt<A: Attempt>(&self, operation: &mut A) -> Result<A::Output, Failure> {
        let idle = self.idle().pop();
        let mut connection = match idle.filter(|it| it.is_usable() && !it.has_moved()) {
            Some(connection) => connection,
            None => {
                let mut connection = self.connector.connect().await?;
                connection.execute(sql::BRIEF_LOCKS).await?;
                connection
            }
        };
        let done = operation.run(&mut connection, &self.state).await;
        if connection.is_usable() {
            self.idle().push(connection);
        }
        done
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A single statement.
struct Query<'a> {
    statement: &'static str,
    params: &'a [&'a (dyn ToSql + Sync)],
}

impl Attempt for Query<'_> {
    type Output = Vec<Row>;

    async fn run(&mut self, connection: &mut Connection, _: &State) -> Result<Vec<Row>, Failure> {
        connection.query(self.statement, self.params).await
    }
}
