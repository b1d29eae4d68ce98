//! `make bench-mail`: compares `landing send` with a bare loop of the same libraries, over a list of a million people that
//! is being served. Also measures its memory, and what visitors who sign up notice.
//!
//! There are two bare loops. One does what a short script does: it writes each person's message with lettre and sends it
//! with mail-send. The other one sends the same bytes to everybody. Neither keeps a ledger nor makes a link for each person,
//! and after a crash nobody knows who got the message.

mod server;

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Stdio,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use lettre::message::MultiPart;
use mail_send::smtp::message::Parameters;
use server::{
    Server, Visitor, landing_command, median, percentile, process_memory_mb, write_people,
};
use tokio::time::sleep;

const PEOPLE: usize = 1_000_000;
/// Connections to the mail server.
const CONNECTIONS: [usize; 2] = [1, 16];
/// Messages in a run.
const MESSAGES: usize = 20_000;
/// Runs of each side. The table shows medians.
const ROUNDS: usize = 9;
/// The goal, as a share of the rate of each bare loop.
const GOAL: f64 = 0.8;
/// How long the visitor signs up without a command.
const BASELINE_DURATION: Duration = Duration::from_secs(10);
/// Paragraphs in a message of the bare loop: as many as make it as long as ours.
const BARE_PARAGRAPHS: usize = 10;
/// Maximum time for a step of the bare loop.
const TIMEOUT: Duration = Duration::from_secs(30);

const MESSAGE: &str = "---\nsubject: \"{product} is open\"\n---\n# Come in\n\n\
    You are number {position}. [Create your account](https://steward.example/start).\n";

#[tokio::main]
async fn main() {
    let server = Server::landing(&["--signups-per-minute=0"]).await;
    let directory = server.directory();
    write_people(&directory.join("people.csv"), PEOPLE).expect("writable");
    let mut import = landing_command(directory);
    import.args(["import", "people.csv"]).stdout(Stdio::null());
    assert!(import.status().expect("the program starts").success());
    println!("{PEOPLE} people; medians of {ROUNDS} runs of {MESSAGES} messages each\n");
    println!(
        "| connections | messages/s | loop that writes each message | ratio | loop that sends the same bytes | ratio | goal | memory of the command | sign-ups: p50 | p99 | p99 / p99 without a command |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let visitor = Visitor::start(&server);
    sleep(BASELINE_DURATION).await;
    let baseline = visitor.stop().await;
    let [p50, calm_p99] = [0.5, 0.99].map(|share| percentile(&baseline, share));
    println!("| none | | | | | | | | {p50:.2} ms | {calm_p99:.2} ms | 1 |");
    let (mut number, mut lengths) = (0, (0, 0));
    for connections in CONNECTIONS {
        let (mut rates, mut latencies, mut memory) = (Vec::new(), Vec::new(), 0f64);
        let mut bare_rates = [const { Vec::new() }; BareLoop::ALL.len()];
        for _ in 0..ROUNDS {
            number += 1;
            let sink = Sink::start();
            memory = memory.max(send(&server, &sink, connections, number, &mut latencies).await);
            rates.push(sink.rate());
            let message_len = sink.message_len();
            for (bare_loop, rates) in BareLoop::ALL.into_iter().zip(&mut bare_rates) {
                let sink = Sink::start();
                // As beside the command.
                let visitor = Visitor::start(&server);
                send_bare(&sink, connections, bare_loop).await;
                visitor.stop().await;
                rates.push(sink.rate());
                lengths = (message_len, sink.message_len());
            }
        }
        latencies.sort_by(f64::total_cmp);
        let [p50, p99] = [0.5, 0.99].map(|share| percentile(&latencies, share));
        let (rate, [writing, constant]) = (median(rates), bare_rates.map(median));
        println!(
            "| {connections} | {rate:.0} | {writing:.0} | {:.2} | {constant:.0} | {:.2} | {GOAL} | {memory:.0} MB | {p50:.2} ms | {p99:.2} ms | {:.1} |",
            rate / writing,
            rate / constant,
            p99 / calm_p99
        );
    }
    let (message_len, bare_len) = lengths;
    println!("\nA message has {message_len} bytes, one of a bare loop {bare_len}.");
}

/// Runs `landing send` while a visitor signs up. Returns its peak memory in megabytes.
async fn send(
    server: &Server,
    sink: &Sink,
    connections: usize,
    number: usize,
    latencies: &mut Vec<f64>,
) -> f64 {
    let directory = server.directory();
    let file = format!("message-{number}.md");
    std::fs::write(directory.join(&file), MESSAGE).expect("writable");
    let mut command = landing_command(directory);
    command.args(["send", &file, "--yes", "--rate=0"]).args([
        format!("--next={MESSAGES}"),
        format!("--connections={connections}"),
        format!("--smtp=smtp://{}", sink.addr),
        "--mail-from=hello@steward.example".into(),
        "--origin=https://steward.example".into(),
    ]);
    let mut running = command
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    // The visitor signs up while messages go out, and not while the list is read.
    while sink.count() == 0 {
        assert!(running.try_wait().expect("a child process").is_none());
        sleep(Duration::from_millis(5)).await;
    }
    let visitor = Visitor::start(server);
    let mut peak = 0f64;
    let ended = loop {
        if let Some(ended) = running.try_wait().expect("a child process") {
            break ended;
        }
        peak = peak.max(process_memory_mb(running.id(), "VmHWM:").unwrap_or_default());
        sleep(Duration::from_millis(5)).await;
    };
    assert!(ended.success());
    assert_eq!(sink.count(), MESSAGES);
    latencies.extend(visitor.stop().await);
    peak
}

/// What a bare loop sends.
#[derive(Clone, Copy)]
enum BareLoop {
    /// A message that it writes for each person.
    Written,
    /// The same bytes to everybody.
    Constant,
}

impl BareLoop {
    const ALL: [Self; 2] = [Self::Written, Self::Constant];
}

/// Sends one message after another, with the libraries that `landing send` uses.
async fn send_bare(sink: &Sink, connections: usize, bare_loop: BareLoop) {
    let senders = (0..connections).map(|_| {
        let addr = sink.addr;
        tokio::spawn(async move {
            let mut client = mail_send::SmtpClient::connect(addr, TIMEOUT)
                .await
                .expect("the sink listens");
            client.stream.set_nodelay(true).expect("a socket");
            client.read().await.expect("a greeting");
            client.ehlo("steward.example").await.expect("a reply");
            let from = "hello@steward.example";
            let mut message = write_bare(from, "everybody@company.example", 0);
            for number in 0..MESSAGES / connections {
                let to = format!("{number}@company.example");
                if matches!(bare_loop, BareLoop::Written) {
                    message = write_bare(from, &to, number);
                }
                let none = Parameters::new();
                client.mail_from(from, &none).await.expect("a reply");
                client.rcpt_to(&to, &none).await.expect("a reply");
                client.data(&message).await.expect("a reply");
            }
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await.expect("every message is accepted");
    }
}

/// Writes a message as long as that of `landing send`.
fn write_bare(from: &str, to: &str, number: usize) -> Vec<u8> {
    let link = format!("https://steward.example/unsubscribe/{number:080}");
    let text = format!("Come in\n\nYou are number {number}.\n\n{link}\n");
    let html = format!("<p>You are number {number}. <a href=\"{link}\">Unsubscribe</a></p>\n");
    let message = lettre::Message::builder()
        .from(from.parse().expect("an address"))
        .to(to.parse().expect("an address"))
        .subject("Steward is open")
        .multipart(MultiPart::alternative_plain_html(
            text,
            html.repeat(BARE_PARAGRAPHS),
        ));
    message.expect("a message").formatted()
}

/// A mail server that accepts everything.
struct Sink {
    addr: SocketAddr,
    received: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    count: usize,
    bytes: usize,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Sink {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let addr = listener.local_addr().expect("a bound socket");
        let received = Arc::<Mutex<Received>>::default();
        let counter = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = Arc::clone(&counter);
                // An error means that the client has gone.
                thread::spawn(move || converse(stream, &counter));
            }
        });
        Self { addr, received }
    }

    fn count(&self) -> usize {
        self.received.lock().expect("no panic").count
    }

    /// Returns the mean length of a message, in bytes.
    fn message_len(&self) -> usize {
        let received = self.received.lock().expect("no panic");
        received.bytes / received.count
    }

    /// Returns the messages per second, from the first to the last.
    fn rate(&self) -> f64 {
        let received = self.received.lock().expect("no panic");
        let (first, last) = received.first.zip(received.last).expect("messages");
        (received.count - 1) as f64 / (last - first).as_secs_f64()
    }
}

fn converse(stream: TcpStream, received: &Mutex<Received>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    out.write_all(b"220 sink\r\n")?;
    let (mut line, mut replies) = (Vec::new(), Vec::new());
    let (mut is_message, mut bytes) = (false, 0);
    while lines.read_until(b'\n', &mut line)? > 0 {
        if is_message {
            bytes += line.len();
            if line == b".\r\n" {
                is_message = false;
                let mut received = received.lock().expect("no panic");
                received.count += 1;
                received.bytes += std::mem::take(&mut bytes);
                received.last = Some(Instant::now());
                received.first = received.first.or(received.last);
                replies.extend(b"250 ok\r\n");
            }
        } else if line.starts_with(b"DATA") {
            is_message = true;
            replies.extend(b"354 go on\r\n");
        } else if line.starts_with(b"EHLO") {
            replies.extend(b"250-sink\r\n250 PIPELINING\r\n");
        } else {
            replies.extend(b"250 ok\r\n");
        }
        line.clear();
        // As mail servers do: the replies to commands that came together go out together (RFC 2920, section 3.2).
        if lines.buffer().is_empty() {
            out.write_all(&replies)?;
            replies.clear();
        }
    }
    Ok(())
}
