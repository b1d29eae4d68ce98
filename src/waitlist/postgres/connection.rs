//! A connection to the database. Each statement has a deadline of its own.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::AbortHandle,
    time::{error::Elapsed, timeout},
};
use tokio_postgres::{Client, Error, Row, Statement, types::ToSql};

use super::{
    connector::{Address, Hosts},
    error::{DatabaseFailure, Failure, FailureKind, database_failure},
    sql::Schema,
};

/// Maximum time until a statement is answered. Its connection is then given up for a new one, perhaps to another
/// host: more than one attempt must fit into the time that a visitor waits.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection, and what was prepared on it.
pub(super) struct Connection {
    client: Client,
    /// The task that exchanges the messages. It goes on until the last statement is answered.
    driver: AbortHandle,
    prepared: HashMap<&'static str, Statement>,
    /// A commit did not wait for its standby.
    skipped_standby: Arc<AtomicBool>,
    has_failed: bool,
    schema: Arc<OnceLock<Schema>>,
    /// Where it leads, and what is known of all hosts.
    address: Address,
    hosts: Arc<Hosts>,
}

impl Connection {
    pub(super) fn new(
        client: Client,
        driver: AbortHandle,
        skipped_standby: Arc<AtomicBool>,
        schema: Arc<OnceLock<Schema>>,
        address: Address,
        hosts: Arc<Hosts>,
    ) -> Self {
        Self {
            client,
            driver,
            prepared: HashMap::new(),
            skipped_standby,
            has_failed: false,
            schema,
            address,
            hosts,
        }
    }

    /// A connection on which something failed is not used again: nobody knows what it still waits for, or
    /// whether it leads to a host that can write. Its statement is not cancelled, which would end a commit's wait
    /// for its standby.
    pub(super) fn is_usable(&self) -> bool {
        !self.has_failed && !self.client.is_closed()
    }

    /// Returns the rows of a statement, which is prepared the first time.
    pub(super) async fn query(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        self.query_within(RESPONSE_TIMEOUT, statement, params).await
    }

    /// The same, for a statement that may take longer.
    pub(super) async fn query_within(
        &mut self,
        limit: Duration,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let prepared = match self.prepared.get(statement) {
            Some(prepared) => prepared.clone(),
            None => {
                let text = self.qualify(statement);
                let done = timeout(RESPONSE_TIMEOUT, self.client.prepare(&text)).await;
                let fresh = self.outcome(done)?;
                self.prepared.insert(statement, fresh.clone());
                fresh
            }
        };
        let done = timeout(limit, self.client.query(&prepared, params)).await;
        self.outcome(done)
    }

    /// Returns a row of a statement, if there is one.
    pub(super) async fn query_opt(
        &mut self,
        statement: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, Failure> {
        Ok(self.query(statement, params).await?.pop())
    }

    /// Gives it up.
    pub(super) fn mark_failed(&mut self) {
        self.has_failed = true;
    }

    /// Runs statements without parameters, in one transaction unless they say otherwise.
    pub(super) async fn execute(&mut self, statements: &str) -> Result<(), Failure> {
        let statements = self.qualify(statements);
        let done = timeout(RESPONSE_TIMEOUT, self.client.batch_execute(&statements)).await;
        self.outcome(done)
    }

    /// For statements that have another limit, or none.
    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Closes it at once, without the rest of the response.
    pub(super) fn close(self) {
        self.driver.abort();
    }

    /// Names the schema of the list in a statement.
    pub(super) fn qualify(&self, statement: &str) -> String {
        match self.schema.get() {
            Some(schema) => schema.qualify(statement),
            None => statement.to_owned(),
        }
    }

    fn outcome<T>(&mut self, done: Result<Result<T, Error>, Elapsed>) -> Result<T, Failure> {
        let failure = match done {
            Ok(Ok(_)) if self.skipped_standby.load(Ordering::SeqCst) => {
                let reason = "the wait for the standby was cancelled";
                database_failure(FailureKind::Disconnected, reason.into())
            }
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => Failure::from(&error),
            Err(_) => {
                let reason = format!("no response in {} seconds", RESPONSE_TIMEOUT.as_secs());
                database_failure(FailureKind::NoResponse, reason)
            }
        };
        if let Failure::Database(DatabaseFailure { kind, .. }) = &failure {
            self.has_failed |= !kind.is_connection_usable();
            if *kind == FailureKind::NoResponse {
                self.hosts.suspect(self.address);
            }
        }
        Err(failure)
    }
}
