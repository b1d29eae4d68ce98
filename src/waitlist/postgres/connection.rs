//! A connection to the database. Each statement has its own deadline.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::try_join_all;
use tokio::{
    task::AbortHandle,
    time::{error::Elapsed, timeout},
};
use tokio_postgres::{Client, Error, Row, Statement, types::ToSql};

use super::{
    error::{Failure, FailureKind},
    timeouts::RESPONSE_TIMEOUT,
};

/// A parameter of a statement.
pub(super) type Param = Box<dyn ToSql + Sync + Send>;

/// A connection and its prepared statements.
pub(super) struct Connection {
    /// Used directly only for statements with another time limit.
    pub(super) client: Client,
    /// The task that exchanges the messages. It runs until the database has responded to the last statement.
    pub(super) driver: AbortHandle,
    pub(super) prepared: HashMap<&'static str, Statement>,
    /// Whether a commit became visible before the standby had it, because the wait was cancelled or terminated.
    pub(super) skipped_standby: Arc<AtomicBool>,
    pub(super) has_failed: bool,
    /// The position of the host in the URL.
    pub(super) host: usize,
    pub(super) first_host: Arc<FirstHost>,
}

impl Connection {
    /// Returns whether the connection can be used for another statement.
    ///
    /// A connection that failed is not used again. It may still wait for a response, and its host may no longer accept
    /// writes. Its last statement is not cancelled, because cancelling would end a commit's wait for its standby.
    pub(super) fn is_usable(&self) -> bool {
        !self.has_failed && !self.client.is_closed()
    }

    /// Returns whether new connections go to another host.
    ///
    /// Then this host may have been replaced without noticing it, for example when the program that makes it a standby
    /// hangs. It still serves reads, of a list that no longer changes.
    pub(super) fn has_moved(&self) -> bool {
        self.first_host.get() != self.host
    }

    /// Returns the rows of a statement. The statement is prepared the first time.
    pub(super) async fn query(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        self.query_within(RESPONSE_TIMEOUT, statement, params).await
    }

    /// Like [`query`](Self::query), with another time limit.
    pub(super) async fn query_within(
        &mut self,
        limit: Duration,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let prepared = self.prepare(statement).await?;
        let done = timeout(limit, self.client.query(&prepared, params)).await;
        self.outcome(limit, done)
    }

    async fn prepare(&mut self, statement: &'static str) -> Result<Statement, Failure> {
        if let Some(prepared) = self.prepared.get(statement) {
            return Ok(prepared.clone());
        }
        let done = timeout(RESPONSE_TIMEOUT, self.client.prepare(statement)).await;
        let prepared = self.outcome(RESPONSE_TIMEOUT, done)?;
        self.prepared.insert(statement, prepared.clone());
        Ok(prepared)
    }

    /// Returns the last row of a statement, if there is one.
    pub(super) async fn query_opt(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, Failure> {
        Ok(self.query(statement, params).await?.pop())
    }

    /// Returns the row of a statement that always has one.
    pub(super) async fn query_one(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let row = self.query_opt(statement, params).await?;
        row.ok_or_else(Failure::no_row)
    }

    /// Runs statements with their parameters in this order, and waits for all of them together.
    pub(super) async fn execute_all(
        &mut self,
        limit: Duration,
        rows: Vec<(&'static str, Vec<Param>)>,
    ) -> Result<(), Failure> {
        let mut prepared = Vec::with_capacity(rows.len());
        for (statement, params) in rows {
            prepared.push((self.prepare(statement).await?, params));
        }
        let client = &self.client;
        let running = prepared
            .into_iter()
            .map(|(statement, params)| async move { client.execute_raw(&statement, params).await });
        let done = timeout(limit, try_join_all(running)).await;
        self.outcome(limit, done).map(drop)
    }

    /// Runs statements without parameters, in one transaction unless they say otherwise.
    pub(super) async fn execute(&mut self, statements: &str) -> Result<(), Failure> {
        let done = timeout(RESPONSE_TIMEOUT, self.client.batch_execute(statements)).await;
        self.outcome(RESPONSE_TIMEOUT, done)
    }

    /// Runs a transaction, and returns the row of its statement, which always has one. `begin` begins it. Everything is sent
    /// at once, so the database does not wait for this process while rows are locked.
    pub(super) async fn run_transaction(
        &mut self,
        begin: &str,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let prepared = self.prepare(statement).await?;
        let transaction = async {
            // Each is sent when it is polled for the first time. After an error, COMMIT is a rollback.
            let (begun, rows, committed) = tokio::join!(
                self.client.batch_execute(begin),
                self.client.query(&prepared, params),
                self.client.batch_execute("COMMIT"),
            );
            begun?;
            let rows = rows?;
            committed.map(|()| rows)
        };
        let done = timeout(RESPONSE_TIMEOUT, transaction).await;
        let row = self.outcome(RESPONSE_TIMEOUT, done)?.pop();
        row.ok_or_else(Failure::no_row)
    }

    /// Closes the connection at once, and discards the rest of the response.
    pub(super) fn close(self) {
        self.driver.abort();
    }

    /// Converts the result of a statement with this time limit, and notes whether the connection has failed.
    fn outcome<T>(
        &mut self,
        limit: Duration,
        done: Result<Result<T, Error>, Elapsed>,
    ) -> Result<T, Failure> {
        let failure = match done {
            Ok(Ok(_)) if self.skipped_standby.load(Ordering::SeqCst) => {
                let reason = "the wait for the standby was cancelled";
                Failure::new(FailureKind::Disconnected, reason)
            }
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => Failure::from(&error),
            Err(_) => {
                let reason = format!("no response in {} seconds", limit.as_secs());
                Failure::new(FailureKind::NoResponse, reason)
            }
        };
        self.has_failed |= !failure.kind.is_without_effect();
        if failure.kind == FailureKind::NoResponse {
            self.first_host.pass_over(self.host);
        }
        Err(failure)
    }
}

/// The position of the host to which new connections go first, shared by everything that connects. The others follow in
/// the order of the URL, so a host that was passed over comes last.
#[derive(Debug)]
pub(super) struct FirstHost {
    position: AtomicUsize,
    /// The number of hosts.
    count: usize,
}

impl FirstHost {
    pub(super) fn new(position: usize, count: usize) -> Self {
        Self {
            position: AtomicUsize::new(position),
            count,
        }
    }

    pub(super) fn get(&self) -> usize {
        self.position.load(Ordering::SeqCst)
    }

    /// Sets the position, unless it is no longer `seen`: then something newer is known about the hosts.
    pub(super) fn replace(&self, seen: usize, host: usize) {
        let (success, failure) = (Ordering::SeqCst, Ordering::SeqCst);
        let _ = self.position.compare_exchange(seen, host, success, failure);
    }

    /// Goes on to the next host if this one is the first, because it did not respond to a statement.
    fn pass_over(&self, host: usize) {
        self.replace(host, (host + 1) % self.count);
    }
}
