//! Runs operations over pooled connections, and repeats one that fails. Sign-ups have another connection, so no
//! operation delays them.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    super::{error::StoreError, queue::REPLY_TIMEOUT},
    connection::Connection,
    connector::Connector,
    error::Failure,
    sql,
};

/// Maximum number of operations at a time. It is less than the connections to a host, because statements still run after
/// their operation was abandoned.
const OPERATIONS_MAX: usize = 2;

/// Pause before an operation is repeated.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// What runs in a pool. An attempt that failed may have taken effect, fully or in part, so another one must be
/// harmless.
pub(super) trait Operation: Send {
    type Output: Send;

    fn attempt(
        &mut self,
        connection: &mut Connection,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// The connections for operations. Their statements wait briefly for locks, see [`sql::BRIEF_LOCKS`].
pub(super) struct Pool {
    connector: Connector,
    idle: Mutex<Vec<Connection>>,
    running: Semaphore,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

impl Pool {
    pub(super) fn new(connector: Connector) -> Self {
        Self {
            connector,
            idle: Mutex::default(),
            running: Semaphore::new(OPERATIONS_MAX),
        }
    }

    /// Runs an operation, and repeats it after a failure that may pass. Between two attempts, others run.
    ///
    /// # Errors
    /// [`StoreError`], after as long as a client waits for a reply. Then the operation may have taken effect.
    pub(super) async fn run<O: Operation>(
        &self,
        mut operation: O,
    ) -> Result<O::Output, StoreError> {
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

    /// Returns the rows of a statement.
    ///
    /// # Errors
    /// Like [`run`](Self::run).
    pub(super) async fn query(
        &self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        self.run(Query { statement, params }).await
    }

    async fn attempt<O: Operation>(&self, operation: &mut O) -> Result<O::Output, Failure> {
        let idle = self.idle().pop();
        let mut connection = match idle.filter(|it| it.is_usable() && !it.has_moved()) {
            Some(connection) => connection,
            None => {
                let mut connection = self.connector.connect().await?;
                connection.execute(sql::BRIEF_LOCKS).await?;
                connection
            }
        };
        let done = operation.attempt(&mut connection).await;
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

impl Operation for Query<'_> {
    type Output = Vec<Row>;

    async fn attempt(&mut self, connection: &mut Connection) -> Result<Vec<Row>, Failure> {
        connection.query(self.statement, self.params).await
    }
}
