//! `make siege`: what a polite visitor notices while others attack. Each attack comes from 127.0.0.1,
//! the visitor from another address, as a new connection each time.

mod attacks;
mod server;

use std::{
    env,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use server::Server;
use tokio::time::{MissedTickBehavior, interval};

/// Of one attack.
const ATTACK_DURATION: Duration = Duration::from_secs(20);
/// Between two requests of the visitor.
const REQUEST_INTERVAL: Duration = Duration::from_millis(20);
/// How long the visitor waits for an answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
const LOAD_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/load.lua");

/// Who the attackers are to the server.
#[derive(Clone, Copy, PartialEq)]
enum AttackSource {
    /// One client, with the limits for one.
    OneAddress,
    /// Many: through a trusted proxy, which has no limit of connections.
    Everywhere,
}

impl AttackSource {
    fn name(self) -> &'static str {
        match self {
            Self::OneAddress => "one address",
            Self::Everywhere => "everywhere",
        }
    }
}

/// An attack: its name, where it seems to come from, and the command, with `{url}`, `{addr}`, `{seconds}`,
/// `{siege}`, which is this program, and `{rate}`, which is twice the requests a second that one of 100 clients
/// gets at full load.
const ATTACKS: [(&str, AttackSource, &str); 12] = [
    ("nothing", AttackSource::OneAddress, ""),
    (
        "heads, a line in 5 s (slowhttptest -H)",
        AttackSource::OneAddress,
        "slowhttptest -H -c 1000 -r 500 -i 5 -l {seconds} -u {url}/",
    ),
    (
        "bodies, some bytes in 5 s (slowhttptest -B)",
        AttackSource::OneAddress,
        "slowhttptest -B -c 1000 -r 500 -i 5 -s 4000 -f application/json -l {seconds} -u {url}/api/waitlist",
    ),
    (
        "readers, 5 bytes a second (slowhttptest -X)",
        AttackSource::OneAddress,
        "slowhttptest -X -c 1000 -r 500 -k 9 -w 1 -y 512 -n 1 -z 5 -l {seconds} -u {url}/",
    ),
    (
        "the page, as fast as it goes (wrk)",
        AttackSource::OneAddress,
        "wrk -t1 -c 500 -d {seconds} {url}/",
    ),
    (
        "whether it is ready, as fast as it goes (wrk)",
        AttackSource::OneAddress,
        "wrk -t1 -c 500 -d {seconds} {url}/readyz",
    ),
    (
        "lists of 4,000 commas",
        AttackSource::OneAddress,
        "{siege} commas {addr}",
    ),
    (
        "HTTP/2 streams whose answers cannot leave",
        AttackSource::OneAddress,
        "{siege} streams {addr}",
    ),
    (
        "3,000 slow heads",
        AttackSource::Everywhere,
        "slowhttptest -H -c 3000 -r 1000 -i 5 -l {seconds} -u {url}/",
    ),
    (
        "the page, twice the capacity (h2load)",
        AttackSource::Everywhere,
        "h2load --h1 -t1 -c 100 -m 1 -D {seconds} --rps {rate} {url}/",
    ),
    (
        "the page in HTTP/2, 10,000 at a time (h2load)",
        AttackSource::Everywhere,
        "h2load -t1 -c 100 -m 100 -D {seconds} {url}/",
    ),
    (
        "sign-ups, as fast as it goes (wrk)",
        AttackSource::Everywhere,
        "wrk -t1 -c 500 -d {seconds} -s {load} {url} -- POST /api/waitlist siege",
    ),
];

#[tokio::main]
async fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [name, addr] = &arguments[..] {
        return attacks::run(name, addr);
    }
    let siege = env::current_exe().expect("this program");
    println!(
        "a visitor asks for the page, the count, and signs up, by turns, {REQUEST_INTERVAL:?} apart\n"
    );
    println!("| attack | from | p50 | p99 | longest | unanswered | p99 after it | memory |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, from, command) in ATTACKS {
        let mut options = vec!["--signups-per-minute=0"];
        if from == AttackSource::Everywhere {
            options.push("--trusted-proxies=127.0.0.1");
        }
        let server = Server::landing(&options).await;
        let rate = if command.contains("{rate}") {
            2.0 * measure_capacity(&server) / 100.0
        } else {
            0.0
        };
        let command = command
            .replace("{url}", &server.url(""))
            .replace("{addr}", &server.addr.to_string())
            .replace("{siege}", &siege.display().to_string())
            .replace("{seconds}", &ATTACK_DURATION.as_secs().to_string())
            .replace("{rate}", &rate.round().to_string())
            .replace("{load}", LOAD_SCRIPT);
        let mut attack = Attack::new(&command);
        let (during, failed) = run_visitor(&server, ATTACK_DURATION, &mut attack).await;
        drop(attack);
        let (after, failed_after) =
            run_visitor(&server, ATTACK_DURATION / 10, &mut Attack::new("")).await;
        assert_eq!(failed_after, 0, "{name}: it recovers");
        println!(
            "| {name} | {} | {:.1} ms | {:.1} ms | {:.0} ms | {failed} of {} | {:.1} ms | {:.0} MB |",
            from.name(),
            percentile(&during, 0.5),
            percentile(&during, 0.99),
            percentile(&during, 1.0),
            during.len() + failed,
            percentile(&after, 0.99),
            server.memory_mb("VmHWM"),
        );
    }
}

/// Requests for the page that are answered in a second at full load.
fn measure_capacity(server: &Server) -> f64 {
    let wrk = Command::new("wrk")
        .args(["-t1", "-c100", "-d3", &server.url("/")])
        .output();
    let output = String::from_utf8(wrk.expect("wrk runs").stdout).expect("text");
    let rate = output
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"));
    rate.and_then(|rate| rate.trim().parse().ok())
        .expect("a rate")
}

/// A visitor for some time: how long its answers took, in milliseconds, from the shortest on; and how
/// many it had none to, or one that told of a failure.
async fn run_visitor(server: &Server, time: Duration, attack: &mut Attack) -> (Vec<f64>, usize) {
    let visitor = Client::builder()
        .local_address("127.0.0.2".parse().ok())
        .pool_max_idle_per_host(0)
        .timeout(RESPONSE_TIMEOUT)
        .build()
        .expect("a client");
    let mut pace = interval(REQUEST_INTERVAL);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (started, mut latencies, mut failed) = (Instant::now(), Vec::new(), 0);
    for number in 0.. {
        pace.tick().await;
        attack.ensure_running();
        if started.elapsed() > time {
            break;
        }
        let email = format!("{number}-{}@example.com", started.elapsed().as_nanos());
        let request = match number % 3 {
            0 => visitor.get(server.url("/")),
            1 => visitor.get(server.url("/api/waitlist/count")),
            _ => visitor
                .request(Method::POST, server.url("/api/waitlist"))
                .json(&serde_json::json!({ "email": email })),
        };
        let sent = Instant::now();
        let response = match request.send().await {
            Ok(response) if response.status().is_success() => response.bytes().await.ok(),
            _ => None,
        };
        match response {
            Some(_) => latencies.push(sent.elapsed().as_secs_f64() * 1e3),
            None => failed += 1,
        }
    }
    latencies.sort_by(f64::total_cmp);
    (latencies, failed)
}

/// A number at some share of the way through sorted ones.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted
        .get((last * share) as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// An attack, for as long as this lives.
struct Attack {
    command_line: Vec<String>,
    running: Option<(Child, Instant)>,
}

impl Attack {
    fn new(command: &str) -> Self {
        Self {
            command_line: command.split_whitespace().map(str::to_owned).collect(),
            running: None,
        }
    }

    /// Begins, and begins again when it has ended, as one does whose connections have all been closed.
    ///
    /// # Panics
    /// When it can't begin.
    fn ensure_running(&mut self) {
        let [program, arguments @ ..] = &self.command_line[..] else {
            return;
        };
        if let Some((attack, started)) = &mut self.running {
            if attack.try_wait().is_ok_and(|ended| ended.is_none()) {
                return;
            }
            let was_running = started.elapsed() > Duration::from_secs(2);
            assert!(was_running, "that was no attack: {:?}", self.command_line);
        }
        let mut attack = Command::new(program);
        let attack = attack
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let attack = attack
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        self.running = Some((attack, Instant::now()));
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        if let Some((attack, _)) = &mut self.running {
            let _ = attack.kill();
            let _ = attack.wait();
        }
    }
}
