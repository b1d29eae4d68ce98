//! The PostgreSQL store: several instances, lost connections, outages, and databases that it rejects.

mod confirmations;
mod connection_loss;
mod count_drift;
mod delayed_statements;
mod events;
mod instances;
mod interleaved_changes;
mod multiple_hosts;
mod opening;
mod outage;
mod pgbouncer;
mod reading;
mod row_errors;
mod schemas;
mod standby;
mod tls;
mod urls;

use std::{ops::Deref, sync::LazyLock, time::Duration};

use landing::waitlist::{DatabaseUrl, PostgresWaitlist, StoreError, Waitlist};
use tokio::{
    runtime::{Handle, Runtime},
    task::{JoinHandle, JoinSet, spawn_blocking},
    time::{sleep, timeout},
};

use crate::{
    fault_proxy::FaultProxy,
    postgres_server::SHARED_SERVER,
    process::{TEST_TIMEOUT, wait_until},
    store::eventually,
};

/// The runtime of the lists. It keeps running while a test blocks its own.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Opens a list, as one instance does.
pub(super) fn open(url: &DatabaseUrl) -> PostgresWaitlist {
    let open = || PostgresWaitlist::open(url, RUNTIME.handle(), true);
    // On a busy machine, a connection may take longer than two seconds.
    let opened = open().or_else(|_| open()).or_else(|_| open());
    opened.expect("the list opens")
}

fn open_url(url: &str) -> PostgresWaitlist {
    open(&url.parse().expect("a valid URL"))
}

/// Returns the message of the error that opening a list ends with. It does not contain the password.
fn open_error(url: &str) -> String {
    let message = match url.parse::<DatabaseUrl>() {
        Ok(url) => PostgresWaitlist::open(&url, RUNTIME.handle(), true)
            .err()
            .expect("the list must not open")
            .to_string(),
        Err(error) => error.to_string(),
    };
    assert!(!message.contains("secret"), "{message}");
    message
}

fn can_open(url: &str) -> bool {
    let url = url.parse().expect("a valid URL");
    PostgresWaitlist::open(&url, RUNTIME.handle(), true).is_ok()
}

/// Returns whether the store cannot use the database, whether or not the database responds.
fn is_outage(error: &StoreError) -> bool {
    matches!(error, StoreError::Unreachable | StoreError::Database(_))
}

/// Waits until an instance reports a count.
async fn wait_for_count(list: &dyn Waitlist, count: u64) {
    let mut changes = list.watch_count();
    let reached = timeout(TEST_TIMEOUT, changes.wait_for(|current| *current == count));
    assert!(
        reached.await.is_ok(),
        "the count is {} instead of {count}",
        list.count()
    );
}

/// Returns the result of a future, which must be ready within [`TEST_TIMEOUT`].
async fn within_timeout<T, E: std::fmt::Debug>(future: impl Future<Output = Result<T, E>>) -> T {
    let result = timeout(TEST_TIMEOUT, future).await;
    result.expect("no timeout").expect("the list is open")
}

/// Runs a test on all inputs at the same time, each on a thread that may block, and returns the results in the order
/// of the inputs.
///
/// The runs start [`START_INTERVAL`] apart: opening a list takes processor time, and must succeed within 2 seconds.
async fn run_concurrently<I, T, F>(
    inputs: impl IntoIterator<Item = I>,
    test: impl Fn(I) -> F + Clone + Send + 'static,
) -> Vec<T>
where
    I: Send + 'static,
    T: Send + 'static,
    F: Future<Output = T>,
{
    let mut running = JoinSet::new();
    for (number, input) in inputs.into_iter().enumerate() {
        let test = test.clone();
        running.spawn_blocking(move || (number, Handle::current().block_on(test(input))));
        sleep(START_INTERVAL).await;
    }
    let mut results = running.join_all().await;
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

const START_INTERVAL: Duration = Duration::from_millis(250);

/// A new, empty database on the shared server.
struct SharedDatabase {
    name: String,
    url: String,
}

impl SharedDatabase {
    fn create() -> Self {
        let url = SHARED_SERVER.create_database();
        let name = url.rsplit('/').next().expect("a name").to_owned();
        Self { name, url }
    }

    fn open(&self) -> PostgresWaitlist {
        open_url(&self.url)
    }

    /// Runs a statement and returns its output.
    fn sql(&self, statement: &str) -> String {
        SHARED_SERVER.sql(&self.name, statement)
    }

    /// Creates a user without privileges, and returns the URL for it. The user has the name of the database.
    fn create_user(&self) -> String {
        let name = &self.name;
        self.sql(&format!("CREATE USER {name} PASSWORD 'secret'"));
        self.url
            .replace("owner:secret-of-the-tests", &format!("{name}:secret"))
    }

    /// Runs statements that end in `pg_sleep`, and returns once they sleep. They may fail.
    fn start_sleeping(&self, statements: &'static str) -> JoinHandle<()> {
        let url = self.url.clone();
        let running = spawn_blocking(move || {
            SHARED_SERVER.run("psql", &["-X", "-q", "-c", statements, &url]);
        });
        let asleep = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE {}",
            self.sleeping()
        );
        wait_until("the statements sleep", || self.sql(&asleep) != "0");
        running
    }

    /// Ends the statements of [`SharedDatabase::start_sleeping`].
    fn end_sleeping(&self) {
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity";
        self.sql(&format!("{end} WHERE {}", self.sleeping()));
    }

    /// Waits until a statement waits for a lock.
    fn wait_for_lock(&self) {
        let waiting = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'",
            self.name
        );
        wait_until("a statement waits for a lock", || self.sql(&waiting) != "0");
    }

    fn sleeping(&self) -> String {
        format!("datname = '{}' AND wait_event = 'PgSleep'", self.name)
    }
}

/// A new, empty database on the shared server, behind a proxy.
struct ProxiedDatabase {
    database: SharedDatabase,
    proxy: FaultProxy,
}

impl ProxiedDatabase {
    /// Creates the database and a proxy for statements that contain `pattern`.
    async fn create(pattern: &'static str) -> Self {
        Self {
            database: SharedDatabase::create(),
            proxy: FaultProxy::start(SHARED_SERVER.port, pattern).await,
        }
    }

    /// Opens the list through the proxy.
    fn open(&self) -> PostgresWaitlist {
        open_url(&self.url())
    }

    /// Waits until the proxy has made a statement fail.
    async fn until_fault(&self) {
        assert!(eventually(async || self.faults() > 0).await, "no fault");
    }

    fn url(&self) -> String {
        let (direct, proxied) = (SHARED_SERVER.port, self.proxy.port);
        let (direct, proxied) = (format!(":{direct}/"), format!(":{proxied}/"));
        self.database.url.replace(&direct, &proxied)
    }
}

impl Deref for ProxiedDatabase {
    type Target = FaultProxy;

    fn deref(&self) -> &FaultProxy {
        &self.proxy
    }
}
