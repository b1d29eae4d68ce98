//! `make bench NAME=http`: compares the release server with bare axum, which sends the same bytes from memory.
//!
//! Both get the same load in alternating runs, so that changes in the machine's speed affect both and cancel out in
//! the ratio.

mod server;

use std::{
    env, fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    http::{HeaderMap, HeaderName, StatusCode, header},
    routing::{get, post},
};
use landing::wire::SignUpBody;
use reqwest::{Client, Response};
use server::{Server, free_addr, median, run_wrk};
use tempfile::TempDir;

/// The header that browsers send.
const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";

/// Concurrent connections, as on a busy day.
const CONNECTIONS: &str = "256";
/// Runs of each server. The tables show medians.
const ROUNDS: usize = 5;
/// Duration of one run.
const RUN_DURATION: Duration = Duration::from_secs(3);
const START_ROUNDS: usize = 9;

/// Method, path, and the goal as a share of the reference's throughput.
const CALLS: [(&str, &str, f64); 3] = [
    ("GET", "/", 0.9),
    ("GET", "/api/waitlist/count", 0.9),
    ("POST", "/api/waitlist", 0.5),
];

#[tokio::main]
async fn main() {
    let args: Vec<_> = env::args().collect();
    if let [_, role, addr, folder] = &args[..]
        && role == "reference"
    {
        return serve_reference(addr, Path::new(folder)).await;
    }
    let starts = measure_starts().await;
    println!(
        "start to first response, with an empty list: {:.0} ms",
        median(starts)
    );

    let landing = start_landing().await;
    println!("idle memory: {:.1} MB", landing.memory_mb("VmRSS"));
    let folder = TempDir::new().expect("a temporary directory");
    let [page, count] = [
        get_response(&landing, "/").await,
        get_response(&landing, "/api/waitlist/count").await,
    ];
    save_response(folder.path(), "page", page).await;
    save_response(folder.path(), "count", count).await;
    save_response(folder.path(), "joined", sign_up_response(&landing).await).await;
    let reference = start_reference(folder.path()).await;

    println!("{CONNECTIONS} connections; medians of {ROUNDS} runs of {RUN_DURATION:?} each\n");
    println!(
        "| | requests/s | bare axum | ratio | goal | p50, p99 | bare axum | CPU/request | bare axum |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (method, path, goal) in CALLS {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let tag = format!("round{round}");
            rounds.push([&landing, &reference].map(|server| run_load(server, method, path, &tag)));
        }
        let medians = |value: fn(&Run) -> f64| {
            [0, 1].map(|server| median(rounds.iter().map(|runs| value(&runs[server])).collect()))
        };
        let rate = medians(Run::rate);
        let ratio = median(
            rounds
                .iter()
                .map(|[landing, bare]| landing.rate() / bare.rate())
                .collect(),
        );
        let latency = |[p50, p99]: [f64; 2]| format!("{p50:.2}, {p99:.2} ms");
        let (p50, p99) = (medians(|run| run.p50), medians(|run| run.p99));
        let cpu = medians(Run::cpu_per_request);
        println!(
            "| {method} {path} | {:.0} | {:.0} | {ratio:.2} | {goal} | {} | {} | {:.1} µs | {:.1} µs |",
            rate[0],
            rate[1],
            latency([p50[0], p99[0]]),
            latency([p50[1], p99[1]]),
            cpu[0],
            cpu[1],
        );
    }
    println!("\npeak memory: {:.1} MB", landing.memory_mb("VmHWM"));
}

/// Returns the milliseconds from the start of the program to its first response, in each round.
async fn measure_starts() -> Vec<f64> {
    let mut start_times = Vec::new();
    for _ in 0..START_ROUNDS {
        let started = Instant::now();
        let server = start_landing().await;
        start_times.push(started.elapsed().as_secs_f64() * 1e3);
        drop(server);
    }
    start_times
}

/// Saves a response without the headers that the reference server adds itself.
async fn save_response(folder: &Path, name: &str, response: Response) {
    let skipped = [header::DATE, header::CONTENT_LENGTH];
    let headers = response
        .headers()
        .iter()
        .filter(|(name, _)| !skipped.contains(name));
    let lines = headers.map(|(name, value)| {
        let value = value.to_str().expect("text");
        format!("{name}: {value}\n")
    });
    fs::write(
        folder.join(format!("{name}.headers")),
        lines.collect::<String>(),
    )
    .expect("a writable directory");
    let body = response.bytes().await.expect("a body");
    fs::write(folder.join(name), body).expect("a writable directory");
}

/// Serves the saved responses with bare axum.
async fn serve_reference(addr: &str, folder: &Path) {
    let load_response = |name: &str| {
        let headers = fs::read_to_string(folder.join(format!("{name}.headers")));
        let headers = headers
            .expect("a saved response")
            .lines()
            .filter_map(|line| {
                let (name, value) = line.split_once(": ")?;
                Some((name.parse::<HeaderName>().ok()?, value.parse().ok()?))
            })
            .collect::<HeaderMap>();
        let body = fs::read(folder.join(name)).expect("a saved response");
        (headers, axum::body::Bytes::from(body))
    };
    let (page, count, (joined, _)) = (
        load_response("page"),
        load_response("count"),
        load_response("joined"),
    );
    let router = Router::new()
        .route("/", get(|| async move { page.clone() }))
        .route("/api/waitlist/count", get(|| async move { count.clone() }))
        .route(
            "/api/waitlist",
            post(|Json(entry): Json<SignUpBody>| async move {
                (StatusCode::CREATED, joined.clone(), Json(entry))
            }),
        );
    let listener = tokio::net::TcpListener::bind(addr)
        .await
        .expect("a free port");
    axum::serve(listener, router)
        .await
        .expect("the server runs");
}

/// Starts the site as behind a proxy, because all connections come from one address.
async fn start_landing() -> Server {
    Server::landing(&["--trusted-proxies=127.0.0.1", "--signups-per-minute=0"]).await
}

/// Starts this program as the reference server.
async fn start_reference(folder: &Path) -> Server {
    let addr = free_addr();
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["reference", &addr.to_string()]).arg(folder);
    Server::start(addr, command).await
}

async fn get_response(server: &Server, path: &str) -> Response {
    let get = Client::new().get(server.url(path));
    let get = get.header("accept-encoding", ACCEPT_ENCODING);
    get.send().await.expect("a response")
}

async fn sign_up_response(server: &Server) -> Response {
    let post = Client::new().post(server.url("/api/waitlist"));
    let post = post.json(&serde_json::json!({ "email": "before@example.com" }));
    post.send().await.expect("a response")
}

/// Loads a server for one run.
fn run_load(server: &Server, method: &str, path: &str, tag: &str) -> Run {
    let before = cpu_seconds(server);
    let [requests, micros, p50, p99] = run_wrk(
        server,
        ["-t2", "-c", CONNECTIONS],
        RUN_DURATION,
        [method, path, tag],
    );
    Run {
        requests,
        seconds: micros / 1e6,
        p50: p50 / 1e3,
        p99: p99 / 1e3,
        cpu_seconds: cpu_seconds(server) - before,
    }
}

/// Returns the CPU time that a server has used so far, in seconds.
fn cpu_seconds(server: &Server) -> f64 {
    let stat = server.proc_file("stat");
    // After the name in parentheses (proc_pid_stat(5)), utime and stime are the 12th and 13th fields, in hundredths of
    // a second. The first field, the state, is a letter.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let numbers: Vec<f64> = fields.split(' ').flat_map(str::parse).collect();
    let [utime, stime] = numbers[10..12] else {
        panic!("two numbers")
    };
    (utime + stime) / 100.0
}

/// The result of one run. Times are in seconds, latencies in milliseconds.
struct Run {
    requests: f64,
    seconds: f64,
    p50: f64,
    p99: f64,
    cpu_seconds: f64,
}

impl Run {
    /// Returns the requests per second.
    fn rate(&self) -> f64 {
        self.requests / self.seconds
    }

    /// Returns the CPU time of a request in microseconds.
    fn cpu_per_request(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.requests
    }
}
