//! A connection to the database. Each statement has its own deadline.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
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
    sql::Schema,
    timeouts::RESPONSE_TIMEOUT,
};

/// A parameter of a statement.
pub(super) type Param = Box<dyn ToSql + Sync + Send>;

/// A connection and its prepared statements.
pub(super) struct Connection {
    client: Client,
    /// The task that exchanges the messages. It runs until the database has responded to the last statement.
    driver: AbortHandle,
    prepared: HashMap<&'static str, Statement>,
    /// Whether a commit became visible before the standby had it, because the wait was cancelled or terminated.
    skipped_standby: Arc<AtomicBool>,
    has_failed: bool,
    schema: Arc<OnceLock<Schema>>,
    /// The position of the host in the URL.
    host: usize,
    /// Where a server that does not respond is reported.
    hosts: Arc<Hosts>,
}

impl Connection {
    pub(super) fn new(
        client: Client,
        driver: AbortHandle,
        skipped_standby: Arc<AtomicBool>,
        schema: Arc<OnceLock<Schema>>,
        host: usize,
        hosts: Arc<Hosts>,
    ) -> Self {
        Self {
            client,
            driver,
            prepared: HashMap::new(),
            skipped_standby,
            has_failed: false,
            schema,
            host,
            hosts,
        }
    }

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
        self.hosts.prefers_another(self.host)
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
        let text = self.qualify(statement);
        let done = timeout(RESPONSE_TIMEOUT, self.client.prepare(&text)).await;
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

    /// Marks the connection as unusable.
    pub(super) fn mark_failed(&mut self) {
        self.has_failed = true;
    }

    /// Runs statements without parameters, in one transaction unless they say otherwise.
    pub(super) async fn execute(&mut self, statements: &str) -> Result<(), Failure> {
        let statements = self.qualify(statements);
        let done = timeout(RESPONSE_TIMEOUT, self.client.batch_execute(&statements)).await;
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
        let begin = self.qualify(begin);
        let transaction = async {
            // Each is sent when it is polled for the first time. After an error, COMMIT is a rollback.
            let (begun, rows, committed) = tokio::join!(
                self.client.batch_execute(&begin),
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

    /// Returns the client, for statements with another time limit or none.
    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Closes the connection at once, and discards the rest of the response.
    pub(super) fn close(self) {
        self.driver.abort();
    }

    /// Inserts the schema of the list into a statement.
    pub(super) fn qualify(&self, statement: &str) -> String {
        match self.schema.get() {
            Some(schema) => schema.qualify(statement),
            None => statement.to_owned(),
        }
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
            self.hosts.mark_suspect(self.host);
        }
        Err(failure)
    }
}

/// The hosts that worked and failed last, by their positions in the URL, shared by everything that connects to them.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// The host that worked last. It is tried first.
    last: Mutex<Option<usize>>,
    /// The host that did not respond to a statement. It is tried last.
    suspect: Mutex<Option<usize>>,
}

impl Hosts {
    /// Records that a host did not respond.
    pub(super) fn mark_suspect(&self, host: usize) {
        *self.suspect.lock().unwrap_or_else(PoisonError::into_inner) = Some(host);
    }

    /// Records that a host works.
    pub(super) fn mark_working(&self, host: usize) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(host);
    }

    /// Returns whether another host has worked since this one was connected to.
    pub(super) fn prefers_another(&self, host: usize) -> bool {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last != host)
    }

    /// Returns the host to try first and the host to try last.
    pub(super) fn preference(&self) -> (Option<usize>, Option<usize>) {
        let suspect = *self.suspect.lock().unwrap_or_else(PoisonError::into_inner);
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        (last.filter(|last| suspect != Some(*last)), suspect)
    }
}
