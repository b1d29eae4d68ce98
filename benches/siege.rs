//! `make bench NAME=siege`: measures the response times of a visitor during attacks. Each attack comes from 127.0.0.1.
//! The visitor comes from another address, with a new connection for each request.

mod attacks;
mod server;

use std::{
    env,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use server::{LOAD_SCRIPT, Server, percentile};
use tokio::time::{MissedTickBehavior, interval};

/// Duration of one attack.
const ATTACK_DURATION: Duration = Duration::from_secs(20);
/// Interval between two requests of the visitor.
const REQUEST_INTERVAL: Duration = Duration::from_millis(20);
/// How long the visitor waits for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The clients that the server takes the attackers for.
#[derive(Clone, Copy, PartialEq)]
enum AttackSource {
    /// One client, with the limits of one client.
    OneAddress,
    /// A trusted proxy, as for many clients: no limit of one client applies.
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

/// The name, the source and the command of each attack. In a command, `{siege}` is this program, `{load}` is the wrk
/// script, and `{rate}` is twice the requests per second that each of 100 clients gets at full speed.
const ATTACKS: [(&str, AttackSource, &str); 15] = [
    ("none", AttackSource::OneAddress, ""),
    (
        "a crowd: 300 browsers, six connections each",
        AttackSource::OneAddress,
        "{siege} crowd {addr}",
    ),
    (
        "the crowd, and 4,096 slow heads of a member",
        AttackSource::OneAddress,
        "{siege} crowd-with-attacker {addr}",
    ),
    (
        "heads, one line in 5 s (slowhttptest -H)",
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
        "the page, at full speed (wrk)",
        AttackSource::OneAddress,
        "wrk -t1 -c 500 -d {seconds} {url}/",
    ),
    (
        "the page, over 4,500 busy connections (wrk)",
        AttackSource::OneAddress,
        "wrk -t1 -c 4500 -d {seconds} {url}/",
    ),
    (
        "/readyz, at full speed (wrk)",
        AttackSource::OneAddress,
        "wrk -t1 -c 500 -d {seconds} {url}/readyz",
    ),
    (
        "list headers of 4,000 commas",
        AttackSource::OneAddress,
        "{siege} commas {addr}",
    ),
    (
        "HTTP/2 streams whose responses cannot be sent",
        // HTTP/2 is for proxies.
        AttackSource::Everywhere,
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
        "the page over HTTP/2, 10,000 at a time (h2load)",
        AttackSource::Everywhere,
        "h2load -t1 -c 100 -m 100 -D {seconds} {url}/",
    ),
    (
        "sign-ups, at full speed (wrk)",
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
    let part = arguments.first().map_or("", |part| part);
    let siege = env::current_exe().expect("this program");
    println!(
        "a visitor requests the page, requests the count and signs up, in turn, every {REQUEST_INTERVAL:?}\n"
    );
    println!("| attack | from | p50 | p99 | longest | failed | p99 after it | memory |");
    println!("|---|---|---|---|---|---|---|---|");
    let chosen: Vec<_> = ATTACKS
        .into_iter()
        .filter(|it| it.0.contains(part))
        .collect();
    assert!(!chosen.is_empty(), "no attack has {part} in its name");
    for (name, source, command) in chosen {
        let mut options = vec!["--signups-per-minute=0"];
        if source == AttackSource::Everywhere {
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
        assert_eq!(failed_after, 0, "{name}: the server recovers");
        println!(
            "| {name} | {} | {:.1} ms | {:.1} ms | {:.0} ms | {failed} of {} | {:.1} ms | {:.0} MB |",
            source.name(),
            percentile(&during, 0.5),
            percentile(&during, 0.99),
            percentile(&during, 1.0),
            during.len() + failed,
            percentile(&after, 0.99),
            server.memory_mb("VmHWM"),
        );
    }
}

/// Returns the requests for the page that the server handles per second at full speed.
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

/// Sends the visitor's requests while the attack runs. Returns the sorted latencies in milliseconds, and the number of
/// requests without a successful response.
async fn run_visitor(
    server: &Server,
    duration: Duration,
    attack: &mut Attack,
) -> (Vec<f64>, usize) {
    let visitor = Client::builder()
        .local_address("127.0.0.2".parse().ok())
        .pool_max_idle_per_host(0)
        .timeout(RESPONSE_TIMEOUT)
        .build()
        .expect("a client");
    let mut ticks = interval(REQUEST_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (started, mut latencies, mut failed) = (Instant::now(), Vec::new(), 0);
    for number in 0.. {
        ticks.tick().await;
        attack.ensure_running();
        if started.elapsed() > duration {
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

/// A running attack, which ends when this value is dropped.
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

    /// Starts the attack, or restarts it if it has ended, as a program does when all its connections are closed.
    ///
    /// # Panics
    /// If the attack cannot start, or ends within two seconds, or if somebody of a crowd is not served.
    fn ensure_running(&mut self) {
        let [program, arguments @ ..] = &self.command_line[..] else {
            return;
        };
        if let Some((attack, started)) = &mut self.running {
            if attack.try_wait().is_ok_and(|ended| ended.is_none()) {
                return;
            }
            let was_running = started.elapsed() > Duration::from_secs(2);
            let is_crowd = self.command_line.iter().any(|it| it.starts_with("crowd"));
            assert!(!is_crowd, "a browser of the crowd was not served");
            assert!(
                was_running,
                "the attack ended at once: {:?}",
                self.command_line
            );
        }
        let mut attack = Command::new(program);
        let errors = match program.contains("siege") {
            true => Stdio::inherit(),
            false => Stdio::null(),
        };
        let attack = attack.args(arguments).stdout(Stdio::null()).stderr(errors);
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
