//! Kills the program while people sign up, while entries are erased, while it compacts the list, and while it starts.
//! `interrupted_start` and `power_cut` have starts that fail.
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

use super::{acknowledged_in, env_number, listed_keys, sign_up};
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
        let addresses = addresses_with_kill(round, process, kill_at);
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
        let mut erase = landing(sandbox.path());
        let erase = erase.arg("unsubscribe").args(&to_erase);
        if kill_after(random.random_range(0..60_000), erase, None) {
            erased.extend(to_erase);
        } else {
            assert_listed_or_suppressed(&data, &to_erase);
        }
        assert_list(&data, &acknowledged, &erased);

        // 3. A compaction is killed: without a server, or the server with it.
        let server = round.is_multiple_of(2).then(|| sandbox.serve());
        let mut compact = landing(sandbox.path());
        let compact = compact.arg("compact");
        let writer = server.as_ref().map(|server| server.child.id());
        kill_after(random.random_range(0..60_000), compact, writer);
        drop(server);
        assert_list(&data, &acknowledged, &erased);

        // 4. A start is killed: in every third round, one that creates its list.
        let new = Sandbox::new();
        let sandbox = if round % 3 == 0 { &new } else { &sandbox };
        let start = &mut sandbox.command();
        kill_after(random.random_range(0..40_000), start, None);
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

/// Returns addresses without end. Taking the address number `kill_at` kills the process.
fn addresses_with_kill(
    round: u64,
    process: u32,
    kill_at: u64,
) -> impl Iterator<Item = String> + Send + 'static {
    (0..).map(move |number| {
        if number == kill_at {
            spawn(move || signal(process, "-KILL"));
        }
        format!("{round}-{number}@example.com")
    })
}

/// Runs a command and, after `micros` microseconds, kills it, or the server that works for it. Returns whether the command
/// succeeded.
fn kill_after(micros: u64, command: &mut Command, server: Option<u32>) -> bool {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut command = command.spawn().expect("the program starts");
    sleep(Duration::from_micros(micros));
    signal(server.unwrap_or(command.id()), "-KILL");
    command.wait().expect("the process ends").success()
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
