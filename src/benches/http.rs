//! `make bench`: the release server beside a reference of bare axum that answers the same bytes from
//! memory, driven with the same load by turns. What the two have in common, the machine's mood
//! included, falls out of the ratio.

use std::{
    env, fs,
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    http::{HeaderMap, StatusCode, header},
    routing::{get, post},
};
use landing::wire::Entry;
use reqwest::Client;
use tempfile::TempDir;

/// The program as `make build` leaves it, beside its files.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/release/landing");
const LOAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/benches/load.lua");
/// The page as browsers ask for it.
const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";

/// Of the day when everybody comes.
const CONNECTIONS: &str = "256";
/// How often the two take turns. The median counts.
const ROUNDS: usize = 5;
/// Of one turn.
const TURN: Duration = Duration::from_secs(3);
const STARTS: usize = 9;

/// What is asked for, and the share of the reference's speed that is the goal.
const CALLS: [(&str, &str, f64); 3] = [
    ("GET", "/", 0.9),
    ("GET", "/api/waitlist/count", 0.9),
    ("POST", "/api/waitlist", 0.5),
];

#[tokio::main]
async fn main() {
    let args: Vec<_> = env::args().collect();
    if let [_, role, addr, page] = &args[..]
        && role == "reference"
    {
        return reference(addr, Path::new(page)).await;
    }
    assert!(
        Path::new(PROGRAM).exists(),
        "{PROGRAM} is missing: run `make bench`"
    );

    let starts = starts().await;
    println!(
        "start to first answer, an empty list: {:.0} ms",
        median(starts)
    );

    let landing = Server::landing().await;
    println!("memory at rest: {:.1} MB", landing.memory("VmRSS"));
    let folder = TempDir::new().expect("a temporary directory");
    let page = folder.path().join("page");
    let answer = landing.get("/").await.bytes().await.expect("a body");
    fs::write(&page, answer).expect("a writable directory");
    let reference = Server::reference(&page).await;

    println!("{CONNECTIONS} connections, {ROUNDS} turns of {TURN:?} each; medians\n");
    println!(
        "| | requests/s | bare axum | ratio | goal | p50, p99 | bare axum | CPU/request | bare axum |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (method, path, goal) in CALLS {
        let mut turns = Vec::new();
        for round in 0..ROUNDS {
            let tag = format!("round{round}");
            turns.push([&landing, &reference].map(|server| server.turn(method, path, &tag)));
        }
        let of = |number: fn(&Turn) -> f64| {
            [0, 1].map(|server| median(turns.iter().map(|turn| number(&turn[server])).collect()))
        };
        let rate = of(Turn::rate);
        let ratio = median(
            turns
                .iter()
                .map(|[ours, bare]| ours.rate() / bare.rate())
                .collect(),
        );
        let latency = |[p50, p99]: [f64; 2]| format!("{p50:.2}, {p99:.2} ms");
        let (p50, p99) = (of(|turn| turn.p50), of(|turn| turn.p99));
        let cpu = of(Turn::cpu_per_request);
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
    println!("\nmemory at its highest: {:.1} MB", landing.memory("VmHWM"));
}

/// Milliseconds from the start of the program to its first answer.
async fn starts() -> Vec<f64> {
    let mut taken = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let server = Server::landing().await;
        taken.push(begun.elapsed().as_secs_f64() * 1e3);
        drop(server);
    }
    taken
}

/// Bare axum: what is answered is there before anyone asks.
async fn reference(addr: &str, page: &Path) {
    let page = axum::body::Bytes::from(fs::read(page).expect("the page"));
    let fixed = |pairs: &[(header::HeaderName, &'static str)]| {
        let pairs = pairs.iter().cloned();
        HeaderMap::from_iter(
            pairs.map(|(name, value)| (name, header::HeaderValue::from_static(value))),
        )
    };
    let html = fixed(&[
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_ENCODING, "br"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::VARY, "accept-encoding"),
        (header::ETAG, "\"0123456789abcdef-br\""),
    ]);
    let json = fixed(&[
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ]);
    let router = Router::new()
        .route("/", get(|| async move { (html.clone(), page.clone()) }))
        .route(
            "/api/waitlist/count",
            get(|| async move { (json.clone(), r#"{"count":0}"#) }),
        )
        .route(
            "/api/waitlist",
            post(|Json(entry): Json<Entry>| async { (StatusCode::CREATED, Json(entry)) }),
        );
    let listener = tokio::net::TcpListener::bind(addr)
        .await
        .expect("a free port");
    axum::serve(listener, router).await.expect("it serves");
}

/// A server in a process of its own, which ends when this is dropped.
struct Server {
    addr: SocketAddr,
    process: Child,
    _data: TempDir,
}

impl Server {
    /// The site with an empty list, on the disk that the program is on.
    async fn landing() -> Self {
        let data = TempDir::new_in(concat!(env!("CARGO_MANIFEST_DIR"), "/target"))
            .expect("a temporary directory");
        let addr = free_addr();
        let mut command = Command::new(PROGRAM);
        command.args(["--addr", &addr.to_string(), "--data"]);
        command.arg(data.path().join("data"));
        Self::start(addr, command, data).await
    }

    /// This program again, in its other role.
    async fn reference(page: &Path) -> Self {
        let addr = free_addr();
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.args(["reference", &addr.to_string()]).arg(page);
        Self::start(
            addr,
            command,
            TempDir::new().expect("a temporary directory"),
        )
        .await
    }

    /// Returns after its first answer.
    async fn start(addr: SocketAddr, mut command: Command, data: TempDir) -> Self {
        let process = command.stderr(Stdio::null()).spawn().expect("it starts");
        let server = Self {
            addr,
            process,
            _data: data,
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while Client::new().get(server.url("/")).send().await.is_err() {
            assert!(Instant::now() < deadline, "the server does not answer");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    async fn get(&self, path: &str) -> reqwest::Response {
        let get = Client::new().get(self.url(path));
        let get = get.header("accept-encoding", ACCEPT_ENCODING);
        get.send().await.expect("an answer")
    }

    /// Loads it for one turn.
    fn turn(&self, method: &str, path: &str, tag: &str) -> Turn {
        let before = self.cpu();
        let seconds = format!("{}s", TURN.as_secs());
        let wrk = Command::new("wrk")
            .args(["-t2", "-c", CONNECTIONS, "-d", &seconds, "-s", LOAD])
            .args([&self.url(""), "--", method, path, tag])
            .output()
            .expect("wrk runs");
        let told = String::from_utf8_lossy(&wrk.stdout);
        let result = told.lines().find_map(|line| line.strip_prefix("RESULT"));
        let result = result.unwrap_or_else(|| panic!("wrk ends with its result: {told}"));
        let numbers: Vec<f64> = result.split_whitespace().flat_map(str::parse).collect();
        let [requests, micros, p50, p99, failed] = numbers[..] else {
            panic!("five numbers: {result}");
        };
        assert_eq!(
            failed, 0.0,
            "{method} {path}: every request is answered well"
        );
        Turn {
            requests,
            seconds: micros / 1e6,
            p50: p50 / 1e3,
            p99: p99 / 1e3,
            cpu: self.cpu() - before,
        }
    }

    /// Seconds of processor time so far.
    fn cpu(&self) -> f64 {
        let stat = self.proc("stat");
        // Numbers after the name in parentheses (proc_pid_stat(5)): utime and stime are the 12th and
        // 13th of them, in hundredths of a second.
        let (_, numbers) = stat.rsplit_once(')').expect("a name");
        let ticks: Vec<f64> = numbers.split(' ').flat_map(str::parse).collect();
        let [utime, stime] = ticks[10..12] else {
            panic!("two numbers")
        };
        (utime + stime) / 100.0
    }

    /// Megabytes by a field of proc_pid_status(5).
    fn memory(&self, field: &str) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        let kilobytes = kilobytes.and_then(|number| number.parse::<f64>().ok());
        kilobytes.expect("a number of kilobytes") / 1024.0
    }

    fn proc(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.process.id())).expect("Linux")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What one turn has shown. Times in seconds, latencies in milliseconds.
struct Turn {
    requests: f64,
    seconds: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
}

impl Turn {
    /// Requests a second.
    fn rate(&self) -> f64 {
        self.requests / self.seconds
    }

    /// In microseconds.
    fn cpu_per_request(&self) -> f64 {
        self.cpu * 1e6 / self.requests
    }
}

fn free_addr() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound")
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
