//! Three copies of the program over one database, behind a balancer: what visitors and the owner notice
//! when something breaks.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use reqwest::Client;
use tokio::task::JoinSet;

use crate::{
    postgres::{Server, free_port},
    proxies::{Proxy, haproxy, recipe},
    running::{Place, Running, signal},
};

/// Who signs up all the while.
const CLIENTS: usize = 16;
/// Sign-ups that must come through before the next thing breaks.
const BETWEEN: u64 = 200;
/// Longer than an answer may take.
const PAUSE: Duration = Duration::from_secs(13);
/// Longer than anything takes that is waited for.
const A_WHILE: Duration = Duration::from_secs(60);

/// A copy, in a place of its own.
struct Copy {
    place: Place,
    database: String,
    addr: String,
    running: Option<Running>,
}

impl Copy {
    fn start(database: &str) -> Self {
        let mut copy = Self {
            place: Place::new(),
            database: database.to_owned(),
            addr: format!("127.0.0.1:{}", free_port()),
            running: None,
        };
        copy.start_again();
        copy
    }

    fn start_again(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
        command
            .env_clear()
            .current_dir(self.place.path())
            .args(["--addr", &self.addr, "--site-root", "site"])
            .args([
                "--trusted-proxies",
                "127.0.0.1",
                "--signups-per-minute",
                "0",
            ])
            .env("DATABASE_URL", &self.database);
        self.running = Some(Running::start(command));
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs")
    }

    fn status(&self, path: &str) -> String {
        let answer = self.running().ask("GET", path, "");
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

/// What clients were told.
#[derive(Default)]
struct Told {
    /// Every status, and how often.
    statuses: Mutex<BTreeMap<u16, u64>>,
    asked: Mutex<BTreeSet<String>>,
    /// Who was told that they are on the list.
    acknowledged: Mutex<BTreeSet<String>>,
    count: AtomicU64,
    is_over: AtomicBool,
}

impl Told {
    /// Waits until so many more have come through.
    fn wait_for_more(&self, what: &str) {
        let (begun, enough) = (Instant::now(), self.count.load(Ordering::SeqCst) + BETWEEN);
        while self.count.load(Ordering::SeqCst) < enough {
            assert!(
                begun.elapsed() < A_WHILE,
                "{what}: nobody comes through: {:?}",
                self.statuses.lock()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Signs people up, one after the other, and each again who is told to come again.
async fn sign_up(client: usize, url: String, told: Arc<Told>) {
    let http = Client::new();
    for number in 0.. {
        let email = format!("person{number}@client{client}.example");
        told.asked.lock().expect("no panic").insert(email.clone());
        for _ in 0..5 {
            if told.is_over.load(Ordering::SeqCst) {
                return;
            }
            let body = serde_json::json!({ "email": email });
            let answer = http.post(&url).json(&body).send().await;
            let status = answer.expect("the balancer answers").status().as_u16();
            *told
                .statuses
                .lock()
                .expect("no panic")
                .entry(status)
                .or_default() += 1;
            if matches!(status, 201 | 409) {
                told.acknowledged.lock().expect("no panic").insert(email);
                told.count.fetch_add(1, Ordering::SeqCst);
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[test]
fn whatever_breaks_nobody_is_lost_and_nobody_is_doubled() {
    let server = Server::start();
    let database = server.database();
    let mut copies = [(); 3].map(|()| Copy::start(&database));
    let port = free_port();
    let recipe = recipe("haproxy")
        .replace(
            "bind :443 ssl crt /etc/haproxy/steward.example.pem alpn h2,http/1.1",
            &format!("bind 127.0.0.1:{port}"),
        )
        .replace("bind :80", &format!("bind 127.0.0.1:{}", free_port()));
    let folder = tempfile::TempDir::new().expect("a directory");
    let addresses = [0, 1, 2].map(|number: usize| copies[number].addr.clone());
    let mut balancer = haproxy(
        folder.path(),
        &recipe,
        [&addresses[0], &addresses[1], &addresses[2]],
    );
    let _balancer = Proxy::start(&mut balancer, port);

    let told = Arc::new(Told::default());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let url = format!("http://127.0.0.1:{port}/api/waitlist");
        clients.spawn_on(sign_up(client, url, Arc::clone(&told)), runtime.handle());
    }
    told.wait_for_more("all is well");

    // A copy is killed, in the middle of what it does, and comes back.
    copies[1].running().signal("-KILL");
    told.wait_for_more("a copy is gone");
    copies[1].start_again();
    told.wait_for_more("it is back");

    // The database starts anew.
    for mode in ["fast", "immediate"] {
        server.down(mode);
        server.up();
        told.wait_for_more(mode);
    }

    // It hangs.
    let known = copies[0].running().count();
    let stopped = server.processes();
    let paused = Instant::now();
    stopped.iter().for_each(|process| signal(*process, "-STOP"));
    for copy in &copies {
        let begun = Instant::now();
        while copy.status("/readyz") != "503" {
            assert!(begun.elapsed() < A_WHILE, "a copy says that it is ready");
        }
        assert_eq!(copy.status("/"), "200", "the page is there");
        assert_eq!(copy.status("/healthz"), "200");
    }
    let page = runtime.block_on(async {
        reqwest::get(format!("http://127.0.0.1:{port}/"))
            .await?
            .text()
            .await
    });
    assert!(page.expect("the page").contains("already on the list"));
    thread::sleep(PAUSE.saturating_sub(paused.elapsed()));
    assert!(
        copies[0].running().count() >= known,
        "the last one that was known"
    );
    stopped.iter().for_each(|process| signal(*process, "-CONT"));
    told.wait_for_more("it has hung");
    for copy in &copies {
        let begun = Instant::now();
        while copy.status("/readyz") != "200" {
            assert!(
                begun.elapsed() < A_WHILE,
                "a copy says that it is not ready"
            );
        }
    }

    told.is_over.store(true, Ordering::SeqCst);
    runtime.block_on(clients.join_all());
    let statuses = told.statuses.lock().expect("no panic").clone();
    assert!(
        statuses
            .keys()
            .all(|status| [201, 409, 503].contains(status)),
        "{statuses:?}"
    );
    assert!(
        statuses.contains_key(&503),
        "nothing was put to the test: {statuses:?}"
    );

    let listed = server.sql("list0", "SELECT email FROM waitlist_entries");
    let listed: Vec<_> = listed.lines().map(str::to_owned).collect();
    let people: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), people.len(), "nobody is doubled");
    let acknowledged = told.acknowledged.lock().expect("no panic");
    let lost: Vec<_> = acknowledged.difference(&people).collect();
    assert!(
        lost.is_empty(),
        "{} of {} are lost: {lost:?}",
        lost.len(),
        acknowledged.len()
    );
    let asked = told.asked.lock().expect("no panic");
    assert!(people.is_subset(&asked));
    let count = format!(r#"{{"count":{}}}"#, people.len());
    for copy in &copies {
        let begun = Instant::now();
        while copy.running().count() != count {
            assert!(
                begun.elapsed() < A_WHILE,
                "{} for {count}",
                copy.running().count()
            );
        }
    }
    println!(
        "{} acknowledged, {} on the list, {statuses:?}",
        acknowledged.len(),
        people.len()
    );
}
