//! Kills the program while people sign up, while entries are erased, while it compacts the list, and while it starts.
//!
//! After each kill the list must open, and it must hold every acknowledged address once, and no erased one.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
    thread::{sleep, spawn},
    time::Duration,
};

use landing::waitlist::{Email, OwnerList, SledWaitlist};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::runtime::Runtime;

use super::{
    acknowledged_in, env_number, listed_keys,
    recording::{DISK_FAILURES, REJECTED_CHANGES},
    sign_up,
    store_files::{contents, restore},
    strace::with_fault,
};
use crate::process::{Sandbox, landing, signal};

/// `make torture NAME=kill` runs 200 rounds.
const ROUNDS: u64 = 10;
const CLIENTS: u64 = 16;

#[test]
fn sigkill_loses_no_acknowledged_sign_up() {
    let mut random = StdRng::seed_from_u64(env_number("KILL_SEED", 1));
    let runtime = Runtime::new().expect("a runtime");
    let sandbox = Sandbox::new();
    let data = sandbox.path().join("data");
    let (mut acknowledged, mut erased) = (BTreeSet::new(), BTreeSet::new());
    let mut unanswered = 0;
    for round in 0..env_number("KILL_ROUNDS", ROUNDS) {
        // 1. The server is killed under load.
        let server = sandbox.serve();
        let process = server.child.id();
        let kill_at = random.random_range(0..1000);
        let addresses = addresses_with_signal(round, process, kill_at, "-KILL");
        let responses = runtime.block_on(sign_up(&server.addr, CLIENTS, addresses));
        unanswered += responses
            .iter()
            .filter(|(_, status)| status.is_none())
            .count();
        acknowledged.extend(acknowledged_in(&responses).map(str::to_owned));
        drop(server);
        assert_list(&data, &acknowledged, &erased);

        // 2. An erasure is killed. Until it succeeds, its addresses may be listed or not.
        let to_erase: Vec<_> = acknowledged.iter().step_by(7).take(40).cloned().collect();
        acknowledged.retain(|address| !to_erase.contains(address));
        if erase_and_kill(&sandbox, &to_erase, random.random_range(0..60_000)) {
            erased.extend(to_erase);
        } else {
            assert_listed_or_suppressed(&data, &to_erase);
        }
        assert_list(&data, &acknowledged, &erased);

        // 3. A compaction is killed: without a server, or the server with it.
        compact_and_kill(&sandbox, round, random.random_range(0..60_000));
        assert_list(&data, &acknowledged, &erased);

        // 4. Starts that fail are interrupted.
        interrupt_rejected_start(&sandbox, &mut random);
        interrupt_failing_start(&sandbox, &mut random);
        assert_list(&data, &acknowledged, &erased);

        // 5. A start is killed: in every third round, one that creates its list.
        let new = Sandbox::new();
        let sandbox = if round % 3 == 0 { &new } else { &sandbox };
        kill_start(sandbox, random.random_range(0..40_000));
        assert_eq!(
            sandbox.serve().join(&format!("start-{round}@example.com")),
            "201"
        );
    }
    let count = acknowledged.len();
    assert!(count > 100, "only {count} sign-ups were acknowledged");
    assert!(
        unanswered > 10,
        "only {unanswered} sign-ups had no response; the kills did not hit a serving program"
    );
    assert_list(&data, &acknowledged, &erased);
}

#[test]
fn sigterm_under_load_commits_accepted_sign_ups_and_exits_0() {
    let runtime = Runtime::new().expect("a runtime");
    for round in 0..3 {
        let sandbox = Sandbox::new();
        let mut server = sandbox.serve();
        let process = server.child.id();
        let addresses = addresses_with_signal(round, process, 200 * (round + 1), "-TERM");
        let responses = runtime.block_on(sign_up(&server.addr, CLIENTS, addresses));
        assert_eq!(server.wait_for_exit(), Some(0));
        let acknowledged: BTreeSet<_> = acknowledged_in(&responses).map(str::to_owned).collect();
        let count = acknowledged.len();
        assert!(count > 100, "only {count} sign-ups were acknowledged");
        assert_list(
            &sandbox.path().join("data"),
            &acknowledged,
            &BTreeSet::new(),
        );
    }
}

/// Starts the program, and kills it after `micros` microseconds.
fn kill_start(sandbox: &Sandbox, micros: u64) {
    let start = &mut sandbox.command();
    let mut start = start.stderr(Stdio::null()).spawn().expect("it starts");
    sleep(Duration::from_micros(micros));
    start.kill().expect("a child process");
    start.wait().expect("the process ends");
}

/// Returns addresses without end. Taking the address number `signal_at` sends the process a signal.
fn addresses_with_signal(
    round: u64,
    process: u32,
    signal_at: u64,
    name: &'static str,
) -> impl Iterator<Item = String> + Send + 'static {
    (0..).map(move |number| {
        if number == signal_at {
            spawn(move || signal(process, name));
        }
        format!("{round}-{number}@example.com")
    })
}

/// Runs `landing unsubscribe` and kills it after `micros` microseconds. Returns whether it succeeded before that.
fn erase_and_kill(sandbox: &Sandbox, addresses: &[String], micros: u64) -> bool {
    let mut erase = landing(sandbox.path());
    let erase = erase.args(["unsubscribe"]).args(addresses);
    let erase = erase.stdout(Stdio::null()).stderr(Stdio::null());
    let mut erase = erase.spawn().expect("the program starts");
    sleep(Duration::from_micros(micros));
    erase.kill().expect("a child process");
    erase.wait().expect("the process ends").success()
}

/// Runs `landing compact` and, after `micros` microseconds, kills the process that writes.
fn compact_and_kill(sandbox: &Sandbox, round: u64, micros: u64) {
    let server = round.is_multiple_of(2).then(|| sandbox.serve());
    let mut compact = landing(sandbox.path());
    let compact = compact.arg("compact");
    let compact = compact.stdout(Stdio::null()).stderr(Stdio::null());
    let mut compact = compact.spawn().expect("the program starts");
    sleep(Duration::from_micros(micros));
    signal(
        server
            .as_ref()
            .map_or(compact.id(), |server| server.child.id()),
        "-KILL",
    );
    compact.wait().expect("the process ends");
}

/// Interrupts a start that rejects the list. The list's files must stay unchanged.
fn interrupt_rejected_start(sandbox: &Sandbox, random: &mut StdRng) {
    let store = sandbox.path().join("data/waitlist");
    let before = contents(&store);
    REJECTED_CHANGES[random.random_range(0..REJECTED_CHANGES.len())](&store);
    let changed = contents(&store);
    let mut start = sandbox.command();
    let code = interrupt(&mut start, random.random_range(0..60_000), random);
    assert_ne!(code, Some(0));
    assert!(
        contents(&store) == changed,
        "a rejected start wrote to the list"
    );
    restore(&store, &before);
}

/// Interrupts a start on a disk that fails or is full.
fn interrupt_failing_start(sandbox: &Sandbox, random: &mut StdRng) {
    let failure = DISK_FAILURES[random.random_range(0..DISK_FAILURES.len())];
    let mut start = with_fault(sandbox, failure);
    interrupt(&mut start, random.random_range(0..300_000), random);
}

/// Runs a program, sends it SIGKILL or SIGTERM after `micros` microseconds, and returns its exit code.
fn interrupt(program: &mut Command, micros: u64, random: &mut StdRng) -> Option<i32> {
    let mut running = program
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    sleep(Duration::from_micros(micros));
    let name = ["-KILL", "-TERM"][random.random_range(0..2)];
    signal(running.id(), name);
    running.wait().expect("the process ends").code()
}

/// Checks that the list holds every acknowledged address once, counts its entries correctly, holds no erased address,
/// and suppresses every erased one.
fn assert_list(data: &Path, acknowledged: &BTreeSet<String>, erased: &BTreeSet<String>) {
    let listed = listed_keys(data);
    let missing: Vec<_> = acknowledged.difference(&listed).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    let back: Vec<_> = erased.intersection(&listed).collect();
    assert!(back.is_empty(), "erased but still listed: {back:?}");
    let suppressed = suppressed_in(data, erased.iter());
    let lost: Vec<_> = erased.difference(&suppressed).collect();
    assert!(lost.is_empty(), "erased but not suppressed: {lost:?}");
}

/// Checks that an erasure that was killed has erased only people that it has suppressed.
fn assert_listed_or_suppressed(data: &Path, addresses: &[String]) {
    let (listed, suppressed) = (listed_keys(data), suppressed_in(data, addresses.iter()));
    let is_lost = |it: &&String| !listed.contains(*it) && !suppressed.contains(*it);
    let lost: Vec<_> = addresses.iter().filter(is_lost).collect();
    assert!(lost.is_empty(), "neither listed nor suppressed: {lost:?}");
}

/// Returns those addresses that are suppressed in the list of a data directory.
fn suppressed_in<'a>(data: &Path, addresses: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let list = SledWaitlist::open(data).expect("the list opens");
    let suppressions = Runtime::new()
        .expect("a runtime")
        .block_on(list.suppressions());
    let suppressions = suppressions.expect("readable");
    let is_suppressed =
        |it: &&String| suppressions.contains(&Email::parse(it).expect("an address"));
    addresses.filter(is_suppressed).cloned().collect()
}
