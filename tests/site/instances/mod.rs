//! Several instances of the program over one database: what visitors and the owner notice when something
//! breaks, or is moved.

mod database_faults;
mod failover;
mod load_balancer;
mod migration;
mod pausable_proxy;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{runtime::Runtime, task::JoinSet, time::sleep};

use crate::{
    postgres_server::{PostgresServer, free_port},
    process::{Sandbox, ServerProcess, wait_until},
};

/// Who signs up all the while.
const CLIENTS: usize = 16;
/// Sign-ups that must come through before the next thing breaks.
const SIGN_UPS_PER_STEP: usize = 200;
/// An instance, in a place of its own.
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
            .args(["--addr", &self.addr, "--site-root", "site"])
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

    /// How often its log says that the database is lost, and that it is back.
    fn outages(&self) -> (usize, usize) {
        let log = fs::read_to_string(self.sandbox.path().join("log")).expect("readable");
        let count = |words| log.lines().filter(|line| line.contains(words)).count();
        (
            count("Nobody can sign up until it is back"),
            count("the database is back"),
        )
    }

    fn running(&self) -> &ServerProcess {
        self.running.as_ref().expect("it runs")
    }

    fn wait_for_exit(&mut self) -> Option<i32> {
        self.running.as_mut().expect("it runs").wait_for_exit()
    }

    fn count(&self) -> u64 {
        let count = self.running().count();
        let digits = count.trim_matches(|c: char| !c.is_ascii_digit());
        digits.parse().expect("a number")
    }

    /// Waits until it answers so.
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

/// People who sign up all the while, one after the other in each of them, and again when they are told to
/// come again.
struct Clients {
    runtime: Runtime,
    signing_up: JoinSet<()>,
    state: Arc<ClientState>,
}

/// What they share.
struct ClientState {
    /// The sites they ask, in turns.
    origins: Mutex<Vec<String>>,
    turn: AtomicUsize,
    outcomes: Mutex<Outcomes>,
    is_over: AtomicBool,
}

/// What they were told.
#[derive(Clone, Default)]
struct Outcomes {
    /// Every status, and how often.
    statuses: BTreeMap<u16, u64>,
    requested: BTreeSet<String>,
    /// Who was told to be on the list.
    acknowledged: BTreeSet<String>,
    /// Who was erased since, or perhaps was.
    erased: BTreeSet<String>,
}

impl Clients {
    /// Begins to ask a site.
    fn start(origin: String) -> Self {
        Self::start_for_all(vec![origin])
    }

    /// Begins to ask several.
    fn start_for_all(origins: Vec<String>) -> Self {
        let state = Arc::new(ClientState {
            origins: Mutex::new(origins),
            turn: AtomicUsize::new(0),
            outcomes: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let runtime = Runtime::new().expect("a runtime");
        let mut signing_up = JoinSet::new();
        for client in 0..CLIENTS {
            let state = Arc::clone(&state);
            signing_up.spawn_on(async move { state.sign_up(client).await }, runtime.handle());
        }
        Self {
            runtime,
            signing_up,
            state,
        }
    }

    /// From now on they ask another one.
    fn switch_to(&self, origin: String) {
        *self.state.origins.lock().expect("no panic") = vec![origin];
    }

    fn get(&self, path: &str) -> String {
        let url = self.state.url(path);
        let page = async { reqwest::get(url).await?.text().await };
        self.runtime.block_on(page).expect("a page")
    }

    /// Waits until a number of them have come through.
    fn wait_for_sign_ups(&self, what: &str) {
        let acknowledged_count = || {
            self.state
                .outcomes
                .lock()
                .expect("no panic")
                .acknowledged
                .len()
        };
        let enough = acknowledged_count() + SIGN_UPS_PER_STEP;
        wait_until(&format!("people come through: {what}"), || {
            acknowledged_count() >= enough
        });
    }

    /// Somebody who is on the list.
    fn any_acknowledged(&self) -> Option<String> {
        let outcomes = self.state.outcomes.lock().expect("no panic");
        outcomes
            .acknowledged
            .difference(&outcomes.erased)
            .next()
            .cloned()
    }

    fn note_erased(&self, address: String) {
        let mut outcomes = self.state.outcomes.lock().expect("no panic");
        outcomes.erased.insert(address);
    }

    fn finish(self) -> Outcomes {
        self.state.is_over.store(true, Ordering::SeqCst);
        self.runtime.block_on(self.signing_up.join_all());
        self.state.outcomes.lock().expect("no panic").clone()
    }
}

impl ClientState {
    fn url(&self, path: &str) -> String {
        let origins = self.origins.lock().expect("no panic");
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        origins[turn % origins.len()].clone() + path
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
                // 0: none.
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
    /// Everybody who was told to be on the list is on it, once, and nobody else but who asked. Returns how
    /// many that are, which are counted right.
    fn assert_stored_in(&self, server: &PostgresServer, database: &str) -> u64 {
        let listed = server.sql(database, "SELECT email FROM waitlist_entries");
        let people: BTreeSet<_> = listed.lines().map(str::to_owned).collect();
        assert_eq!(listed.lines().count(), people.len(), "nobody is doubled");
        let lost = self.acknowledged.difference(&people);
        let lost: Vec<_> = lost.filter(|it| !self.erased.contains(*it)).collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
        assert!(people.is_subset(&self.requested));
        let counted = server.sql(database, "SELECT sum(entries) FROM waitlist_count");
        assert_eq!(counted, people.len().to_string());
        people.len() as u64
    }
}
