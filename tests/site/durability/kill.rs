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
    acknowledged, number,
    recording::{DISK_FAILURES, REFUSED, contents, put_back},
    sign_up,
    strace::failing,
};
use crate::process::{Place, signal};

/// `make kill` has more.
const ROUNDS: u64 = 10;
const CLIENTS: u64 = 16;

#[test]
fn whenever_it_is_killed_all_that_was_acknowledged_is_there() {
    let mut random = StdRng::seed_from_u64(number("KILL_SEED", 1));
    let runtime = Runtime::new().expect("a runtime");
    let place = Place::new();
    let (mut promised, mut gone) = (BTreeSet::new(), BTreeSet::new());
    let mut unanswered = 0;
    for round in 0..number("KILL_ROUNDS", ROUNDS) {
        let server = place.serve();
        let process = server.child.id();
        let moment = random.random_range(0..1000);
        let addresses = people(round, process, moment, "-KILL");
        let answers = runtime.block_on(sign_up(&server.addr, CLIENTS, addresses));
        unanswered += answers
            .iter()
            .filter(|(_, status)| status.is_none())
            .count();
        promised.extend(acknowledged(&answers).map(str::to_owned));
        drop(server);
        let data = place.path().join("data");
        look(&data, &promised, &gone);

        // Some are erased, and that is interrupted too. Of those nothing is promised until it is done.
        let victims: Vec<_> = promised.iter().step_by(7).take(40).cloned().collect();
        promised.retain(|one| !victims.contains(one));
        let done = owner(&place, &["erase"], &victims, random.random_range(0..60_000));
        if done {
            gone.extend(victims);
        }
        look(&data, &promised, &gone);
        refuse(&place, &mut random);
        fill_up(&place, &mut random);
        look(&data, &promised, &gone);

        // Every third time the start that is killed is the first one of a list.
        let new = Place::new();
        let place = if round % 3 == 0 { &new } else { &place };
        let mut starting = place
            .command()
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        sleep(Duration::from_micros(random.random_range(0..40_000)));
        starting.kill().expect("ours to kill");
        starting.wait().expect("it ends");
        assert_eq!(
            place.serve().join(&format!("start-{round}@example.com")),
            "201"
        );
    }
    assert!(promised.len() > 100, "{} were acknowledged", promised.len());
    assert!(
        unanswered > 10,
        "{unanswered} had no answer: it was killed while it served"
    );
    look(&place.path().join("data"), &promised, &gone);
}

#[test]
fn told_to_stop_under_load_it_commits_what_it_accepted_and_exits_0() {
    let runtime = Runtime::new().expect("a runtime");
    for round in 0..3 {
        let place = Place::new();
        let mut server = place.serve();
        let process = server.child.id();
        let addresses = people(round, process, 200 * (round + 1), "-TERM");
        let answers = runtime.block_on(sign_up(&server.addr, CLIENTS, addresses));
        assert_eq!(server.ended(), Some(0));
        let promised: BTreeSet<_> = acknowledged(&answers).map(str::to_owned).collect();
        assert!(promised.len() > 100, "{} were acknowledged", promised.len());
        look(&place.path().join("data"), &promised, &BTreeSet::new());
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
fn owner(place: &Place, args: &[&str], more: &[String], moment: u64) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().current_dir(place.path());
    let command = command.args(args).args(more);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = command.spawn().expect("it starts");
    sleep(Duration::from_micros(moment));
    running.kill().expect("ours to kill");
    running.wait().expect("it ends").success()
}

/// A start of a list that is refused, killed or told to stop meanwhile: its files stay as they are.
fn refuse(place: &Place, random: &mut StdRng) {
    let store = place.path().join("data/waitlist");
    let before = contents(&store);
    REFUSED[random.random_range(0..REFUSED.len())](&store);
    let changed = contents(&store);
    let mut start = place.command();
    let code = interrupt(&mut start, random.random_range(0..60_000), random);
    assert_ne!(code, Some(0));
    assert!(contents(&store) == changed, "a refused start has written");
    put_back(&store, &before);
}

/// A start while the disk fails or is full, killed or told to stop meanwhile.
fn fill_up(place: &Place, random: &mut StdRng) {
    let failure = DISK_FAILURES[random.random_range(0..DISK_FAILURES.len())];
    let mut start = failing(place, failure);
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
fn look(data: &Path, promised: &BTreeSet<String>, gone: &BTreeSet<String>) {
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
