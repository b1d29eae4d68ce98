//! A start is interrupted at any step: of a list that is in order, and of one that is refused.

use std::{
    fs,
    io::read_to_string,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{recording::contents, strace::with_fault};
use crate::process::{Sandbox, ServerProcess, signal, wait_for_exit};

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
fn sandbox_with_list() -> Sandbox {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    for name in ["ann", "bob", "cyd"] {
        assert_eq!(server.join(&format!("{name}@example.com")), "201");
    }
    drop(server);
    let mut erase = landing_command(&sandbox);
    erase.args(["erase", "cyd@example.com"]);
    assert!(erase.output().expect("it runs").status.success());
    sandbox
}

fn landing_command(sandbox: &Sandbox) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().current_dir(sandbox.path());
    command
}

/// Each call with each number, as strace has it.
fn steps(signal: &'static str) -> impl Iterator<Item = String> {
    CALLS.into_iter().flat_map(move |(call, times)| {
        (1..=times).map(move |time| format!("{call}:signal={signal}:when={time}"))
    })
}

/// A start that comes to its end at the latest when the list is open, because there is no site.
fn interrupt_start_at(sandbox: &Sandbox, step: &str) -> Output {
    let [site, away] = ["site", "away"].map(|name| sandbox.path().join(name));
    fs::rename(&site, &away).expect("ours");
    let output = with_fault(sandbox, step).output().expect("it runs");
    fs::rename(&away, &site).expect("ours");
    output
}

/// So many are on the list. One more joins: without anything new, sled would take fewer steps next time.
fn assert_intact(sandbox: &Sandbox, number: u64, step: &str) {
    let server = sandbox.serve();
    assert_eq!(server.join("ann@example.com"), "409", "{step}");
    let count = format!(r#"{{"count":{number}}}"#);
    assert_eq!(server.count(), count, "{step}");
    assert_eq!(server.join(&format!("{number}@example.com")), "201");
}

#[test]
fn start_killed_at_any_step_loses_nothing() {
    let sandbox = sandbox_with_list();
    for (number, step) in (2..).zip(steps("KILL")) {
        let start = interrupt_start_at(&sandbox, &step);
        assert_eq!(start.status.code(), None, "{step}: {start:?}");
        assert_intact(&sandbox, number, &step);
    }
}

/// The number of entries is below the mark, as in an older backup of one file.
#[test]
fn rejected_start_writes_nothing_at_any_interruption() {
    let sandbox = sandbox_with_list();
    let store = sandbox.path().join("data/waitlist");
    let numbers = [9u64, !9, 0, !0].map(u64::to_be_bytes);
    fs::write(store.join("mark"), numbers.as_flattened()).expect("writable");
    let before = contents(&store);
    for step in steps("KILL").chain(steps("TERM").step_by(3)) {
        let start = with_fault(&sandbox, &step).output().expect("it runs");
        assert_ne!(start.status.code(), Some(0), "{step}");
        assert_eq!(contents(&store), before, "{step}");
    }
    let start = sandbox.command().output().expect("it runs");
    let stderr = String::from_utf8_lossy(&start.stderr);
    assert!(stderr.contains("nothing was changed"), "{stderr}");
    assert_eq!(contents(&store), before);
    let left = sandbox.path().join("data/waitlist.trial");
    assert!(!left.exists(), "the copy is removed");
}

#[test]
fn sigterm_while_opening_keeps_the_list_intact_and_fails() {
    let sandbox = sandbox_with_list();
    // Before that it has not begun.
    for (number, step) in (2..).zip(steps("TERM").skip(2)) {
        let mut start = with_fault(&sandbox, &step);
        let mut start = start.stderr(Stdio::piped()).spawn().expect("it starts");
        assert_eq!(wait_for_exit(&mut start), Some(1), "{step}");
        let stderr = read_to_string(start.stderr.take().expect("piped")).expect("text");
        assert!(stderr.contains("told to stop"), "{step}: {stderr}");
        assert_intact(&sandbox, number, &step);
    }
}

#[test]
fn sigterm_while_waiting_for_the_lock_exits() {
    let sandbox = sandbox_with_list();
    let _holder = sandbox.serve();
    let mut second = sandbox.command();
    let mut second = second.stderr(Stdio::null()).spawn().expect("it starts");
    sleep(Duration::from_secs(1));
    let signalled_at = Instant::now();
    signal(second.id(), "-TERM");
    assert_eq!(second.wait().expect("it ends").code(), Some(1));
    assert!(
        signalled_at.elapsed() < Duration::from_secs(10),
        "it waits for 15"
    );
}

/// A directory of other files that looks like a store.
#[test]
fn rejects_unrelated_files_in_one_line_and_keeps_them() {
    let noise: Vec<u8> = (0..2_000_000u32)
        .map(|number| (number.wrapping_mul(number) >> 7) as u8)
        .collect();
    for bytes in [&b"my notes"[..], &noise, &[0xff; 600_000]] {
        let sandbox = Sandbox::new();
        let store = sandbox.path().join("data/waitlist");
        fs::create_dir_all(&store).expect("writable");
        fs::write(store.join("db"), bytes).expect("writable");
        fs::write(store.join("snap.txt"), "a snapshot of my own").expect("writable");
        let before = contents(&store);
        let start = sandbox.command().output().expect("it runs");
        let stderr = String::from_utf8_lossy(&start.stderr);
        assert_eq!(start.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("nothing was changed"), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert_eq!(contents(&store), before);
    }
}

/// Longer than opening may take: 30 seconds.
#[test]
fn open_timeout_excludes_time_spent_stopped() {
    let sandbox = sandbox_with_list();
    let mut start = with_fault(&sandbox, "symlink:signal=STOP:when=1");
    let start = start.stderr(Stdio::piped());
    let child = start.spawn().expect("it starts");
    let process = child.id();
    wait_until_stopped(process);
    sleep(Duration::from_secs(33));
    signal(process, "-CONT");
    let server = ServerProcess::from_child(child);
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
