//! Opens connections to the database. Each host has its own deadline.

use std::{
    collections::HashMap,
    future::poll_fn,
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_postgres::{AsyncMessage, Config, Error, config::LoadBalanceHosts, error::DbError};
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use super::{
    connection::{Connection, FirstHost},
    error::{Failure, FailureKind},
    sql,
    tls::TlsError,
    url::{DatabaseUrl, display_host},
};

/// Maximum number of connections of a connector to a host. There is one connector for sign-ups, one for each pool, and one
/// for everything else, which are the count, exports, backups and restores. The statements of a pool that were abandoned
/// still run on some of its connections, so a pool uses at most half of them.
const CONNECTIONS_PER_HOST_MAX: usize = 4;

/// Opens connections to one of the hosts of a URL.
pub(super) struct Connector {
    tls: MakeRustlsConnect,
    /// The schema of the list, once it is known.
    schema: Arc<OnceLock<String>>,
    hosts: Vec<Host>,
    first_host: Arc<FirstHost>,
}

struct Host {
    config: Config,
    /// The permits for connections to this host: one that hangs must not use up those of the others. A connection keeps its
    /// permit until the database has responded to its last statement. A commit that waits for a standby goes on after its
    /// caller gave up, and a database has a limited number of connections.
    permits: Arc<Semaphore>,
}

impl Host {
    fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            permits: Arc::new(Semaphore::new(CONNECTIONS_PER_HOST_MAX)),
        }
    }
}

impl Connector {
    /// Creates a connector. It does not connect yet. It begins with a random host, unless the URL sets the order.
    ///
    /// # Errors
    /// [`TlsError`] if the TLS options cannot be used.
    pub(super) fn new(url: &DatabaseUrl, schema: Arc<OnceLock<String>>) -> Result<Self, TlsError> {
        let is_ordered = |it: &Config| it.get_load_balance_hosts() == LoadBalanceHosts::Disable;
        let first = match url.hosts.iter().any(is_ordered) {
            true => 0,
            false => Uuid::now_v7().as_u64_pair().1 as usize % url.hosts.len(),
        };
        Ok(Self {
            tls: url.tls.connector()?,
            schema,
            hosts: url.hosts.iter().map(Host::new).collect(),
            first_host: Arc::new(FirstHost::new(first, url.hosts.len())),
        })
    }

    /// Returns whether the URL has options for the session.
    pub(super) fn has_options(&self) -> bool {
        self.hosts
            .iter()
            .any(|it| it.config.get_options().is_some())
    }

    /// Returns a connector for the same hosts, with separate permits.
    pub(super) fn with_own_permits(&self) -> Self {
        let hosts = self.hosts.iter();
        Self {
            tls: self.tls.clone(),
            schema: Arc::clone(&self.schema),
            hosts: hosts.map(|it| Host::new(&it.config)).collect(),
            first_host: Arc::clone(&self.first_host),
        }
    }

    /// Connects to the first host that responds, accepts the login and allows writes.
    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        let (first, count) = (self.first_host.get(), self.hosts.len());
        let mut failures = Vec::new();
        for at in (0..count).map(|next| (first + next) % count) {
            match self.try_host(at).await {
                Ok(connection) => {
                    self.first_host.replace(first, at);
                    return Ok(connection);
                }
                Err(failure) => failures.push((at, failure)),
            }
        }
        Err(self.combine(failures))
    }

    async fn try_host(&self, at: usize) -> Result<Connection, Failure> {
        let permit = Arc::clone(&self.hosts[at].permits).try_acquire_owned();
        let permit = permit.map_err(|_| {
            let reason = "it has not responded to earlier statements";
            Failure::new(FailureKind::NoResponse, reason)
        })?;
        let limit = self.hosts[at].config.get_connect_timeout();
        let limit = limit.copied().unwrap_or(Duration::MAX);
        // A separate task. If the login takes too long, the task keeps its permit until the database responds, so that
        // logins that hang do not accumulate.
        let mut session = tokio::spawn(self.start_session(at, limit, permit));
        match timeout(limit, &mut session).await {
            Ok(Ok(Err(error))) if is_read_only(&error) => {
                let reason = "the server does not allow writes: it is a standby, or read-only";
                Err(Failure::new(FailureKind::Unavailable, reason))
            }
            Ok(Ok(started)) => started.map_err(|error| Failure::from(&error)),
            Ok(Err(_)) => Err(Failure::new(
                FailureKind::Disconnected,
                "an internal error while connecting",
            )),
            Err(_) => Err(Failure::new(
                FailureKind::NoResponse,
                format!("no connection in {} seconds", limit.as_secs_f32()),
            )),
        }
    }

    /// Connects, encrypts the connection, logs in, and sets up the session.
    fn start_session(
        &self,
        at: usize,
        limit: Duration,
        permit: OwnedSemaphorePermit,
    ) -> impl Future<Output = Result<Connection, Error>> + use<> {
        let mut config = self.hosts[at].config.clone();
        // For each address of the host: if the first one does not respond, there is time for another.
        config.connect_timeout(limit / 2);
        let (tls, schema, first_host) = (
            self.tls.clone(),
            Arc::clone(&self.schema),
            Arc::clone(&self.first_host),
        );
        async move {
            let (client, mut connection) = config.connect(tls).await?;
            let skipped_standby = Arc::new(AtomicBool::new(false));
            let has_skipped = Arc::clone(&skipped_standby);
            let driver = tokio::spawn(async move {
                while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                    if let AsyncMessage::Notice(notice) = message
                        && is_skipped_standby(&notice)
                    {
                        has_skipped.store(true, Ordering::SeqCst);
                    }
                }
                drop(permit);
            });
            client.batch_execute(&sql::session()).await?;
            if let Some(schema) = schema.get() {
                client.batch_execute(&sql::use_schema(schema)).await?;
            }
            Ok(Connection {
                client,
                driver: driver.abort_handle(),
                prepared: HashMap::new(),
                skipped_standby,
                has_failed: false,
                host: at,
                first_host,
            })
        }
    }

    /// Combines the failures of all hosts into one, of the most transient kind.
    fn combine(&self, failures: Vec<(usize, Failure)>) -> Failure {
        let kinds = failures.iter().map(|(_, failure)| failure.kind);
        let kind = kinds.min().unwrap_or(FailureKind::Permanent);
        let is_single = failures.len() == 1;
        let reasons = failures.into_iter().map(|(at, failure)| match is_single {
            true => failure.reason,
            false => format!(
                "{}: {}",
                display_host(&self.hosts[at].config),
                failure.reason
            ),
        });
        Failure::new(kind, reasons.collect::<Vec<_>>().join("; "))
    }
}

/// Returns whether a notice says that a commit did not wait for its standby. The text of a notice depends on the language
/// of the server, but the name of the function that sends it does not.
fn is_skipped_standby(notice: &DbError) -> bool {
    let text = "wait for synchronous replication";
    notice.routine() == Some("SyncRepWaitForLSN") || notice.message().contains(text)
}

/// Returns whether the driver rejected a server that is not `read-write`.
fn is_read_only(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    // The same error from the operating system has an error number.
    source.is_some_and(|source| {
        source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none()
    })
}
