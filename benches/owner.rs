//! `make bench-owner`: what the owner's commands take with a million people on a list that is served,
//! and what those notice who sign up meanwhile.

mod server;

use std::{
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::Client;
use serde_json::json;
use server::{PROGRAM, Server, process_memory_mb, write_people};
use tokio::{task::JoinHandle, time::sleep};

const PEOPLE: usize = 1_000_000;
/// Between two sign-ups of the visitor.
const SIGN_UP_INTERVAL: Duration = Duration::from_millis(5);
/// How long the visitor comes when nothing else is done.
const BASELINE_DURATION: Duration = Duration::from_secs(10);

/// A command, and how often it runs.
const COMMANDS: [(&str, &str, usize); 7] = [
    ("import", "import people.csv", 1),
    ("import, all there", "import people.csv", 5),
    ("export, CSV", "export -o list.csv", 5),
    ("export, JSON", "export -o list.jsonl", 5),
    ("import of that", "import list.jsonl", 5),
    ("check", "check", 5),
    ("stats", "stats", 5),
];

#[tokio::main]
async fn main() {
    let server = Server::landing(&["--signups-per-minute=0"]).await;
    write_people(&server.directory().join("people.csv"), PEOPLE).expect("writable");
    println!("{PEOPLE} people, and one more signs up every {SIGN_UP_INTERVAL:?}\n");
    println!(
        "| command | people a second | its memory | the server's, above rest | sign-ups: p50 | p99 | p99 to calm |"
    );
    println!("|---|---|---|---|---|---|---|");
    let visitor = Visitor::start(&server);
    sleep(BASELINE_DURATION).await;
    let baseline = visitor.stop().await;
    let [p50, p99] = [0.5, 0.99].map(|share| percentile(&baseline, share));
    println!("| none | | | | {p50:.2} ms | {p99:.2} ms | 1 |");
    for (name, command, rounds) in COMMANDS {
        // The list itself is of its memory at rest, once it is there.
        let rest = server.memory_mb("VmRSS:");
        let visitor = Visitor::start(&server);
        let (mut rates, mut command_memory, mut server_memory) = (Vec::new(), 0f64, 0f64);
        for _ in 0..rounds {
            let started = Instant::now();
            let peak = run(&server, command, &mut server_memory).await;
            rates.push(PEOPLE as f64 / started.elapsed().as_secs_f64());
            command_memory = command_memory.max(peak);
        }
        let sign_ups = visitor.stop().await;
        rates.sort_by(f64::total_cmp);
        println!(
            "| {name} | {:.0} | {command_memory:.0} MB | {:.0} MB | {:.2} ms | {:.2} ms | {:.1} |",
            percentile(&rates, 0.5),
            server_memory - rest,
            percentile(&sign_ups, 0.5),
            percentile(&sign_ups, 0.99),
            percentile(&sign_ups, 0.99) / p99
        );
    }
}

/// Runs a command and returns the most memory that it had, in megabytes; `server_memory` becomes the most that
/// the server had.
async fn run(server: &Server, command: &str, server_memory: &mut f64) -> f64 {
    let mut program = Command::new(PROGRAM);
    program
        .args(command.split(' '))
        .current_dir(server.directory())
        .stdout(Stdio::null());
    let mut running = program.spawn().expect("it starts");
    let mut peak = 0f64;
    let ended = loop {
        if let Some(ended) = running.try_wait().expect("it runs") {
            break ended;
        }
        // It may end in between.
        peak = peak.max(process_memory_mb(running.id(), "VmHWM:").unwrap_or_default());
        *server_memory = server_memory.max(server.memory_mb("VmRSS:"));
        sleep(Duration::from_millis(2)).await;
    };
    assert!(ended.success(), "{command}");
    peak
}

/// Somebody who signs up again and again, each time as another.
struct Visitor {
    is_running: Arc<AtomicBool>,
    task: JoinHandle<Vec<f64>>,
}

impl Visitor {
    fn start(server: &Server) -> Self {
        let is_running = Arc::new(AtomicBool::new(true));
        let url = server.url("/api/waitlist");
        let task = tokio::spawn(sign_up(url, Arc::clone(&is_running)));
        Self { is_running, task }
    }

    /// How long each answer took, in milliseconds, from the shortest on.
    async fn stop(self) -> Vec<f64> {
        self.is_running.store(false, Ordering::Relaxed);
        self.task.await.expect("everybody was answered")
    }
}

async fn sign_up(url: String, is_running: Arc<AtomicBool>) -> Vec<f64> {
    let client = Client::new();
    let started = Instant::now();
    let mut latencies = Vec::new();
    while is_running.load(Ordering::Relaxed) {
        let email = format!("{}@visitor.example", rand::random::<u64>());
        let sent = Instant::now();
        let response = client.post(&url).json(&json!({ "email": email })).send();
        let response = response.await.expect("an answer");
        assert_eq!(response.status(), 201, "after {:?}", started.elapsed());
        latencies.push(sent.elapsed().as_secs_f64() * 1e3);
        sleep(SIGN_UP_INTERVAL).await;
    }
    latencies.sort_by(f64::total_cmp);
    latencies
}

/// A number at some share of the way through sorted ones.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    let number = sorted.get((last * share) as usize);
    number.copied().unwrap_or(f64::NAN)
}
