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
use server::{PROGRAM, Server, memory, write_people};
use tokio::{task::JoinHandle, time::sleep};

const PEOPLE: usize = 1_000_000;
/// Between two sign-ups of the visitor.
const PACE: Duration = Duration::from_millis(5);
/// How long the visitor comes when nothing else is done.
const CALM: Duration = Duration::from_secs(10);

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
    write_people(&server.place().join("people.csv"), PEOPLE).expect("writable");
    println!("{PEOPLE} people, and one more signs up every {PACE:?}\n");
    println!(
        "| command | people a second | its memory | the server's, above rest | sign-ups: p50 | p99 | p99 to calm |"
    );
    println!("|---|---|---|---|---|---|---|");
    let visitor = Visitor::come(&server);
    sleep(CALM).await;
    let calm = visitor.leave().await;
    let [p50, p99] = [0.5, 0.99].map(|share| at(&calm, share));
    println!("| none | | | | {p50:.2} ms | {p99:.2} ms | 1 |");
    for (name, command, rounds) in COMMANDS {
        // The list itself is of its memory at rest, once it is there.
        let rest = server.memory("VmRSS:");
        let visitor = Visitor::come(&server);
        let (mut rates, mut its, mut servers) = (Vec::new(), 0f64, 0f64);
        for _ in 0..rounds {
            let begun = Instant::now();
            let most = run(&server, command, &mut servers).await;
            rates.push(PEOPLE as f64 / begun.elapsed().as_secs_f64());
            its = its.max(most);
        }
        let sign_ups = visitor.leave().await;
        rates.sort_by(f64::total_cmp);
        println!(
            "| {name} | {:.0} | {its:.0} MB | {:.0} MB | {:.2} ms | {:.2} ms | {:.1} |",
            at(&rates, 0.5),
            servers - rest,
            at(&sign_ups, 0.5),
            at(&sign_ups, 0.99),
            at(&sign_ups, 0.99) / p99
        );
    }
}

/// Runs a command and returns the most memory that it had, in megabytes; `servers` becomes the most that
/// the server had.
async fn run(server: &Server, command: &str, servers: &mut f64) -> f64 {
    let mut program = Command::new(PROGRAM);
    program
        .args(command.split(' '))
        .current_dir(server.place())
        .stdout(Stdio::null());
    let mut running = program.spawn().expect("it starts");
    let mut most = 0f64;
    let ended = loop {
        if let Some(ended) = running.try_wait().expect("it runs") {
            break ended;
        }
        // It may end in between.
        most = most.max(memory(running.id(), "VmHWM:").unwrap_or_default());
        *servers = servers.max(server.memory("VmRSS:"));
        sleep(Duration::from_millis(2)).await;
    };
    assert!(ended.success(), "{command}");
    most
}

/// Somebody who signs up again and again, each time as another.
struct Visitor {
    stays: Arc<AtomicBool>,
    signing_up: JoinHandle<Vec<f64>>,
}

impl Visitor {
    fn come(server: &Server) -> Self {
        let stays = Arc::new(AtomicBool::new(true));
        let url = server.url("/api/waitlist");
        let signing_up = tokio::spawn(sign_up(url, Arc::clone(&stays)));
        Self { stays, signing_up }
    }

    /// How long each answer took, in milliseconds, from the shortest on.
    async fn leave(self) -> Vec<f64> {
        self.stays.store(false, Ordering::Relaxed);
        self.signing_up.await.expect("everybody was answered")
    }
}

async fn sign_up(url: String, stays: Arc<AtomicBool>) -> Vec<f64> {
    let client = Client::new();
    let begun = Instant::now();
    let mut taken = Vec::new();
    while stays.load(Ordering::Relaxed) {
        let email = format!("{}@visitor.example", rand::random::<u64>());
        let asked = Instant::now();
        let answer = client.post(&url).json(&json!({ "email": email })).send();
        let answer = answer.await.expect("an answer");
        assert_eq!(answer.status(), 201, "after {:?}", begun.elapsed());
        taken.push(asked.elapsed().as_secs_f64() * 1e3);
        sleep(PACE).await;
    }
    taken.sort_by(f64::total_cmp);
    taken
}

/// A number at some share of the way through sorted ones.
fn at(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    let number = sorted.get((last * share) as usize);
    number.copied().unwrap_or(f64::NAN)
}
