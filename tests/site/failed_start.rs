//! Starts that fail: what they leave behind, and what they print.

use std::{
    fs,
    net::TcpListener,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::{
    durability::strace::with_fault,
    process::{Sandbox, ServerProcess, landing, signal, wait_until},
};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns `serve` in a sandbox, with an address.
fn serve(sandbox: &Sandbox, addr: &str) -> Command {
    let mut command = landing(sandbox.path());
    command.args(["serve", "--addr", addr]);
    command
}

/// Returns starts that fail with exit code 1, and a part of the message of each.
fn failing_starts(sandbox: &Sandbox, occupied: &str) -> Vec<(Command, &'static str)> {
    let mut unusable_store = serve(sandbox, "127.0.0.1:0");
    unusable_store.args(["--store", "/proc/nowhere"]);
    vec![
        (
            serve(sandbox, occupied),
            "Address already in use (os error 98); stop the process that uses it, or choose another address with --addr",
        ),
        (
            serve(sandbox, "192.0.2.1:3000"),
            "this machine does not have this address; choose another one with --addr",
        ),
        (
            unusable_store,
            "cannot use the data directory /proc/nowhere",
        ),
    ]
}

fn occupied_address() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("a bound socket").to_string();
    (listener, addr)
}

#[test]
fn failed_start_creates_no_list() {
    let sandbox = Sandbox::new();
    let (_listener, occupied) = occupied_address();
    for (mut start, message) in failing_starts(&sandbox, &occupied) {
        let output = start.output().expect("the program runs");
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(message), "{error}");
        let created = fs::read_dir(sandbox.path()).expect("readable").count();
        assert_eq!(created, 0, "{error}");
    }
}

/// Two servers that start at the same time can both bind their sockets to an address, but only one can listen.
#[test]
fn start_that_loses_the_race_for_an_address_creates_no_list() {
    let sandbox = Sandbox::new();
    let mut start = with_fault(&sandbox, "listen:error=EADDRINUSE");
    let output = start.output().expect("strace runs");
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("Address already in use"), "{error}");
    assert!(!sandbox.path().join("data").exists(), "{error}");
}

#[test]
fn start_on_a_full_disk_leaves_nothing_of_a_new_list() {
    for is_directory_new in [true, false] {
        let sandbox = Sandbox::new();
        let data = sandbox.path().join("data");
        if !is_directory_new {
            fs::create_dir(&data).expect("writable");
        }
        let mut start = with_fault(&sandbox, "pwrite64:error=ENOSPC");
        let output = start.output().expect("strace runs");
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("No space left on device"), "{error}");
        assert_eq!(data.exists(), !is_directory_new, "{error}");
        if !is_directory_new {
            assert_eq!(fs::read_dir(&data).expect("readable").count(), 0, "{error}");
        }
        // With room on the disk, it starts.
        assert_eq!(sandbox.serve().join("ann@example.com"), "201");
    }
}

#[test]
fn failed_start_on_an_address_in_use_keeps_an_existing_list() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.serve().join("ann@example.com"), "201");
    let (_listener, occupied) = occupied_address();
    let output = serve(&sandbox, &occupied).output();
    let output = output.expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    assert!(error.contains("Address already in use"), "{error}");
    assert_eq!(sandbox.serve().count(), 1);
}

/// A script may start the new server before the old one has stopped.
#[test]
fn new_server_waits_for_the_address_and_the_list_of_the_old_one() {
    let sandbox = Sandbox::new();
    let mut old = sandbox.serve();
    assert_eq!(old.join("ann@example.com"), "201");
    let mut new = serve(&sandbox, &old.addr);
    let new = new.stderr(Stdio::piped()).spawn();
    let new = new.expect("the program starts");
    // It has tried the address once it waits for the list.
    wait_until("the new server waits for the list", || {
        let files = fs::read_dir(format!("/proc/{}/fd", new.id())).expect("Linux");
        let targets = files.flatten().map(|file| fs::read_link(file.path()));
        targets
            .flatten()
            .any(|target| target == sandbox.path().join("data/lock"))
    });
    signal(old.child.id(), "-TERM");
    assert_eq!(old.wait_for_exit(), Some(0));
    let new = ServerProcess::from_child(new);
    assert_eq!(new.addr, old.addr);
    assert_eq!(new.count(), 1);
}

/// Checks that standard error is one line of JSON, like those of the log, and returns its message.
fn json_error(output: &Output) -> String {
    let text = stderr(output);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("{\"timestamp\":"), "{text}");
    let line: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(line["level"], "ERROR", "{text}");
    let time = line["timestamp"].as_str().expect("a time");
    assert!(time.len() == 27 && time.ends_with('Z'), "{text}");
    assert_eq!(line.as_object().expect("an object").len(), 3, "{text}");
    line["message"].as_str().expect("a message").to_owned()
}

#[test]
fn fatal_errors_are_json_lines_in_a_json_log() {
    let sandbox = Sandbox::new();
    let (_listener, occupied) = occupied_address();
    for (mut start, message) in failing_starts(&sandbox, &occupied) {
        let output = start.args(["--log", "json"]).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(1));
        let error = json_error(&output);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn errors_never_contain_a_stack_trace() {
    let sandbox = Sandbox::new();
    let (_listener, occupied) = occupied_address();
    for level in ["1", "full"] {
        let starts = failing_starts(&sandbox, &occupied);
        let mut commands: Vec<_> = starts.into_iter().map(|(start, _)| start).collect();
        for args in [&["count"][..], &["import", "--store", "/proc/nowhere"]] {
            let mut command = landing(sandbox.path());
            command.args(args).stdin(Stdio::null());
            commands.push(command);
        }
        for mut command in commands {
            let output = command.env("RUST_BACKTRACE", level).output();
            let output = output.expect("the program runs");
            let error = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            assert!(error.starts_with("landing: "), "{error}");
        }
    }
}
