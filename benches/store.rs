//! `make bench-store`: sign-ups a second that are durable, beside a loop that appends a record to a
//! file and syncs it, by turns on the same disk; and what a long list costs.

use std::{
    env,
    fs::{self, File},
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

use landing::waitlist::{Email, JoinOutcome, Selection, SledWaitlist, Waitlist, WaitlistEntry};
use tempfile::TempDir;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// On the disk that is measured: not in memory, as /tmp may be.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target");
/// How often the two take turns. The median counts.
const ROUNDS: usize = 5;
/// Of one turn.
const TURN_DURATION: Duration = Duration::from_secs(1);
/// Waiting clients, and how many times the loop's speed is the goal.
const CLIENTS: [(usize, f64); 3] = [(1, 0.5), (64, 15.0), (512, 20.0)];
/// Entries of a long list.
const LENGTHS: [u64; 3] = [0, 1_000_000, 5_000_000];

#[tokio::main]
async fn main() {
    let args: Vec<_> = env::args().collect();
    if let [_, role, data] = &args[..]
        && role == "open"
    {
        return print_opening_costs(Path::new(data)).await;
    }
    let folder = TempDir::new_in(FOLDER).expect("make build makes it");
    let people = People::default();
    measure_throughput(folder.path(), &people).await;
    measure_lengths(folder.path(), &people).await;
}

/// Sign-ups a second by the number of clients who wait.
async fn measure_throughput(folder: &Path, people: &People) {
    println!("{ROUNDS} turns of {TURN_DURATION:?} each; medians\n");
    println!(
        "| waiting clients | sign-ups/s | append + fdatasync/s | ratio | goal | p50 | of the loop | ratio | p99 | sign-ups a sync |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (clients, goal) in CLIENTS {
        let list = open(&folder.join(format!("{clients}")));
        let mut turns = Vec::new();
        for _ in 0..ROUNDS {
            let before = list.syncs();
            let ours = sign_ups(&list, clients, people).await;
            let sign_ups_per_sync = ours.0.len() as f64 / (list.syncs() - before) as f64;
            turns.push((
                ours,
                append_and_sync(&folder.join("loop")),
                sign_ups_per_sync,
            ));
        }
        let of =
            |number: &dyn Fn(&(Turn, Turn, f64)) -> f64| median(turns.iter().map(number).collect());
        let micros = |seconds: f64| format!("{:.0} µs", seconds * 1e6);
        println!(
            "| {clients} | {:.0} | {:.0} | {:.2} | {goal} | {} | {} | {:.2} | {} | {:.1} |",
            of(&|(ours, _, _)| ours.rate()),
            of(&|(_, bare, _)| bare.rate()),
            of(&|(ours, bare, _)| ours.rate() / bare.rate()),
            micros(of(&|(ours, _, _)| ours.latency(0.5))),
            micros(of(&|(_, bare, _)| bare.latency(0.5))),
            of(&|(ours, bare, _)| ours.latency(0.5) / bare.latency(0.5)),
            micros(of(&|(ours, _, _)| ours.latency(0.99))),
            of(&|(_, _, sign_ups_per_sync)| *sign_ups_per_sync),
        );
    }
}

/// What it costs that a list is long.
async fn measure_lengths(folder: &Path, people: &People) {
    println!(
        "\n| entries | opens in | memory | disk, of each entry | all read in | one erased in | sign-ups/s, 64 clients |"
    );
    println!("|---|---|---|---|---|---|---|");
    let data = folder.join("long");
    for length in LENGTHS {
        let list = open(&data);
        fill(&list, length, people).await;
        drop(list);
        let opening = Command::new(env::current_exe().expect("it has a name"))
            .arg("open")
            .arg(&data)
            .stderr(Stdio::inherit())
            .output()
            .expect("it starts itself");
        let opening = String::from_utf8(opening.stdout).expect("text");

        let list = open(&data);
        let mut rates = Vec::new();
        for _ in 0..ROUNDS {
            rates.push(sign_ups(&list, 64, people).await.rate());
        }
        println!("| {length} | {} | {:.0} |", opening.trim(), median(rates));
    }
}

/// In a process of its own: what it takes to open a list, to read it, and to erase one of it.
async fn print_opening_costs(data: &Path) {
    let started = Instant::now();
    let list = open(data);
    let opened = started.elapsed();
    let memory = memory_mb();
    let disk = size_bytes(data) as f64;
    let started = Instant::now();
    let mut entries = list.entries(Selection::default()).expect("readable");
    let last = entries.by_ref().last();
    let read = started.elapsed();
    let started = Instant::now();
    if let Some(last) = last {
        let erase = list.erase(&[last.expect("readable").email]);
        erase.await.expect("an answer");
    }
    let erased = started.elapsed();
    let disk_of_each = disk / list.count().max(1) as f64;
    println!(
        "{} ms | {memory:.0} MB | {:.1} MB, {disk_of_each:.0} B | {} ms | {} ms",
        opened.as_millis(),
        disk / 1e6,
        read.as_millis(),
        erased.as_millis()
    );
}

fn open(data: &Path) -> Arc<SledWaitlist> {
    Arc::new(SledWaitlist::open(data).expect("the list opens"))
}

/// How long each took, of all together.
struct Turn(Vec<Duration>, Duration);

impl Turn {
    fn rate(&self) -> f64 {
        self.0.len() as f64 / self.1.as_secs_f64()
    }

    /// Seconds that this share of them took at most.
    fn latency(&self, share: f64) -> f64 {
        self.0[(self.0.len() as f64 * share) as usize].as_secs_f64()
    }

    fn new(mut each: Vec<Duration>, started: Instant) -> Self {
        let all = started.elapsed();
        each.sort_unstable();
        Self(each, all)
    }
}

/// As many clients sign up, each as soon as it has its last answer.
async fn sign_ups(list: &Arc<SledWaitlist>, clients: usize, people: &People) -> Turn {
    let started = Instant::now();
    let client = |_| {
        let (list, people) = (Arc::clone(list), people.clone());
        tokio::spawn(async move {
            let mut each = Vec::new();
            while started.elapsed() < TURN_DURATION {
                let entry = people.next();
                let sent = Instant::now();
                let joined = list.join(entry).await;
                each.push(sent.elapsed());
                assert_eq!(joined, Ok(JoinOutcome::New));
            }
            each
        })
    };
    let clients: Vec<_> = (0..clients).map(client).collect();
    let mut each = Vec::new();
    for client in clients {
        each.extend(client.await.expect("no panic"));
    }
    Turn::new(each, started)
}

/// Signs people up until the list is as long.
async fn fill(list: &Arc<SledWaitlist>, length: u64, people: &People) {
    let client = |_| {
        let (list, people) = (Arc::clone(list), people.clone());
        tokio::spawn(async move {
            while list.count() < length {
                list.join(people.next()).await.expect("an answer");
            }
        })
    };
    for client in (0..512).map(client).collect::<Vec<_>>() {
        client.await.expect("no panic");
    }
}

/// What the disk does at best for one who waits: a record like one of ours, appended and synced.
fn append_and_sync(path: &Path) -> Turn {
    let entry = People::default().next();
    let record = vec![b'x'; 9 + entry.email.as_typed().len()];
    let mut file = File::create(path).expect("writable");
    let started = Instant::now();
    let mut each = Vec::new();
    while started.elapsed() < TURN_DURATION {
        let sent = Instant::now();
        file.write_all(&record).expect("writable");
        file.sync_data().expect("a disk");
        each.push(sent.elapsed());
    }
    Turn::new(each, started)
}

/// Addresses that no list has seen, in no order.
#[derive(Clone, Default)]
struct People(Arc<AtomicU64>);

impl People {
    fn next(&self) -> WaitlistEntry {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        // Odd, so that each number comes once.
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        WaitlistEntry {
            email: Email::parse(&format!("{mixed:016x}@example.com")).expect("an address"),
            joined_at: UNIX_EPOCH + Duration::from_millis(1_700_000_000_000 + number),
        }
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Resident megabytes of this process.
fn memory_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.expect("a number") / 1024.0
}

/// Bytes of a folder's files.
fn size_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("readable").flatten();
    entries
        .map(|entry| {
            let metadata = entry.metadata().expect("readable");
            if metadata.is_dir() {
                size_bytes(&entry.path())
            } else {
                metadata.len()
            }
        })
        .sum()
}
