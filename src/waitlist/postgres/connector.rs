//! Opens connections to the database. Each host has its own deadline.

use std::{
    fmt,
    future::poll_fn,
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_postgres::{
    AsyncMessage, Error,
    config::{Host, SslMode},
    error::DbError,
};
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use super::{
    connection::{Connection, Hosts},
    error::{Failure, FailureKind},
    sql::{self, Schema},
    tls::TlsError,
    url::{DatabaseUrl, Target},
};

/// Opens connections to one of the hosts of a URL.
pub(super) struct Connector {
    url: DatabaseUrl,
    tls: MakeRustlsConnect,
    schema: Arc<OnceLock<Schema>>,
    hosts: Arc<Hosts>,
    /// Maximum number of connections to a host.
    connections: usize,
    /// The permits for connections to each host: one that hangs must not use up those of the others. A connection keeps its
    /// permit until the database has responded to its last statement. A commit that waits for a standby goes on after its
    /// caller gave up, and a database has a limited number of connections.
    permits: Vec<Arc<Semaphore>>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connector").field(&self.url).finish()
    }
}

impl Connector {
    /// Creates a connector for at most `connections` connections to each host. It does not connect yet.
    ///
    /// # Errors
    /// [`TlsError`] if the TLS options cannot be used.
    pub(super) fn new(
        url: &DatabaseUrl,
        schema: Arc<OnceLock<Schema>>,
        connections: usize,
    ) -> Result<Self, TlsError> {
        Ok(Self {
            url: url.clone(),
            tls: url.tls.connector()?,
            schema,
            hosts: Arc::default(),
            connections,
            permits: permits(url, connections),
        })
    }

    /// Returns a connector for the same hosts, with separate permits. Their number is the same.
    pub(super) fn with_own_permits(&self) -> Self {
        Self {
            url: self.url.clone(),
            tls: self.tls.clone(),
            schema: Arc::clone(&self.schema),
            hosts: Arc::clone(&self.hosts),
            connections: self.connections,
            permits: permits(&self.url, self.connections),
        }
    }

    /// Connects to the first host that responds, accepts the login and allows writes.
    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        let (last, suspect) = self.hosts.preference();
        let mut failures = ConnectFailures::default();
        let others = self.order();
        let others = others.filter(|at| last != Some(*at) && suspect != Some(*at));
        for at in last.into_iter().chain(others).chain(suspect) {
            if let Some(connection) = self.try_host(at, &mut failures).await {
                if suspect != Some(at) {
                    self.hosts.mark_working(at);
                }
                return Ok(connection);
            }
        }
        Err(failures.into_failure())
    }

    /// Returns the positions of the hosts in the order in which they are tried. It begins with a random host, unless
    /// the URL sets the order.
    fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.url.targets.len();
        let first = if self.url.is_ordered {
            0
        } else {
            Uuid::now_v7().as_u64_pair().1 as usize % count
        };
        (0..count).map(move |at| (first + at) % count)
    }

    /// Connects to a host. Adds to `failures` if that fails.
    async fn try_host(&self, at: usize, failures: &mut ConnectFailures) -> Option<Connection> {
        let target = &self.url.targets[at];
        let Ok(permit) = Arc::clone(&self.permits[at]).try_acquire_owned() else {
            let reason = "it has not responded to earlier statements";
            failures.add(target, Failure::new(FailureKind::NoResponse, reason));
            return None;
        };
        let limit = self.url.connect_timeout;
        // A separate task. If the login takes too long, the task keeps its permit until the database responds, so that
        // logins that hang do not accumulate.
        let mut session = tokio::spawn(self.start_session(at, permit));
        let failure = match timeout(limit, &mut session).await {
            Ok(Ok(Ok(connection))) => return Some(connection),
            Ok(Ok(Err(error))) if is_read_only(&error) => {
                let reason = "the server does not allow writes: it is a standby, or read-only";
                Failure::new(FailureKind::Unavailable, reason)
            }
            Ok(Ok(Err(error))) => Failure::from(&error),
            Ok(Err(_)) => Failure::new(
                FailureKind::Disconnected,
                "an internal error while connecting",
            ),
            Err(_) => Failure::new(
                FailureKind::NoResponse,
                format!("no connection in {} seconds", limit.as_secs_f32()),
            ),
        };
        failures.add(target, failure);
        None
    }

    /// Connects, encrypts the connection, logs in, and sets up the session.
    fn start_session(
        &self,
        at: usize,
        permit: OwnedSemaphorePermit,
    ) -> impl Future<Output = Result<Connection, Error>> + use<> {
        let target = &self.url.targets[at];
        let mut config = self.url.login.clone();
        config.port(target.port);
        // For each address of the host: if the first one does not respond, there is time for another.
        config.connect_timeout(self.url.connect_timeout / 2);
        match &target.host {
            Host::Tcp(name) => config.host(name),
            // As in libpq, sslmode does not apply to sockets of this machine.
            Host::Unix(directory) => config.host_path(directory).ssl_mode(SslMode::Disable),
        };
        if let Some(ip) = target.address {
            config.hostaddr(ip);
        }
        let (tls, schema, hosts) = (
            self.tls.clone(),
            Arc::clone(&self.schema),
            Arc::clone(&self.hosts),
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
            let driver = driver.abort_handle();
            Ok(Connection::new(
                client,
                driver,
                skipped_standby,
                schema,
                at,
                hosts,
            ))
        }
    }
}

fn permits(url: &DatabaseUrl, connections: usize) -> Vec<Arc<Semaphore>> {
    let permits = |_: &Target| Arc::new(Semaphore::new(connections));
    url.targets.iter().map(permits).collect()
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

/// The failures of all hosts: the host as text, and the failure.
#[derive(Default)]
struct ConnectFailures(Vec<(String, Failure)>);

impl ConnectFailures {
    fn add(&mut self, target: &Target, failure: Failure) {
        self.0.push((target.to_string(), failure));
    }

    /// Combines the failures into one, of the most transient kind.
    fn into_failure(self) -> Failure {
        let mut whole = FailureKind::Permanent;
        let mut sentences = Vec::new();
        let is_single = self.0.len() == 1;
        for (host, failure) in self.0 {
            whole = whole.min(failure.kind);
            sentences.push(match is_single {
                true => failure.reason,
                false => format!("{host}: {}", failure.reason),
            });
        }
        Failure::new(whole, sentences.join("; "))
    }
}
