//! Opens connections to the database. Each address has a deadline of its own.

use std::{
    collections::BTreeMap,
    fmt,
    future::poll_fn,
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    net::lookup_host,
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
    DatabaseUrl,
    connection::Connection,
    error::{DatabaseFailure, Failure, FailureKind, database_failure},
    sql::{self, Schema},
    url::Target,
};

/// Opens connections to one of the hosts of a URL.
pub(super) struct Connector {
    url: DatabaseUrl,
    tls: MakeRustlsConnect,
    schema: Arc<OnceLock<Schema>>,
    hosts: Arc<Hosts>,
    /// For each host, one permit for each connection, until the database has answered its last statement: a
    /// commit that waits for a standby goes on when nobody waits for it here, and a database has only so many
    /// connections.
    permits: Vec<Arc<Semaphore>>,
}

/// A host of the URL by its position, and an address of it; without one, a socket of this machine.
pub(super) type Address = (usize, Option<IpAddr>);

/// What is known of the hosts of a URL, shared by everything that connects to them.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// The address that was good the last time, which is tried first.
    last: Mutex<Option<Address>>,
    /// The address that did not answer a statement, which is tried last.
    suspect: Mutex<Option<Address>>,
}

impl Hosts {
    pub(super) fn suspect(&self, address: Address) {
        *self.suspect.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }

    fn remember(&self, address: Address) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }

    /// The address to be tried first, and the one to be tried last.
    fn preference(&self) -> (Option<Address>, Option<Address>) {
        let suspect = *self.suspect.lock().unwrap_or_else(PoisonError::into_inner);
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        (last.filter(|last| suspect != Some(*last)), suspect)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connector").field(&self.url).finish()
    }
}

impl Connector {
    /// Opens at most `connections` to each host. None is opened yet.
    ///
    /// # Errors
    /// A sentence for the owner: what is wrong with the settings of TLS.
    pub(super) fn new(
        url: &DatabaseUrl,
        schema: Arc<OnceLock<Schema>>,
        connections: usize,
    ) -> Result<Self, String> {
        Ok(Self {
            url: url.clone(),
            tls: url.tls.connector()?,
            schema,
            hosts: Arc::default(),
            permits: url
                .targets
                .iter()
                .map(|_| Arc::new(Semaphore::new(connections)))
                .collect(),
        })
    }

    /// Opens as many to the same hosts.
    pub(super) fn with_own_permits(&self) -> Self {
        let permits = |of: &Arc<Semaphore>| Arc::new(Semaphore::new(of.available_permits()));
        Self {
            url: self.url.clone(),
            tls: self.tls.clone(),
            schema: Arc::clone(&self.schema),
            hosts: Arc::clone(&self.hosts),
            permits: self.permits.iter().map(permits).collect(),
        }
    }

    /// Connects to the first address that answers, logs in, and can be written to.
    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        let (last, suspect) = self.hosts.preference();
        let mut failures = ConnectFailures::default();
        if let Some(address) = last
            && let Some(connection) = self.try_address(address, &mut failures).await
        {
            return Ok(connection);
        }
        for at in self.order() {
            for ip in self.addresses(at, &mut failures).await {
                let is_new = last != Some((at, ip)) && suspect != Some((at, ip));
                if is_new && let Some(connection) = self.try_address((at, ip), &mut failures).await
                {
                    self.hosts.remember((at, ip));
                    return Ok(connection);
                }
            }
        }
        if let Some(address) = suspect
            && let Some(connection) = self.try_address(address, &mut failures).await
        {
            return Ok(connection);
        }
        Err(failures.into_failure())
    }

    /// The hosts in the order in which they are tried: from a random one on, unless the URL says otherwise.
    fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.url.targets.len();
        let first = if self.url.is_ordered {
            0
        } else {
            Uuid::now_v7().as_u64_pair().1 as usize % count
        };
        (0..count).map(move |at| (first + at) % count)
    }

    /// The addresses of a host.
    async fn addresses(&self, at: usize, failures: &mut ConnectFailures) -> Vec<Option<IpAddr>> {
        let target = &self.url.targets[at];
        let name = match (&target.host, target.address) {
            (Host::Unix(_), _) => return vec![None],
            (Host::Tcp(_), Some(ip)) => return vec![Some(ip)],
            (Host::Tcp(name), None) => name,
        };
        let found = lookup_host((&**name, target.port));
        let reason = match timeout(self.url.connect_timeout, found).await {
            Ok(Ok(found)) => {
                let found: Vec<_> = found.map(|address| Some(address.ip())).collect();
                if !found.is_empty() {
                    return found;
                }
                "the host has no address".into()
            }
            Ok(Err(error)) => format!("the host cannot be looked up: {error}"),
            Err(_) => "the lookup of the host was not answered in time".into(),
        };
        failures.add(
            at,
            target,
            None,
            database_failure(FailureKind::Disconnected, reason),
        );
        Vec::new()
    }

    async fn try_address(
        &self,
        (at, ip): Address,
        failures: &mut ConnectFailures,
    ) -> Option<Connection> {
        let target = &self.url.targets[at];
        let Ok(permit) = Arc::clone(&self.permits[at]).try_acquire_owned() else {
            let reason = "it has not answered earlier statements yet";
            failures.add(
                at,
                target,
                ip,
                database_failure(FailureKind::NoResponse, reason.into()),
            );
            return None;
        };
        let limit = self.url.connect_timeout;
        // A task of its own: if it takes too long, it keeps its permit until the database has answered, so that
        // logins that hang there do not pile up.
        let mut session = tokio::spawn(self.start_session(at, ip, permit));
        let failure = match timeout(limit, &mut session).await {
            Ok(Ok(Ok(connection))) => return Some(connection),
            Ok(Ok(Err(error))) if is_read_only(&error) => {
                let reason = "the server does not allow writes: it is a standby, or read-only";
                database_failure(FailureKind::Unavailable, reason.into())
            }
            Ok(Ok(Err(error))) => Failure::from(&error),
            Ok(Err(_)) => database_failure(
                FailureKind::Disconnected,
                "an internal error while connecting".into(),
            ),
            Err(_) => database_failure(
                FailureKind::NoResponse,
                format!("no connection in {} seconds", limit.as_secs_f32()),
            ),
        };
        failures.add(at, target, ip, failure);
        None
    }

    /// Connects, encrypts, logs in, and begins the session.
    fn start_session(
        &self,
        at: usize,
        ip: Option<IpAddr>,
        permit: OwnedSemaphorePermit,
    ) -> impl Future<Output = Result<Connection, Error>> + use<> {
        let target = &self.url.targets[at];
        let mut config = self.url.login.clone();
        config.port(target.port);
        config.connect_timeout(self.url.connect_timeout);
        match (&target.host, ip) {
            (Host::Tcp(name), Some(ip)) => config.host(name).hostaddr(ip),
            (Host::Tcp(name), None) => config.host(name),
            // As in libpq, where sslmode is not for sockets of this machine.
            (Host::Unix(directory), _) => config.host_path(directory).ssl_mode(SslMode::Disable),
        };
        let (tls, schema, hosts) = (
            self.tls.clone(),
            Arc::clone(&self.schema),
            Arc::clone(&self.hosts),
        );
        async move {
            let (client, mut connection) = config.connect(tls).await?;
            let skipped_standby = Arc::new(AtomicBool::new(false));
            let skipped = Arc::clone(&skipped_standby);
            let driver = tokio::spawn(async move {
                while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                    if matches!(message, AsyncMessage::Notice(notice) if has_skipped_standby(&notice))
                    {
                        skipped.store(true, Ordering::SeqCst);
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
                (at, ip),
                hosts,
            ))
        }
    }
}

/// A commit was visible before the standby had it, because somebody cancelled or terminated the wait. The
/// message is in the language of the server, the name of the function is not.
fn has_skipped_standby(notice: &DbError) -> bool {
    notice.routine() == Some("SyncRepWaitForLSN")
        || notice
            .message()
            .contains("wait for synchronous replication")
}

/// What the driver says of a server that is not `read-write`.
fn is_read_only(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    // The system's own refusals have a number.
    source.is_some_and(|source| {
        source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none()
    })
}

/// Why each address failed.
#[derive(Default)]
struct ConnectFailures(Vec<(usize, String, Failure)>);

impl ConnectFailures {
    fn add(&mut self, at: usize, target: &Target, ip: Option<IpAddr>, failure: Failure) {
        let endpoint = match (&target.host, ip) {
            (Host::Tcp(name), Some(ip)) if *name != ip.to_string() => format!("{target} ({ip})"),
            _ => target.to_string(),
        };
        self.0.push((at, endpoint, failure));
    }

    /// All of it in a sentence, with the most permanent error of each host, and of several hosts the most transient
    /// one.
    fn into_failure(self) -> Failure {
        let mut by_host = BTreeMap::new();
        let mut sentences = Vec::new();
        let is_single = self.0.len() == 1;
        for (at, endpoint, failure) in self.0 {
            let Failure::Database(DatabaseFailure { reason, kind }) = failure else {
                return failure;
            };
            let worst = by_host.entry(at).or_insert(kind);
            *worst = kind.max(*worst);
            sentences.push(if is_single {
                reason
            } else {
                format!("{endpoint}: {reason}")
            });
        }
        let kind = by_host.into_values().min();
        database_failure(
            kind.unwrap_or(FailureKind::Disconnected),
            sentences.join("; "),
        )
    }
}
