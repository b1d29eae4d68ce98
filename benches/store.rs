//! `make bench NAME=store`: compares durable sign-ups with a loop that appends a record to a file and syncs it, in
//! alternating runs on the same disk. Also measures the cost of long lists.

mod server;

use std::{
    env,
    fs::{self, File},
    io::Write,
    path::Path,
    process::{self, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

use landing::waitlist::{
    Email, Erasure, JoinOutcome, OwnerList, Selection, SledWaitlist, Waitlist, WaitlistEntry,
};
use server::{median, process_memory_mb};
use tempfile::TempDir;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A directory on the disk to measure. `/tmp` may be in memory.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target");
/// Runs of each side. The table shows medians.
const ROUNDS: usize = 5;
/// Duration of one run.
const RUN_DURATION: Duration = Duration::from_secs(1);
/// Concurrent clients, and the goal as a multiple of the loop's throughput.
const CLIENTS: [(usize, f64); 3] = [(1, 0.5), (64, 15.0), (512, 20.0)];
/// Lengths of lists, in entries.
const LENGTHS: [u64; 3] = [0, 1_000_000, 5_000_000];

#[tokio::main]
async fn main() {
    let args: Vec<_> = env::args().collect();
    if let [_, role, data] = &args[..]
        && role == "open"
    {
        return print_opening_costs(Path::new(data)).await;
    }
    let folder = TempDir::new_in(FOLDER).expect("`make bench NAME=store` creates the directory");
    let people = People::default();
    measure_throughput(folder.path(), &people).await;
    measure_lengths(folder.path(), &people).await;
}

/// Prints the throughput and the latencies for each number of clients.
async fn measure_throughput(folder: &Path, people: &People) {
    println!("medians of {ROUNDS} runs of {RUN_DURATION:?} each\n");
    println!(
        "| clients | sign-ups/s | append + fdatasync/s | ratio | goal | p50 | p50 of the loop | ratio | p99 |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (clients, goal) in CLIENTS {
        let list = open(&folder.join(format!("{clients}")));
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let store = sign_ups(&list, clients, people).await;
            rounds.push((store, append_and_sync(&folder.join("loop"))));
        }
        let median_of =
            |value: &dyn Fn(&(Run, Run)) -> f64| median(rounds.iter().map(value).collect());
        let micros = |seconds: f64| format!("{:.0} µs", seconds * 1e6);
        println!(
            "| {clients} | {:.0} | {:.0} | {:.2} | {goal} | {} | {} | {:.2} | {} |",
            median_of(&|(store, _)| store.rate()),
            median_of(&|(_, bare)| bare.rate()),
            median_of(&|(store, bare)| store.rate() / bare.rate()),
            micros(median_of(&|(store, _)| store.latency(0.5))),
            micros(median_of(&|(_, bare)| bare.latency(0.5))),
            median_of(&|(store, bare)| store.latency(0.5) / bare.latency(0.5)),
            micros(median_of(&|(store, _)| store.latency(0.99))),
        );
    }
}

/// Prints the costs of lists of several lengths.
async fn measure_lengths(folder: &Path, people: &People) {
    println!(
        "\n| entries | time to open | memory | disk, per entry | time to read all | time to erase one | sign-ups/s, 64 clients |"
    );
    println!("|---|---|---|---|---|---|---|");
    let data = folder.join("long");
    for length in LENGTHS {
        let list = open(&data);
        fill(&list, length, people).await;
        drop(list);
        let costs = Command::new(env::current_exe().expect("this program"))
            .arg("open")
            .arg(&data)
            .stderr(Stdio::inherit())
            .output()
            .expect("the program starts");
        let costs = String::from_utf8(costs.stdout).expect("text");

        let list = open(&data);
        let mut rates = Vec::new();
        for _ in 0..ROUNDS {
            rates.push(sign_ups(&list, 64, people).await.rate());
        }
        println!("| {length} | {} | {:.0} |", costs.trim(), median(rates));
    }
}

/// Prints the costs of opening a list, reading it and erasing one entry. Runs in a separate process, so that only this
/// list is in its memory.
async fn print_opening_costs(data: &Path) {
    let started = Instant::now();
    let list = open(data);
    let opened = started.elapsed();
    let memory = process_memory_mb(process::id(), "VmRSS:");
    let disk = size_bytes(data) as f64;
    let started = Instant::now();
    let mut entries = list.entries(Selection::default()).expect("readable");
    let last = entries.by_ref().last();
    let read = started.elapsed();
    let started = Instant::now();
    if let Some(last) = last {
        let erase = list.erase(&[last.expect("readable").email], Erasure::Complete);
        erase.await.expect("a response");
    }
    let erased = started.elapsed();
    let disk_per_entry = disk / list.count().max(1) as f64;
    println!(
        "{} ms | {memory:.0} MB | {:.1} MB, {disk_per_entry:.0} B | {} ms | {} ms",
        opened.as_millis(),
        disk / 1e6,
        read.as_millis(),
        erased.as_millis()
    );
}

fn open(data: &Path) -> Arc<SledWaitlist> {
    Arc::new(SledWaitlist::open(data).expect("the list opens"))
}

/// The result of one run.
struct Run {
    /// Sorted.
    latencies: Vec<Duration>,
    duration: Duration,
}

impl Run {
    fn new(mut latencies: Vec<Duration>, started: Instant) -> Self {
        let duration = started.elapsed();
        latencies.sort_unstable();
        Self {
            latencies,
            duration,
        }
    }

    /// Returns the operations per second.
    fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.duration.as_secs_f64()
    }

    /// Returns the latency at this share of the operations, in seconds.
    fn latency(&self, share: f64) -> f64 {
        self.latencies[(self.latencies.len() as f64 * share) as usize].as_secs_f64()
    }
}

/// Runs clients that each sign up as soon as they have their last result.
async fn sign_ups(list: &Arc<SledWaitlist>, clients: usize, people: &People) -> Run {
    let started = Instant::now();
    let client = |_| {
        let (list, people) = (Arc::clone(list), people.clone());
        tokio::spawn(async move {
            let mut latencies = Vec::new();
            while started.elapsed() < RUN_DURATION {
                let entry = people.next();
                let sent = Instant::now();
                let joined = list.join(entry).await;
                latencies.push(sent.elapsed());
                assert_eq!(joined, Ok(JoinOutcome::New));
            }
            latencies
        })
    };
    let clients: Vec<_> = (0..clients).map(client).collect();
    let mut latencies = Vec::new();
    for client in clients {
        latencies.extend(client.await.expect("no panic"));
    }
    Run::new(latencies, started)
}

/// Signs people up until the list has this length.
async fn fill(list: &Arc<SledWaitlist>, length: u64, people: &People) {
    let client = |_| {
        let (list, people) = (Arc::clone(list), people.clone());
        tokio::spawn(async move {
            while list.count() < length {
                list.join(people.next()).await.expect("a response");
            }
        })
    };
    for client in (0..512).map(client).collect::<Vec<_>>() {
        client.await.expect("no panic");
    }
}

/// Appends records of the store's size to a file and syncs each: the best that the disk can do for one client.
fn append_and_sync(path: &Path) -> Run {
    let entry = People::default().next();
    let record = vec![b'x'; 9 + entry.email.as_typed().len()];
    let mut file = File::create(path).expect("writable");
    let started = Instant::now();
    let mut latencies = Vec::new();
    while started.elapsed() < RUN_DURATION {
        let sent = Instant::now();
        file.write_all(&record).expect("writable");
        file.sync_data().expect("a disk");
        latencies.push(sent.elapsed());
    }
    Run::new(latencies, started)
}

/// A source of new addresses in mixed order.
#[derive(Clone, Default)]
struct People(Arc<AtomicU64>);

impl People {
    fn next(&self) -> WaitlistEntry {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        // The factor is odd, so each product is unique.
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let email = Email::parse(&format!("{mixed:016x}@example.com")).expect("an address");
        let joined_at = UNIX_EPOCH + Duration::from_millis(1_700_000_000_000 + number);
        WaitlistEntry::new(email, joined_at)
    }
}

/// Returns the size of all files in a directory, in bytes.
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
