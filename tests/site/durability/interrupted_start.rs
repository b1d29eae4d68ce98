//! A start is interrupted at any step: of a list that is in order, and of one that is refused.

use std::{
    fs,
    io::read_to_string,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{recording::contents, strace::failing};
use crate::process::{Place, Running, ended, signal};

/// The calls with which a list is opened, and how often a thread makes each of them. strace counts for
/// each thread alone.
const CALLS: [(&str, u32); 9] = [
    ("mkdir", 2),
    ("copy_file_range", 4),
    ("symlink", 1),
    ("pwrite64", 2),
    ("fsync", 7),
    ("rename", 1),
    ("unlink", 1),
    ("unlinkat", 4),
    ("flock", 3),
];

/// A place with a list that has some people on it, one of whom was erased.
fn place_with_a_list() -> Place {
    let place = Place::new();
    let server = place.serve();
    for name in ["ann", "bob", "cyd"] {
        assert_eq!(server.join(&format!("{name}@example.com")), "201");
    }
    drop(server);
    let mut erase = owner(&place);
    erase.args(["erase", "cyd@example.com"]);
    assert!(erase.output().expect("it runs").status.success());
    place
}

fn owner(place: &Place) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().current_dir(place.path());
    command
}

/// Each call with each number, as strace has it.
fn steps(signal: &'static str) -> impl Iterator<Item = String> {
    CALLS.into_iter().flat_map(move |(call, times)| {
        (1..=times).map(move |time| format!("{call}:signal={signal}:when={time}"))
    })
}

/// A start that comes to its end at the latest when the list is open, because there is no site.
fn interrupted(place: &Place, step: &str) -> Output {
    let [site, away] = ["site", "away"].map(|name| place.path().join(name));
    fs::rename(&site, &away).expect("ours");
    let output = failing(place, step).output().expect("it runs");
    fs::rename(&away, &site).expect("ours");
    output
}

/// So many are on the list. One more joins: without anything new, sled would take fewer steps next time.
fn look(place: &Place, number: u64, step: &str) {
    let server = place.serve();
    assert_eq!(server.join("ann@example.com"), "409", "{step}");
    let count = format!(r#"{{"count":{number}}}"#);
    assert_eq!(server.count(), count, "{step}");
    assert_eq!(server.join(&format!("{number}@example.com")), "201");
}

#[test]
fn a_start_that_is_killed_at_any_step_loses_nothing() {
    let place = place_with_a_list();
    for (number, step) in (2..).zip(steps("KILL")) {
        let start = interrupted(&place, &step);
        assert_eq!(start.status.code(), None, "{step}: {start:?}");
        look(&place, number, &step);
    }
}

/// The number of entries is below the mark, as in an older backup of one file.
#[test]
fn a_refused_start_writes_nothing_whenever_it_is_killed_or_told_to_stop() {
    let place = place_with_a_list();
    let store = place.path().join("data/waitlist");
    let numbers = [9u64, !9, 0, !0].map(u64::to_be_bytes);
    fs::write(store.join("mark"), numbers.as_flattened()).expect("writable");
    let before = contents(&store);
    for step in steps("KILL").chain(steps("TERM").step_by(3)) {
        let start = failing(&place, &step).output().expect("it runs");
        assert_ne!(start.status.code(), Some(0), "{step}");
        assert_eq!(contents(&store), before, "{step}");
    }
    let start = place.command().output().expect("it runs");
    let told = String::from_utf8_lossy(&start.stderr);
    assert!(told.contains("nothing was changed"), "{told}");
    assert_eq!(contents(&store), before);
    let left = place.path().join("data/waitlist.trial");
    assert!(!left.exists(), "the copy is removed");
}

#[test]
fn told_to_stop_while_it_opens_the_list_it_leaves_it_whole_and_fails() {
    let place = place_with_a_list();
    // Before that it has not begun.
    for (number, step) in (2..).zip(steps("TERM").skip(2)) {
        let mut start = failing(&place, &step);
        let mut start = start.stderr(Stdio::piped()).spawn().expect("it starts");
        assert_eq!(ended(&mut start), Some(1), "{step}");
        let told = read_to_string(start.stderr.take().expect("piped")).expect("text");
        assert!(told.contains("told to stop"), "{step}: {told}");
        look(&place, number, &step);
    }
}

#[test]
fn told_to_stop_while_it_waits_for_the_list_it_stops() {
    let place = place_with_a_list();
    let _holder = place.serve();
    let mut second = place.command();
    let mut second = second.stderr(Stdio::null()).spawn().expect("it starts");
    sleep(Duration::from_secs(1));
    let told = Instant::now();
    signal(second.id(), "-TERM");
    assert_eq!(second.wait().expect("it ends").code(), Some(1));
    assert!(told.elapsed() < Duration::from_secs(10), "it waits for 15");
}

/// A directory of other files that looks like a store.
#[test]
fn files_of_another_program_are_refused_in_one_line_and_left_alone() {
    let noise: Vec<u8> = (0..2_000_000u32)
        .map(|number| (number.wrapping_mul(number) >> 7) as u8)
        .collect();
    for bytes in [&b"my notes"[..], &noise, &[0xff; 600_000]] {
        let place = Place::new();
        let store = place.path().join("data/waitlist");
        fs::create_dir_all(&store).expect("writable");
        fs::write(store.join("db"), bytes).expect("writable");
        fs::write(store.join("snap.txt"), "a snapshot of my own").expect("writable");
        let before = contents(&store);
        let start = place.command().output().expect("it runs");
        let told = String::from_utf8_lossy(&start.stderr);
        assert_eq!(start.status.code(), Some(1), "{told}");
        assert!(told.contains("nothing was changed"), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert_eq!(contents(&store), before);
    }
}

/// Longer than opening may take: 30 seconds.
#[test]
fn the_time_in_which_the_process_is_stopped_does_not_count() {
    let place = place_with_a_list();
    let mut start = failing(&place, "symlink:signal=STOP:when=1");
    let start = start.stderr(Stdio::piped());
    let child = start.spawn().expect("it starts");
    let process = child.id();
    wait_until_stopped(process);
    sleep(Duration::from_secs(33));
    signal(process, "-CONT");
    let server = Running::of(child);
    assert_eq!(server.count(), r#"{"count":2}"#);
}

fn wait_until_stopped(process: u32) {
    for _ in 0..1_000 {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if stat.contains(") T ") || stat.contains(") t ") {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("process {process} does not stop");
}
