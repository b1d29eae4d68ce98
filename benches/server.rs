//! What the benchmarks share: a server in another process, commands, load, and statistics.
#![allow(dead_code, reason = "each benchmark uses a part of this module")]

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use reqwest::Client;
use tempfile::TempDir;

/// The program that `make bench` builds.
pub(crate) const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/dist/landing");

/// The wrk script.
pub(crate) const LOAD_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/load.lua");

/// A server that is killed when this value is dropped.
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    process: Child,
    data: Option<TempDir>,
}

impl Server {
    /// Starts the site with an empty list, on the disk of the repository.
    pub(crate) async fn landing(options: &[&str]) -> Self {
        assert!(
            Path::new(PROGRAM).exists(),
            "{PROGRAM} is missing; run `make bench`"
        );
        let data = TempDir::new_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../target"))
            .expect("a temporary directory");
        let addr = free_addr();
        let mut command = Command::new(PROGRAM);
        command.args(["--addr", &addr.to_string(), "--data"]);
        command.arg(data.path().join("data")).args(options);
        let mut server = Self::start(addr, command).await;
        server.data = Some(data);
        server
    }

    /// Starts a server, and returns after its first response.
    pub(crate) async fn start(addr: SocketAddr, mut command: Command) -> Self {
        let process = command
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let server = Self {
            addr,
            process,
            data: None,
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while Client::new().get(server.url("/")).send().await.is_err() {
            assert!(Instant::now() < deadline, "the server does not respond");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Returns the memory of the server, see [`process_memory_mb`].
    pub(crate) fn memory_mb(&self, field: &str) -> f64 {
        process_memory_mb(self.process.id(), field)
    }

    /// Reads a file of the process in `/proc`.
    pub(crate) fn proc_file(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.process.id())).expect("Linux")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        drop(self.data.take());
    }
}

/// Returns a field of proc_pid_status(5) in megabytes.
pub(crate) fn process_memory_mb(process: u32, field: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let mut words = line.expect("the field").split_whitespace();
    let kilobytes: Option<f64> = words.find_map(|word| word.parse().ok());
    kilobytes.expect("a number") / 1024.0
}

pub(crate) fn free_addr() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("the listener is bound")
}

/// Writes a CSV file like an export of another program.
pub(crate) fn write_people(path: &Path, people: usize) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "Email Address,Name,OPTIN_TIME")?;
    for number in 0..people {
        let (day, hour) = (1 + number / 24 % 28, number % 24);
        writeln!(
            file,
            "person{number}@company{}.example,\"Person, the {number}th\",2026-10-{day:02} {hour:02}:00:00",
            number % 1000
        )?;
    }
    file.flush()
}

/// Returns a command of the release that runs in a directory.
pub(crate) fn landing_command(directory: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(directory);
    command
}

pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Returns a percentile of sorted numbers: the number at this share (0 to 1) of them.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    let number = sorted.get((last * share) as usize);
    number.copied().unwrap_or(f64::NAN)
}

/// Loads a server with wrk. `call` is a method, a path, and a tag that is unique to this run. Returns the number of
/// requests, the duration, and the p50 and p99 of the latencies, all times in microseconds.
pub(crate) fn run_wrk(
    server: &Server,
    load: [&str; 3],
    duration: Duration,
    call: [&str; 3],
) -> [f64; 4] {
    let seconds = format!("{}s", duration.as_secs());
    let wrk = Command::new("wrk")
        .args(load)
        .args(["-d", &seconds, "-s", LOAD_SCRIPT, &server.url(""), "--"])
        .args(call)
        .output()
        .expect("wrk runs");
    let output = String::from_utf8_lossy(&wrk.stdout);
    let result = output.lines().find_map(|line| line.strip_prefix("RESULT"));
    let result = result.unwrap_or_else(|| panic!("no result in the output of wrk: {output}"));
    let numbers: Vec<f64> = result.split_whitespace().flat_map(str::parse).collect();
    let [requests, micros, p50, p99, failed] = numbers[..] else {
        panic!("five numbers: {result}");
    };
    assert_eq!(failed, 0.0, "{call:?}: every request succeeds");
    [requests, micros, p50, p99]
}
