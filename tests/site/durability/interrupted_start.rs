//! Interrupts a start at each system call with which it opens the list.
//!
//! A start that is killed or stopped must not harm the list. A start that rejects the list must not write to
//! it at all.

use std::{
    ffi::OsStr,
    fs,
    io::read_to_string,
    net::TcpListener,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{store_files::contents, strace::with_fault};
use crate::{
    ended::RunToEnd,
    process::{Sandbox, landing, signal, wait_for_exit},
};

/// The calls that open a list, and how often one thread makes each. strace counts the calls of each thread.
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

/// Returns a sandbox with a list of two people. A third one was erased.
fn sandbox_with_list() -> Sandbox {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    for name in ["ann", "bob", "cyd"] {
        assert_eq!(server.join(&format!("{name}@example.com")), "201");
    }
    drop(server);
    let mut erase = landing(sandbox.path());
    erase.args(["erase", "cyd@example.com"]).run().success();
    sandbox
}

/// Returns the steps of a start: a signal at each of the calls, in strace's syntax.
fn steps(signal: &'static str) -> impl Iterator<Item = String> {
    CALLS.into_iter().flat_map(move |(call, times)| {
        (1..=times).map(move |time| format!("{call}:signal={signal}:when={time}"))
    })
}

/// Starts the program with a signal at a step. Without one it would exit after opening the list, because the test
/// listens on its address.
fn interrupt_start_at(sandbox: &Sandbox, step: &str) -> Output {
    let occupied = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = occupied.local_addr().expect("a bound socket").to_string();
    let free = with_fault(sandbox, step);
    let mut command = Command::new(free.get_program());
    command.env_clear().current_dir(sandbox.path());
    command.args(free.get_args().map(|arg| match arg.to_str() {
        Some("127.0.0.1:0") => OsStr::new(&addr),
        _ => arg,
    }));
    command.output().expect("the program runs")
}

/// Checks that the list opens and holds `count` entries. Adds one more, because sled makes fewer calls at the
/// next start if nothing has changed.
fn assert_intact(sandbox: &Sandbox, count: u64, step: &str) {
    let server = sandbox.serve();
    assert_eq!(server.join("ann@example.com"), "409", "{step}");
    assert_eq!(server.count(), count, "{step}");
    assert_eq!(server.join(&format!("{count}@example.com")), "201");
}

#[test]
fn start_killed_at_any_step_loses_nothing() {
    let sandbox = sandbox_with_list();
    for (count, step) in (2..).zip(steps("KILL")) {
        let start = interrupt_start_at(&sandbox, &step);
        assert_eq!(start.status.code(), None, "{step}: {start:?}");
        assert_intact(&sandbox, count, &step);
    }
}

/// The high-water mark is ahead of the list, as after one file was restored from an older backup.
#[test]
fn rejected_start_writes_nothing_at_any_interruption() {
    let sandbox = sandbox_with_list();
    let store = sandbox.path().join("data/waitlist");
    let mark = [9u64, !9].map(u64::to_be_bytes);
    fs::write(store.join("mark"), mark.as_flattened()).expect("writable");
    let before = contents(&store);
    for step in steps("KILL").chain(steps("TERM").step_by(3)) {
        let start = with_fault(&sandbox, &step)
            .output()
            .expect("the program runs");
        assert_ne!(start.status.code(), Some(0), "{step}");
        assert_eq!(contents(&store), before, "{step}");
    }
    let stderr = sandbox.command().run().code(3).stderr();
    assert!(stderr.contains("nothing was changed"), "{stderr}");
    assert_eq!(contents(&store), before);
    let trial = sandbox.path().join("data/waitlist.trial");
    assert!(!trial.exists(), "the trial copy is left behind");
}

#[test]
fn sigterm_while_opening_keeps_the_list_intact_and_fails() {
    let sandbox = sandbox_with_list();
    // At the first two steps, the program does not handle signals yet.
    for (count, step) in (2..).zip(steps("TERM").skip(2)) {
        let mut start = with_fault(&sandbox, &step);
        let mut start = start
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        assert_eq!(wait_for_exit(&mut start), Some(1), "{step}");
        let stderr = read_to_string(start.stderr.take().expect("a pipe")).expect("text");
        assert!(stderr.contains("stopped by a signal"), "{step}: {stderr}");
        assert_intact(&sandbox, count, &step);
    }
}

#[test]
fn sigterm_while_waiting_for_the_lock_exits() {
    let sandbox = sandbox_with_list();
    let _holder = sandbox.serve();
    let mut second = sandbox.command();
    let mut second = second
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    sleep(Duration::from_secs(1));
    let signalled_at = Instant::now();
    signal(second.id(), "-TERM");
    assert_eq!(second.wait().expect("the process ends").code(), Some(1));
    assert!(
        signalled_at.elapsed() < Duration::from_secs(10),
        "the server waited for the lock, which takes up to 15 seconds"
    );
}

/// The directory looks like a store, but its files come from another program.
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
        let stderr = sandbox.command().run().code(3).stderr();
        assert!(stderr.contains("nothing was changed"), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert_eq!(contents(&store), before);
    }
}
