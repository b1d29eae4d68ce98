//! `make bench-owner`: measures the owner's commands with a million people on a list that is being served, and how
//! much they slow down sign-ups.

mod server;

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use server::{
    SIGN_UP_INTERVAL, Server, Visitor, landing_command, median, percentile, process_memory_mb,
    write_people,
};
use tokio::time::sleep;

const PEOPLE: usize = 1_000_000;
/// How long the visitor signs up before the first command.
const BASELINE_DURATION: Duration = Duration::from_secs(10);

/// A name, a command, and how often it runs.
const COMMANDS: [(&str, &str, usize); 8] = [
    ("import", "import people.csv", 1),
    ("import, all listed", "import people.csv", 5),
    ("export, CSV", "export -o list.csv", 5),
    ("export, JSON", "export -o list.jsonl", 5),
    ("import of that export", "import list.jsonl", 5),
    ("check", "check", 5),
    ("stats", "stats", 5),
    ("report", "report -o report.html", 5),
];

#[tokio::main]
async fn main() {
    let server = Server::landing(&["--signups-per-minute=0"]).await;
    write_people(&server.directory().join("people.csv"), PEOPLE).expect("writable");
    println!("{PEOPLE} people, and a visitor who signs up every {SIGN_UP_INTERVAL:?}\n");
    println!(
        "| command | people/s | its memory | server memory above idle | sign-ups: p50 | p99 | p99 / p99 without a command |"
    );
    println!("|---|---|---|---|---|---|---|");
    let visitor = Visitor::start(&server);
    sleep(BASELINE_DURATION).await;
    let baseline = visitor.stop().await;
    let [p50, p99] = [0.5, 0.99].map(|share| percentile(&baseline, share));
    println!("| none | | | | {p50:.2} ms | {p99:.2} ms | 1 |");
    for (name, command, rounds) in COMMANDS {
        // Once the list is imported, the idle memory includes it.
        let idle_memory = server.memory_mb("VmRSS:");
        let visitor = Visitor::start(&server);
        let (mut rates, mut command_memory, mut server_memory) = (Vec::new(), 0f64, 0f64);
        for _ in 0..rounds {
            let started = Instant::now();
            let peak = run_command(&server, command, &mut server_memory).await;
            rates.push(PEOPLE as f64 / started.elapsed().as_secs_f64());
            command_memory = command_memory.max(peak);
        }
        let sign_ups = visitor.stop().await;
        println!(
            "| {name} | {:.0} | {command_memory:.0} MB | {:.0} MB | {:.2} ms | {:.2} ms | {:.1} |",
            median(rates),
            server_memory - idle_memory,
            percentile(&sign_ups, 0.5),
            percentile(&sign_ups, 0.99),
            percentile(&sign_ups, 0.99) / p99
        );
    }
}

/// Runs a command and returns its peak memory in megabytes. Raises `server_memory` to the peak memory of the server.
async fn run_command(server: &Server, command: &str, server_memory: &mut f64) -> f64 {
    let mut program = landing_command(server.directory());
    program.args(command.split(' ')).stdout(Stdio::null());
    let mut running = program.spawn().expect("the program starts");
    let mut peak = 0f64;
    let ended = loop {
        if let Some(ended) = running.try_wait().expect("a child process") {
            break ended;
        }
        // If the command has just ended, its memory cannot be read.
        peak = peak.max(process_memory_mb(running.id(), "VmHWM:").unwrap_or_default());
        *server_memory = server_memory.max(server.memory_mb("VmRSS:"));
        sleep(Duration::from_millis(2)).await;
    };
    assert!(ended.success(), "{command}");
    peak
}
