//! Standard error is a full pipe that nobody reads, as when a log collector hangs. `log_output` has a full disk.

use std::{
    fs,
    io::{self, BufRead, BufReader, PipeReader, Read, Write},
    net::TcpStream,
    os::{fd::AsFd, unix::net::UnixListener},
    process::Stdio,
    thread,
};

use landing::waitlist::{ListKey, Suppressions};
use rustix::io::{ioctl_fionbio, ioctl_fionread};
use serde_json::json;

use crate::durability::strace::with_fault;
use crate::process::{Sandbox, ServerProcess, landing, signal, wait_for_exit, wait_until};

/// Sends requests until the server's standard error is full.
fn fill_stderr(server: &ServerProcess, log: impl AsFd) {
    let mut unread = 0;
    loop {
        for _ in 0..300 {
            server.request("GET", "/robots.txt", "");
        }
        let before = std::mem::replace(&mut unread, ioctl_fionread(&log).expect("a pipe"));
        if unread > 0 && unread == before {
            return;
        }
    }
}

/// More lines than the pipe and the log queue hold.
const REQUESTS: usize = 15_000;

/// Sends [`REQUESTS`] requests, which make the server log more lines than it can keep.
fn flood(server: &ServerProcess) {
    let request = "GET /robots.txt HTTP/1.1\r\nHost: site\r\n\r\n";
    let last = request.replace("site\r\n", "site\r\nConnection: close\r\n");
    let requests = request.repeat(REQUESTS - 1) + &last;
    let mut stream = TcpStream::connect(&server.addr).expect("the server listens");
    let mut responses = stream.try_clone().expect("a second handle");
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        responses.read_to_end(&mut bytes).map(|_| bytes)
    });
    stream
        .write_all(requests.as_bytes())
        .expect("the server reads");
    let responses = reader.join().expect("no panic").expect("responses");
    let count = String::from_utf8_lossy(&responses)
        .matches("200 OK")
        .count();
    assert_eq!(count, REQUESTS);
}

/// Returns a full pipe for the standard error of a program, and its reading end.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = io::pipe().expect("a pipe");
    ioctl_fionbio(&writer, true).expect("the pipe can be changed");
    while writer.write(&[b'.'; 512]).is_ok() {}
    while writer.write(b".").is_ok() {}
    ioctl_fionbio(&writer, false).expect("the pipe can be changed");
    (reader, writer.into())
}

#[test]
fn store_failure_exits() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let (mut server, log) =
        ServerProcess::start_with_unread_stderr(with_fault(&sandbox, "fdatasync:error=EIO:when=1"));
    fill_stderr(&server, log.get_ref());
    assert_eq!(
        server.join("ann@example.com"),
        "",
        "the sign-up is not acknowledged"
    );
    assert_eq!(server.wait_for_exit(), Some(1));
}

#[test]
fn sigterm_exits() {
    let sandbox = Sandbox::new();
    let (mut server, log) = ServerProcess::start_with_unread_stderr(sandbox.command());
    fill_stderr(&server, log.get_ref());
    flood(&server);
    assert_eq!(server.join("ann@example.com"), "201");
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    assert_eq!(sandbox.serve().join("ann@example.com"), "409");
}

#[test]
fn failed_start_exits() {
    let sandbox = Sandbox::new();
    for (arguments, code) in [
        (["serve", "--addr", "1.2.3.4:5"].as_slice(), 1),
        (&["serve", "--store", "/proc/nowhere"], 1),
    ] {
        let (_unread, full) = full_pipe();
        let mut command = landing(sandbox.path());
        let command = command.args(arguments).stderr(full);
        let mut command = command.spawn().expect("the program starts");
        assert_eq!(wait_for_exit(&mut command), Some(code), "{arguments:?}");
    }
}

/// Returns whether a process has a handler for SIGTERM, number 15.
fn handles_sigterm(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.expect("a mask") & (1 << 14) != 0
}

#[test]
fn interrupted_export_exits() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("data")).expect("writable");
    let server = UnixListener::bind(sandbox.path().join("data/control")).expect("a socket");
    let (_unread, full) = full_pipe();
    let mut export = landing(sandbox.path());
    let export = export.args(["export", "-o", "list.csv"]).stderr(full);
    let mut export = export.spawn().expect("the program starts");
    // The first connection checks that the server runs. The next one asks for the entries.
    drop(server.accept().expect("the command connects"));
    let respond = |line: &[u8]| {
        let (mut connection, _) = server.accept().expect("the command connects again");
        // A request that arrives after the end of the connection would fail.
        let mut request = String::new();
        let read = BufReader::new(&connection).read_line(&mut request);
        read.expect("a request");
        connection.write_all(line).expect("the command reads");
        connection
    };
    let _entries = respond(b"{\"Ok\":3}\n");
    let suppressions = Suppressions::new(ListKey::generate());
    let suppressions = json!({ "Ok": suppressions }).to_string() + "\n";
    drop(respond(suppressions.as_bytes()));
    wait_until("the command handles SIGTERM", || {
        handles_sigterm(export.id())
    });
    signal(export.id(), "-TERM");
    assert_eq!(wait_for_exit(&mut export), Some(1));
}

#[test]
fn reports_dropped_log_lines_when_reading_resumes() {
    for format in ["human", "json"] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command();
        command.args(["--log", format]);
        let (mut server, log) = ServerProcess::start_with_unread_stderr(command);
        fill_stderr(&server, log.get_ref());
        flood(&server);

        let (mut lines, mut dropped) = (0, 0);
        for line in log.lines().map_while(Result::ok) {
            if let Some((before, _)) = line.split_once(" log lines were dropped") {
                let number = before.rsplit(|c: char| !c.is_ascii_digit()).next();
                dropped += number.and_then(|it| it.parse().ok()).unwrap_or(0);
                assert!(line.contains("WARN"), "{line}");
                if format == "json" {
                    serde_json::from_str::<serde_json::Value>(&line).expect("JSON");
                }
                // The server is stopped only now, because the warning must not wait for its end.
                server.signal("-TERM");
            } else if line.contains("answered") {
                lines += 1;
            }
        }
        assert_eq!(server.wait_for_exit(), Some(0));
        assert!(dropped > 0);
        // Each request is a line or counted as dropped, also those that filled the pipe, 300 at a time.
        let requests = lines + dropped;
        assert!(requests > REQUESTS, "{format}: {lines} and {dropped}");
        assert_eq!(
            (requests - REQUESTS) % 300,
            0,
            "{format}: {lines} and {dropped}"
        );
    }
}
