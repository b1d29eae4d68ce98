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
const DURATION: Duration = Duration::from_secs(20);
/// Between two requests of the visitor.
const PACE: Duration = Duration::from_millis(20);
/// How long the visitor waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
const LOAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/load.lua");

/// Who the attackers are to the server.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// One client, with the limits for one.
    OneAddress,
    /// Many: through a trusted proxy, which has no limit of connections.
    Everywhere,
}

impl From {
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
const ATTACKS: [(&str, From, &str); 12] = [
    ("nothing", From::OneAddress, ""),
    (
        "heads, a line in 5 s (slowhttptest -H)",
        From::OneAddress,
        "slowhttptest -H -c 1000 -r 500 -i 5 -l {seconds} -u {url}/",
    ),
    (
        "bodies, some bytes in 5 s (slowhttptest -B)",
        From::OneAddress,
        "slowhttptest -B -c 1000 -r 500 -i 5 -s 4000 -f application/json -l {seconds} -u {url}/api/waitlist",
    ),
    (
        "readers, 5 bytes a second (slowhttptest -X)",
        From::OneAddress,
        "slowhttptest -X -c 1000 -r 500 -k 9 -w 1 -y 512 -n 1 -z 5 -l {seconds} -u {url}/",
    ),
    (
        "the page, as fast as it goes (wrk)",
        From::OneAddress,
        "wrk -t1 -c 500 -d {seconds} {url}/",
    ),
    (
        "whether it is ready, as fast as it goes (wrk)",
        From::OneAddress,
        "wrk -t1 -c 500 -d {seconds} {url}/readyz",
    ),
    (
        "lists of 4,000 commas",
        From::OneAddress,
        "{siege} commas {addr}",
    ),
    (
        "HTTP/2 streams whose answers cannot leave",
        From::OneAddress,
        "{siege} streams {addr}",
    ),
    (
        "3,000 slow heads",
        From::Everywhere,
        "slowhttptest -H -c 3000 -r 1000 -i 5 -l {seconds} -u {url}/",
    ),
    (
        "the page, twice the capacity (h2load)",
        From::Everywhere,
        "h2load --h1 -t1 -c 100 -m 1 -D {seconds} --rps {rate} {url}/",
    ),
    (
        "the page in HTTP/2, 10,000 at a time (h2load)",
        From::Everywhere,
        "h2load -t1 -c 100 -m 100 -D {seconds} {url}/",
    ),
    (
        "sign-ups, as fast as it goes (wrk)",
        From::Everywhere,
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
    println!("a visitor asks for the page, the count, and signs up, by turns, {PACE:?} apart\n");
    println!("| attack | from | p50 | p99 | longest | unanswered | p99 after it | memory |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, from, command) in ATTACKS {
        let mut options = vec!["--signups-per-minute=0"];
        if from == From::Everywhere {
            options.push("--trusted-proxies=127.0.0.1");
        }
        let server = Server::landing(&options).await;
        let rate = if command.contains("{rate}") {
            2.0 * capacity(&server) / 100.0
        } else {
            0.0
        };
        let command = command
            .replace("{url}", &server.url(""))
            .replace("{addr}", &server.addr.to_string())
            .replace("{siege}", &siege.display().to_string())
            .replace("{seconds}", &DURATION.as_secs().to_string())
            .replace("{rate}", &rate.round().to_string())
            .replace("{load}", LOAD);
        let mut attack = Attack::new(&command);
        let (during, lost) = visit(&server, DURATION, &mut attack).await;
        drop(attack);
        let (after, lost_after) = visit(&server, DURATION / 10, &mut Attack::new("")).await;
        assert_eq!(lost_after, 0, "{name}: it recovers");
        println!(
            "| {name} | {} | {:.1} ms | {:.1} ms | {:.0} ms | {lost} of {} | {:.1} ms | {:.0} MB |",
            from.name(),
            at(&during, 0.5),
            at(&during, 0.99),
            at(&during, 1.0),
            during.len() + lost,
            at(&after, 0.99),
            server.memory("VmHWM"),
        );
    }
}

/// Requests for the page that are answered in a second at full load.
fn capacity(server: &Server) -> f64 {
    let wrk = Command::new("wrk")
        .args(["-t1", "-c100", "-d3", &server.url("/")])
        .output();
    let told = String::from_utf8(wrk.expect("wrk runs").stdout).expect("text");
    let rate = told
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"));
    rate.and_then(|rate| rate.trim().parse().ok())
        .expect("a rate")
}

/// A visitor for some time: how long its answers took, in milliseconds, from the shortest on; and how
/// many it had none to, or one that told of a failure.
async fn visit(server: &Server, time: Duration, attack: &mut Attack) -> (Vec<f64>, usize) {
    let visitor = Client::builder()
        .local_address("127.0.0.2".parse().ok())
        .pool_max_idle_per_host(0)
        .timeout(PATIENCE)
        .build()
        .expect("a client");
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (begun, mut taken, mut lost) = (Instant::now(), Vec::new(), 0);
    for number in 0.. {
        pace.tick().await;
        attack.go_on();
        if begun.elapsed() > time {
            break;
        }
        let email = format!("{number}-{}@example.com", begun.elapsed().as_nanos());
        let request = match number % 3 {
            0 => visitor.get(server.url("/")),
            1 => visitor.get(server.url("/api/waitlist/count")),
            _ => visitor
                .request(Method::POST, server.url("/api/waitlist"))
                .json(&serde_json::json!({ "email": email })),
        };
        let asked = Instant::now();
        let answer = match request.send().await {
            Ok(answer) if answer.status().is_success() => answer.bytes().await.ok(),
            _ => None,
        };
        match answer {
            Some(_) => taken.push(asked.elapsed().as_secs_f64() * 1e3),
            None => lost += 1,
        }
    }
    taken.sort_by(f64::total_cmp);
    (taken, lost)
}

/// A number at some share of the way through sorted ones.
fn at(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted
        .get((last * share) as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// An attack, for as long as this lives.
struct Attack {
    words: Vec<String>,
    running: Option<(Child, Instant)>,
}

impl Attack {
    fn new(command: &str) -> Self {
        Self {
            words: command.split_whitespace().map(str::to_owned).collect(),
            running: None,
        }
    }

    /// Begins, and begins again when it has ended, as one does whose connections have all been closed.
    ///
    /// # Panics
    /// When it can't begin.
    fn go_on(&mut self) {
        let [program, arguments @ ..] = &self.words[..] else {
            return;
        };
        if let Some((attack, begun)) = &mut self.running {
            if attack.try_wait().is_ok_and(|ended| ended.is_none()) {
                return;
            }
            let is_one = begun.elapsed() > Duration::from_secs(2);
            assert!(is_one, "that was no attack: {:?}", self.words);
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
