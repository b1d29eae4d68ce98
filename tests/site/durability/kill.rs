//! The program is killed while people sign up, and while it starts.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
    thread::{sleep, spawn},
    time::Duration,
};

use landing::waitlist::{Selection, SledWaitlist, Waitlist};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::runtime::Runtime;

use super::{
    acknowledged, env_number,
    recording::{DISK_FAILURES, REJECTED_CHANGES, contents, restore},
    sign_up,
    strace::with_fault,
};
use crate::process::{Sandbox, signal};

/// `make kill` has more.
const ROUNDS: u64 = 10;
const CLIENTS: u64 = 16;

#[test]
fn sigkill_loses_no_acknowledged_sign_up() {
    let mut random = StdRng::seed_from_u64(env_number("KILL_SEED", 1));
    let runtime = Runtime::new().expect("a runtime");
    let sandbox = Sandbox::new();
    let (mut promised, mut gone) = (BTreeSet::new(), BTreeSet::new());
    let mut unanswered = 0;
    for round in 0..env_number("KILL_ROUNDS", ROUNDS) {
        let server = sandbox.serve();
        let process = server.child.id();
        let moment = random.random_range(0..1000);
        let addresses = people(round, process, moment, "-KILL");
        let responses = runtime.block_on(sign_up(&server.addr, CLIENTS, addresses));
        unanswered += responses
            .iter()
            .filter(|(_, status)| status.is_none())
            .count();
        promised.extend(acknowledged(&responses).map(str::to_owned));
        drop(server);
        let data = sandbox.path().join("data");
        assert_list(&data, &promised, &gone);

        // Some are erased, and that is interrupted too. Of those nothing is promised until it is done.
        let victims: Vec<_> = promised.iter().step_by(7).take(40).cloned().collect();
        promised.retain(|one| !victims.contains(one));
        let done = run_and_kill(
            &sandbox,
            &["erase"],
            &victims,
            random.random_range(0..60_000),
        );
        if done {
            gone.extend(victims);
        }
        assert_list(&data, &promised, &gone);
        interrupt_rejected_start(&sandbox, &mut random);
        interrupt_failing_start(&sandbox, &mut random);
        assert_list(&data, &promised, &gone);

        // Every third time the start that is killed is the first one of a list.
        let new = Sandbox::new();
        let sandbox = if round % 3 == 0 { &new } else { &sandbox };
        let mut starting = sandbox
            .command()
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        sleep(Duration::from_micros(random.random_range(0..40_000)));
        starting.kill().expect("ours to kill");
        starting.wait().expect("it ends");
        assert_eq!(
            sandbox.serve().join(&format!("start-{round}@example.com")),
            "201"
        );
    }
    assert!(promised.len() > 100, "{} were acknowledged", promised.len());
    assert!(
        unanswered > 10,
        "{unanswered} had no response: it was killed while it served"
    );
    assert_list(&sandbox.path().join("data"), &promised, &gone);
}

#[test]
fn sigterm_under_load_commits_accepted_sign_ups_and_exits_0() {
    let runtime = Runtime::new().expect("a runtime");
    for round in 0..3 {
        let sandbox = Sandbox::new();
        let mut server = sandbox.serve();
        let process = server.child.id();
        let addresses = people(round, process, 200 * (round + 1), "-TERM");
        let responses = runtime.block_on(sign_up(&server.addr, CLIENTS, addresses));
        assert_eq!(server.wait_for_exit(), Some(0));
        let promised: BTreeSet<_> = acknowledged(&responses).map(str::to_owned).collect();
        assert!(promised.len() > 100, "{} were acknowledged", promised.len());
        assert_list(&sandbox.path().join("data"), &promised, &BTreeSet::new());
    }
}

/// People without end. When the one of a number comes, the process gets a signal, and the others go on.
fn people(
    round: u64,
    process: u32,
    moment: u64,
    name: &'static str,
) -> impl Iterator<Item = String> + Send + 'static {
    (0..).map(move |number| {
        if number == moment {
            spawn(move || signal(process, name));
        }
        format!("{round}-{number}@example.com")
    })
}

/// A command of the owner's that is killed after so many microseconds, if it has not ended: whether it
/// did what it was asked.
fn run_and_kill(sandbox: &Sandbox, args: &[&str], more: &[String], moment: u64) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().current_dir(sandbox.path());
    let command = command.args(args).args(more);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = command.spawn().expect("it starts");
    sleep(Duration::from_micros(moment));
    running.kill().expect("ours to kill");
    running.wait().expect("it ends").success()
}

/// A start of a list that is refused, killed or told to stop meanwhile: its files stay as they are.
fn interrupt_rejected_start(sandbox: &Sandbox, random: &mut StdRng) {
    let store = sandbox.path().join("data/waitlist");
    let before = contents(&store);
    REJECTED_CHANGES[random.random_range(0..REJECTED_CHANGES.len())](&store);
    let changed = contents(&store);
    let mut start = sandbox.command();
    let code = interrupt(&mut start, random.random_range(0..60_000), random);
    assert_ne!(code, Some(0));
    assert!(contents(&store) == changed, "a refused start has written");
    restore(&store, &before);
}

/// A start while the disk fails or is full, killed or told to stop meanwhile.
fn interrupt_failing_start(sandbox: &Sandbox, random: &mut StdRng) {
    let failure = DISK_FAILURES[random.random_range(0..DISK_FAILURES.len())];
    let mut start = with_fault(sandbox, failure);
    interrupt(&mut start, random.random_range(0..300_000), random);
}

/// Ends a program after so many microseconds, if it has not ended, and returns its exit code.
fn interrupt(program: &mut Command, moment: u64, random: &mut StdRng) -> Option<i32> {
    let mut running = program.stderr(Stdio::null()).spawn().expect("it starts");
    sleep(Duration::from_micros(moment));
    let name = ["-KILL", "-TERM"][random.random_range(0..2)];
    signal(running.id(), name);
    running.wait().expect("it ends").code()
}

/// Opens the list: everybody who was promised is there once, and counted, and nobody who was erased.
fn assert_list(data: &Path, promised: &BTreeSet<String>, gone: &BTreeSet<String>) {
    let list = SledWaitlist::open(data).expect("the list opens");
    let entries = list.entries(Selection::default()).expect("readable");
    let listed: Vec<_> = entries
        .map(|entry| entry.expect("readable").email.key())
        .collect();
    assert_eq!(listed.len() as u64, list.count());
    let listed: BTreeSet<_> = listed.into_iter().collect();
    assert_eq!(listed.len() as u64, list.count(), "nobody is there twice");
    let missing: Vec<_> = promised.difference(&listed).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    let back: Vec<_> = gone.intersection(&listed).collect();
    assert!(back.is_empty(), "back: {back:?}");
}
