//! The disk fails, or is full, or may not be written: calls of the running program are made to fail.

use std::{collections::BTreeSet, fs, process::Command, time::Duration};

use landing::waitlist::{Selection, SledWaitlist, Waitlist};
use tokio::{runtime::Runtime, time::timeout};

use super::{acknowledged, sign_up, strace::with_fault};
use crate::process::{Sandbox, ServerProcess, signal, wait_until};

/// Failures of sled's log under load, as strace lets them happen: from some call on, each one fails.
const FAILURES: [&str; 6] = [
    "fdatasync:error=EIO:when=20+",
    "fdatasync:error=EIO:when=1",
    "fdatasync:error=ENOSPC:when=20+",
    "pwrite64:error=ENOSPC:when=20+",
    "pwrite64:error=EIO:when=20",
    "sync_file_range:error=EIO:when=20",
];

#[test]
fn failed_write_or_sync_exits_and_loses_no_acknowledged_sign_up() {
    for failure in FAILURES {
        let sandbox = Sandbox::new();
        // Makes the list, so that the failure comes while it is used.
        sandbox.serve().signal("-TERM");
        let mut server = ServerProcess::start(with_fault(&sandbox, failure));
        let addresses = (0..100_000).map(|number| format!("{number}@example.com"));
        let runtime = Runtime::new().expect("a runtime");
        let responses = runtime.block_on(sign_up(&server.addr, 8, addresses));

        assert_eq!(server.wait_for_exit(), Some(1), "{failure}");
        let words = server.log_without_requests();
        let stderr: Vec<_> = words
            .iter()
            .filter(|line| !line.starts_with("strace: "))
            .collect();
        let is_one_line =
            stderr.len() == 1 && stderr[0].contains("the waitlist can't be read or written");
        assert!(is_one_line, "{failure}: {stderr:?}");

        // There is space again, or another disk: what was promised is there, and more can come.
        let promised: BTreeSet<_> = acknowledged(&responses).map(str::to_owned).collect();
        let server = sandbox.serve();
        assert_eq!(server.join("after@example.com"), "201", "{failure}");
        drop(server);
        let list = SledWaitlist::open(&sandbox.path().join("data")).expect("the list opens");
        let entries = list.entries(Selection::default()).expect("readable");
        let listed: BTreeSet<_> = entries
            .map(|entry| entry.expect("readable").email.key())
            .collect();
        assert_eq!(listed.len() as u64, list.count());
        assert!(promised.is_subset(&listed), "{failure}");
    }
}

/// Here the last write is cut short, as a disk that gets full does it: no file may grow beyond 1 MiB.
#[test]
fn short_write_exits_and_loses_no_acknowledged_sign_up() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_landing");
    command.args([
        "-c",
        "trap '' XFSZ; ulimit -f 1024; exec \"$0\" \"$@\"",
        program,
    ]);
    let mut server = ServerProcess::start(sandbox.wrapped_command(command));
    let addresses = (0..100_000).map(|number| format!("{number}-{}@example.com", "a".repeat(50)));
    let runtime = Runtime::new().expect("a runtime");
    let responses = runtime.block_on(sign_up(&server.addr, 8, addresses));
    assert_eq!(server.wait_for_exit(), Some(1));
    let promised: Vec<_> = acknowledged(&responses).collect();
    assert!(promised.len() > 100);

    let server = sandbox.serve();
    for address in promised.iter().step_by(50).chain(promised.last()) {
        assert_eq!(server.join(address), "409");
    }
}

/// A list that is there, and a disk that is still full or does not work.
#[test]
fn reports_a_failed_open_and_the_next_start_succeeds() {
    for (failure, reason) in [
        ("pwrite64:error=ENOSPC:when=1+", "No space left on device"),
        ("fsync:error=EIO:when=1+", "Input/output error"),
        (
            "copy_file_range:error=ENOSPC:when=1+",
            "No space left on device",
        ),
    ] {
        let sandbox = Sandbox::new();
        assert_eq!(sandbox.serve().join("ann@example.com"), "201");
        let output = with_fault(&sandbox, failure).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{failure}: {stderr}");
        assert!(stderr.contains(reason), "{failure}: {stderr}");
        assert!(
            !stderr.contains("Restore"),
            "the list is not lost: {stderr}"
        );
        let left = fs::exists(sandbox.path().join("data/waitlist.trial")).expect("readable");
        assert!(!left, "{failure}: a full disk needs the space");
        assert_eq!(sandbox.serve().join("ann@example.com"), "409", "{failure}");
    }
}

/// What can go wrong at the first start.
#[test]
fn reports_a_failed_creation_and_the_next_start_succeeds() {
    for (failure, reason) in [
        ("mkdir:error=EROFS:when=1", "Read-only file system"),
        ("mkdir:error=ENOSPC:when=2", "No space left on device"),
        ("pwrite64:error=ENOSPC:when=1", "No space left on device"),
        ("fsync:error=EIO:when=3", "Input/output error"),
        ("rename:error=EIO:when=1", "Input/output error"),
    ] {
        let sandbox = Sandbox::new();
        let output = with_fault(&sandbox, failure).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{failure}: {stderr}");
        assert!(stderr.contains(reason), "{failure}: {stderr}");
        assert!(stderr.contains("--store"), "it says what to do: {stderr}");
        assert_eq!(sandbox.serve().join("ann@example.com"), "201", "{failure}");
    }
}

#[test]
fn hanging_disk_returns_503() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let server = ServerProcess::start(with_fault(
        &sandbox,
        "fdatasync:delay_enter=15000000:when=1",
    ));
    let response = server.request("POST", "/api/waitlist", r#"{"email":"ann@example.com"}"#);
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    assert!(response.contains("retry-after: 1"), "{response}");
    // It was being written, and asking again tells when it is.
    assert_eq!(server.join("ann@example.com"), "409");
}

/// The first one lets requests under way finish, and the second one waits no longer for them.
#[test]
fn third_signal_exits_while_the_disk_hangs() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let mut server = ServerProcess::start(with_fault(
        &sandbox,
        "fdatasync:delay_enter=90000000:when=1",
    ));
    let addr = server.addr.clone();
    let waiting = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(addr).expect("it listens");
        let body = r#"{"email":"ann@example.com"}"#;
        let head = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json";
        let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        std::io::Write::write_all(&mut stream, request.as_bytes()).expect("it reads");
        std::io::read_to_string(stream).unwrap_or_default()
    });
    let status_field = |what: &str| {
        let status = fs::read_to_string(format!("/proc/{}/status", server.child.id()));
        let status = status.expect("it is not waited for yet");
        let line = status.lines().find_map(|line| line.strip_prefix(what));
        line.expect("Linux has it").trim().to_owned()
    };
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(500));
        server.signal("-TERM");
    }
    wait_until("it ends", || status_field("State:").starts_with('Z'));
    // Until the disk goes on strace keeps the thread that syncs, and with it the exit code.
    signal(status_field("TracerPid:").parse().expect("an id"), "-KILL");
    assert_eq!(server.wait_for_exit(), Some(1));
    waiting.join().expect("no panic");
}

/// The program may open so many files, and clients come on more connections.
#[test]
fn serves_all_clients_despite_too_few_file_descriptors() {
    let sandbox = Sandbox::new();
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_landing");
    command.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\"", program]);
    let server = ServerProcess::start(sandbox.wrapped_command(command));
    let runtime = Runtime::new().expect("a runtime");
    let addresses = (0..200).map(|number| format!("{number}@example.com"));
    let crowd = Duration::from_secs(60);
    let crowd =
        runtime.block_on(async { timeout(crowd, sign_up(&server.addr, 100, addresses)).await });
    let responses = crowd.expect("who got no connection gets one later");
    assert_eq!(acknowledged(&responses).count(), 200);
    assert_eq!(server.join("after@example.com"), "201");
    for address in acknowledged(&responses) {
        assert_eq!(server.join(address), "409");
    }
}

#[test]
fn does_not_start_without_a_file_descriptor_for_the_list() {
    let sandbox = Sandbox::new();
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 4; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_landing"),
        ])
        .current_dir(sandbox.path())
        .output()
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("Too many open files"), "{stderr}");
}
