//! Several instances of the server with one database, during failures.

mod database_faults;
mod load_balancer;
mod owner;
mod patroni;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    process::{Command, Output},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{runtime::Runtime, task::JoinSet, time::sleep};

use crate::{
    postgres_server::{PostgresServer, free_port},
    process::{Sandbox, ServerProcess, signal, wait_until},
};

/// Clients that sign up during the test.
const CLIENTS: usize = 16;
/// Sign-ups that must succeed before the next step.
const SIGN_UPS_PER_STEP: usize = 200;

/// An instance of the server, in its own directory.
struct Instance {
    sandbox: Sandbox,
    database: String,
    addr: String,
    running: Option<ServerProcess>,
}

impl Instance {
    fn start(database: &str) -> Self {
        let mut instance = Self {
            sandbox: Sandbox::new(),
            database: database.to_owned(),
            addr: format!("127.0.0.1:{}", free_port()),
            running: None,
        };
        instance.restart();
        instance
    }

    fn restart(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
        command
            .env_clear()
            .current_dir(self.sandbox.path())
            .args(["--addr", &self.addr])
            .args([
                "--trusted-proxies",
                "127.0.0.1",
                "--signups-per-minute",
                "0",
            ])
            .env("DATABASE_URL", &self.database);
        let log = self.sandbox.path().join("log");
        let file = File::options().create(true).append(true).open(&log);
        command.stderr(file.expect("writable"));
        self.running = Some(ServerProcess::start_with_log_file(command, &log));
    }

    /// Returns how often the log reports the start and the end of an outage.
    fn outages(&self) -> (usize, usize) {
        let log = self.log_without_requests();
        let count = |text| log.iter().filter(|line| line.contains(text)).count();
        (
            count("nobody can sign up until it is back"),
            count("the database is available again"),
        )
    }

    /// Returns the lines of the log, except those of the requests.
    fn log_without_requests(&self) -> Vec<String> {
        let log = fs::read_to_string(self.sandbox.path().join("log")).expect("readable");
        let lines = log.lines().filter(|line| !line.contains(" answered "));
        lines.map(str::to_owned).collect()
    }

    fn running(&self) -> &ServerProcess {
        self.running.as_ref().expect("the instance runs")
    }

    fn wait_for_exit(&mut self) -> Option<i32> {
        let running = self.running.as_mut();
        running.expect("the instance runs").wait_for_exit()
    }

    fn count(&self) -> u64 {
        self.running().count()
    }

    /// Waits until a path responds with a status.
    fn wait_for(&self, path: &str, status: &str) {
        wait_until(&format!("{path} is {status}"), || {
            self.status(path) == status
        });
    }

    fn status(&self, path: &str) -> String {
        let response = self.running().request("GET", path, "");
        response.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

/// Runs `landing erase` on the list in a database.
fn erase(url: &str, address: &str) -> Output {
    let output = landing(url, &["erase", address]).output();
    output.expect("the program runs")
}

/// A command on the list in a database.
fn landing(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().env("DATABASE_URL", url).args(args);
    command
}

/// Stops all processes of a database until [`resume`]. The postmaster stops first: afterwards, no process starts, and one
/// that ends stays as a zombie.
fn suspend(server: &PostgresServer) -> Vec<u32> {
    signal(server.processes()[0], "-STOP");
    let processes = server.processes();
    processes.iter().for_each(|pid| signal(*pid, "-STOP"));
    processes
}

/// Continues these processes, the postmaster last.
fn resume(processes: &[u32]) {
    processes.iter().rev().for_each(|pid| signal(*pid, "-CONT"));
}

/// Clients that sign up in the background, one address after another, and retry failed sign-ups.
struct Clients {
    runtime: Runtime,
    tasks: JoinSet<()>,
    state: Arc<ClientState>,
}

/// The state that all clients share.
struct ClientState {
    /// The sites, which the requests go to in turn.
    origins: Vec<String>,
    /// Requests so far.
    requests: AtomicUsize,
    outcomes: Mutex<Outcomes>,
    is_over: AtomicBool,
}

/// The outcomes of the sign-ups.
#[derive(Clone, Default)]
struct Outcomes {
    /// The number of responses with each status. 0 means no response.
    statuses: BTreeMap<u16, u64>,
    requested: BTreeSet<String>,
    /// Addresses with a response of 201 or 409.
    acknowledged: BTreeSet<String>,
    /// Addresses that a command of the owner may have removed.
    taken: BTreeSet<String>,
}

impl Clients {
    /// Starts clients of one site.
    fn start(origin: String) -> Self {
        Self::start_for_all(vec![origin])
    }

    /// Starts clients of several sites.
    fn start_for_all(origins: Vec<String>) -> Self {
        let state = Arc::new(ClientState {
            origins,
            requests: AtomicUsize::new(0),
            outcomes: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let runtime = Runtime::new().expect("a runtime");
        let mut tasks = JoinSet::new();
        for client in 0..CLIENTS {
            let state = Arc::clone(&state);
            tasks.spawn_on(async move { state.sign_up(client).await }, runtime.handle());
        }
        Self {
            runtime,
            tasks,
            state,
        }
    }

    fn get(&self, path: &str) -> String {
        let url = self.state.url(path);
        let page = async { reqwest::get(url).await?.text().await };
        self.runtime.block_on(page).expect("a page")
    }

    /// Waits until [`SIGN_UPS_PER_STEP`] more sign-ups are acknowledged.
    fn wait_for_sign_ups(&self, step: &str) {
        let acknowledged_count = || {
            self.state
                .outcomes
                .lock()
                .expect("no panic")
                .acknowledged
                .len()
        };
        let target = acknowledged_count() + SIGN_UPS_PER_STEP;
        wait_until(&format!("sign-ups succeed: {step}"), || {
            acknowledged_count() >= target
        });
    }

    /// Takes an address that is listed, for a command of the owner that may remove it.
    fn take_acknowledged(&self) -> String {
        let mut outcomes = self.state.outcomes.lock().expect("no panic");
        let mut listed = outcomes.acknowledged.difference(&outcomes.taken);
        let address = listed.next().expect("an acknowledged address").clone();
        outcomes.taken.insert(address.clone());
        address
    }

    /// Allows an address that no client requested.
    fn note_requested(&self, address: String) {
        let mut outcomes = self.state.outcomes.lock().expect("no panic");
        outcomes.requested.insert(address);
    }

    fn finish(self) -> Outcomes {
        self.state.is_over.store(true, Ordering::SeqCst);
        self.runtime.block_on(self.tasks.join_all());
        self.state.outcomes.lock().expect("no panic").clone()
    }
}

impl ClientState {
    fn url(&self, path: &str) -> String {
        let origins = &self.origins;
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        origins[request % origins.len()].clone() + path
    }

    async fn sign_up(&self, client: usize) {
        let http = reqwest::Client::new();
        for number in 0.. {
            let email = format!("person{number}@client{client}.example");
            let outcomes = || self.outcomes.lock().expect("no panic");
            outcomes().requested.insert(email.clone());
            for _ in 0..5 {
                if self.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let body = serde_json::json!({ "email": email });
                let response = http
                    .post(self.url("/api/waitlist"))
                    .json(&body)
                    .send()
                    .await;
                let status = response.map_or(0, |response| response.status().as_u16());
                *outcomes().statuses.entry(status).or_default() += 1;
                if matches!(status, 201 | 409) {
                    outcomes().acknowledged.insert(email);
                    break;
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

impl Outcomes {
    /// Checks that the database lists every acknowledged address that was not taken, each once, no address that
    /// nobody requested, and the right count. Returns that count.
    fn assert_stored_in(&self, server: &PostgresServer, database: &str) -> u64 {
        let emails = server.sql(database, "SELECT email FROM waitlist_entries");
        let listed: BTreeSet<_> = emails.lines().map(str::to_owned).collect();
        assert_eq!(emails.lines().count(), listed.len(), "a duplicate entry");
        let lost = self.acknowledged.difference(&listed);
        let lost: Vec<_> = lost.filter(|it| !self.taken.contains(*it)).collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
        assert!(listed.is_subset(&self.requested));
        let count = server.sql(database, "SELECT sum(entries) FROM waitlist_count");
        assert_eq!(count, listed.len().to_string());
        listed.len() as u64
    }
}
