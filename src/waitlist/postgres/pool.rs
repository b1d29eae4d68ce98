//! Runs operations over pooled connections, and repeats one that fails. Sign-ups have another connection, so no
//! operation delays them.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    super::{error::StoreError, queue::REPLY_TIMEOUT, store_panic::locked},
    connection::Connection,
    connector::Connector,
    error::Failure,
    schema, sql,
    state::State,
    writer::Writer,
};

/// Maximum number of operations at a time. It is less than the connections to a host, because statements still run after
/// their operation was abandoned.
const OPERATIONS_MAX: usize = 2;

/// Pause before an operation is repeated.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The connections for operations. Their statements wait briefly for locks, see [`sql::brief_locks`].
pub(super) struct Pool {
    connector: Connector,
    idle: Mutex<Vec<Connection>>,
    running: Semaphore,
    state: Arc<State>,
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

    /// Returns the rows of a statement, and repeats it after a failure that may pass.
    ///
    /// # Errors
    /// [`StoreError`], after as long as a client waits for a reply.
    pub(super) async fn query(
        &self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let mut attempts = self.attempts();
        loop {
            let attempt = async {
                let mut connection = self.connect().await?;
                let done = connection.query(statement, params).await;
                self.keep(connection);
                done
            };
            if let ControlFlow::Break(done) = attempts.run(attempt).await {
                return done;
            }
        }
    }

    /// Begins to attempt something, for as long as a client waits for a reply.
    pub(super) fn attempts(&self) -> Attempts<'_> {
        Attempts {
            pool: self,
            deadline: Instant::now() + REPLY_TIMEOUT,
            last_error: StoreError::TimedOut,
        }
    }

    /// Returns a writer in the current epoch of the list.
    pub(super) async fn begin(&self) -> Result<Writer, Failure> {
        let connection = self.connect().await?;
        Writer::begin(connection, &self.state, schema::random_slot(None)).await
    }

    /// Returns an idle connection, or opens one.
    async fn connect(&self) -> Result<Connection, Failure> {
        let idle = locked(&self.idle).pop();
        if let Some(connection) = idle.filter(|it| it.is_usable() && !it.has_moved()) {
            return Ok(connection);
        }
        let mut connection = self.connector.connect().await?;
        connection.execute(&sql::brief_locks()).await?;
        Ok(connection)
    }

    /// Keeps a connection for the next operation.
    pub(super) fn keep(&self, connection: Connection) {
        if connection.is_usable() {
            locked(&self.idle).push(connection);
        }
    }
}

/// The attempts of an operation. Between two of them, others run.
pub(super) struct Attempts<'a> {
    pool: &'a Pool,
    deadline: Instant,
    last_error: StoreError,
}

impl Attempts<'_> {
    /// Makes an attempt. Returns the result, unless another attempt may succeed.
    pub(super) async fn run<T>(
        &mut self,
        attempt: impl Future<Output = Result<T, Failure>>,
    ) -> ControlFlow<Result<T, StoreError>> {
        let turn = async {
            let _turn = self.pool.running.acquire().await;
            attempt.await
        };
        // An attempt that is dropped leaves its connection to the driver, which reads the rest of the response.
        let failure = match timeout_at(self.deadline, turn).await {
            Ok(Ok(output)) => return ControlFlow::Break(Ok(output)),
            Ok(Err(failure)) => failure,
            Err(_) => return ControlFlow::Break(Err(self.last_error.clone())),
        };
        let is_transient = failure.kind.is_transient();
        self.last_error = failure.into();
        if !is_transient || Instant::now() > self.deadline {
            return ControlFlow::Break(Err(self.last_error.clone()));
        }
        sleep(RETRY_INTERVAL).await;
        ControlFlow::Continue(())
    }
}

/// Changes the list over a connection of a pool, and repeats that after a failure that may pass. An attempt that failed may
/// have taken effect, fully or in part, so another one must be harmless. Each reads the epoch of the list first. What it
/// reads afterwards is as new.
///
/// This is a macro, because the compiler cannot prove of an async closure that its futures can be sent to other threads.
macro_rules! change {
    ($pool:expr, |$writer:ident| { $($attempt:tt)* }) => {{
        let mut attempts = $pool.attempts();
        loop {
            let attempt = async {
                let mut writer = $pool.begin().await?;
                let $writer = &mut writer;
                let done = async { $($attempt)* }.await;
                $pool.keep(writer.connection);
                done
            };
            if let std::ops::ControlFlow::Break(done) = attempts.run(attempt).await {
                break done;
            }
        }
    }};
}
pub(super) use change;
