//! The lines of the log: which ones there are, and that none is lost unnoticed when standard error is a file that
//! logrotate truncates, a disk that fills up, or a pipe whose reader restarts.

use std::{
    fs::{self, File},
    io::{self, BufReader, Write},
    net::TcpStream,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use serde_json::Value;

use crate::durability::strace::with_fault;
use crate::postgres_server::free_port;
use crate::process::{
    Sandbox, ServerProcess, landing, landing_after, signal, wait_for_exit, wait_until,
};

/// The store's first sync takes 11 seconds, so it is not ready in time.
#[test]
fn logs_failed_health_checks() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let mut server = ServerProcess::start(with_fault(
        &sandbox,
        "fdatasync:delay_enter=11000000:when=1",
    ));
    thread::scope(|scope| {
        scope.spawn(|| server.join("ann@example.com"));
        wait_until("the store is not ready", || {
            let response = server.request("GET", "/readyz", "");
            response.starts_with("HTTP/1.1 503 ")
        });
    });
    let log = server.stop().join("\n");
    assert!(log.contains("route=\"/readyz\" status=503"), "{log}");
}

#[test]
fn log_level_selects_the_lines() {
    for (level, expected) in [("error", &[][..]), ("warn", &["--origin is not set"])] {
        let sandbox = Sandbox::new();
        let port = free_port();
        let mut command = landing(sandbox.path());
        command.args(["--log-level", level]);
        command.args(["--addr", &format!("127.0.0.1:{port}")]);
        let log = sandbox.path().join("log");
        command.stderr(File::create(&log).expect("writable"));
        let mut server = command.spawn().expect("the program starts");
        // With a new list, connections wait until it is open. Only a response shows that the server has started.
        wait_until("the server responds", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok_and(|mut stream| {
                let request = b"GET /healthz HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n";
                let response = stream
                    .write_all(request)
                    .and_then(|()| io::read_to_string(stream));
                response.is_ok_and(|response| response.starts_with("HTTP/1.1 200"))
            })
        });
        signal(server.id(), "-TERM");
        assert_eq!(wait_for_exit(&mut server), Some(0));
        let log = fs::read_to_string(log).expect("readable");
        assert_eq!(log.lines().count(), expected.len(), "{level}: {log}");
        assert!(expected.iter().all(|part| log.contains(part)), "{log}");
    }
}

/// Starts a server that writes JSON lines to an existing file, which is not opened for appending.
fn serve_with_log_file(mut command: Command, log: &Path) -> ServerProcess {
    let file = File::options().write(true).open(log);
    command.args(["--log", "json"]);
    command.stderr(file.expect("writable"));
    ServerProcess::start_with_log_file(command, log)
}

/// Creates an empty log file.
fn create_log(sandbox: &Sandbox) -> PathBuf {
    let log = sandbox.path().join("log");
    fs::write(&log, "").expect("writable");
    log
}

fn send_requests(server: &ServerProcess, requests: usize) {
    for _ in 0..requests {
        assert!(server.request("GET", "/robots.txt", "").contains(" 200 "));
    }
}

/// Returns how many requests a log has, and how many lost lines it reports. Each line must be JSON, except one that a
/// full disk cut.
fn logged_and_reported(log: &Path) -> (usize, usize) {
    let (mut logged, mut reported, mut cut) = (0, 0, 0);
    for line in fs::read_to_string(log).expect("readable").lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            cut += 1;
            assert!(cut == 1 && line.matches("timestamp").count() < 2, "{line}");
            continue;
        };
        let message = line["message"].as_str().expect("a message");
        if let Some((number, _)) = message.split_once(" log lines were dropped") {
            reported += number.parse::<usize>().expect("a number");
        }
        logged += usize::from(message == "answered");
    }
    (logged, reported)
}

#[test]
fn truncated_log_file_continues_at_its_start() {
    let sandbox = Sandbox::new();
    let log = create_log(&sandbox);
    let server = serve_with_log_file(sandbox.command(), &log);
    let lines = || fs::read_to_string(&log).expect("readable").lines().count();
    let before = lines();
    send_requests(&server, 10);
    wait_until("ten requests are logged", || lines() == before + 10);
    // As `copytruncate` of logrotate does.
    let file = File::options().write(true).open(&log).expect("writable");
    file.set_len(0).expect("writable");
    send_requests(&server, 3);
    wait_until("three requests are logged", || lines() == 3);
    assert_eq!(logged_and_reported(&log), (3, 0));
}

/// Renaming the file without a signal: the server continues in the renamed file.
#[test]
fn renamed_log_file_loses_no_line() {
    let sandbox = Sandbox::new();
    let log = create_log(&sandbox);
    let mut server = serve_with_log_file(sandbox.command(), &log);
    send_requests(&server, 5);
    let renamed = sandbox.path().join("log.1");
    fs::rename(&log, &renamed).expect("permitted");
    send_requests(&server, 5);
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    assert_eq!(logged_and_reported(&renamed), (10, 0));
}

/// The maximum size of a file in the tests below, in bytes. The store needs half of it.
const DISK_BYTES: usize = 1 << 20;
/// More requests than the log has room for.
const REQUESTS: usize = 60;

/// Starts a server whose log fills its disk, and sends [`REQUESTS`]. Instead of a full disk, a limit on the file size
/// stops the writes.
fn serve_on_full_disk(sandbox: &Sandbox, log: &Path) -> ServerProcess {
    let earlier = format!("{{\"message\":\"{}\"}}\n", "x".repeat(DISK_BYTES - 3_000));
    fs::write(log, earlier).expect("writable");
    let limited = format!("ulimit -S -f {}", DISK_BYTES / 512);
    let command = sandbox.wrapped_command(landing_after(&limited));
    let server = serve_with_log_file(command, log);
    send_requests(&server, REQUESTS);
    wait_until("the disk is full", || {
        fs::metadata(log).expect("a file").len() == DISK_BYTES as u64
    });
    // It must not try to write for ever.
    wait_until("the server is idle", || server.is_idle());
    server
}

fn free_disk(server: &ServerProcess) {
    let mut prlimit = Command::new("prlimit");
    prlimit.args(["--fsize=unlimited:unlimited", "--pid"]);
    let status = prlimit.arg(server.child.id().to_string()).status();
    assert!(status.expect("prlimit runs").success());
}

#[test]
fn lines_after_a_full_disk_are_whole_and_the_lost_ones_are_reported() {
    let sandbox = Sandbox::new();
    let log = sandbox.path().join("log");
    let mut server = serve_on_full_disk(&sandbox, &log);
    free_disk(&server);
    let mut requests = REQUESTS;
    wait_until("the lost lines are reported", || {
        send_requests(&server, 1);
        requests += 1;
        logged_and_reported(&log).1 > 0
    });
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let (logged, reported) = logged_and_reported(&log);
    assert_eq!(logged + reported, requests);
}

#[test]
fn lines_lost_before_the_end_are_reported() {
    let sandbox = Sandbox::new();
    let log = sandbox.path().join("log");
    let mut server = serve_on_full_disk(&sandbox, &log);
    free_disk(&server);
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let (logged, reported) = logged_and_reported(&log);
    assert!(reported > 0);
    assert_eq!(logged + reported, REQUESTS);
}

/// A named pipe keeps working when its reader restarts.
#[test]
fn lines_without_a_reader_of_the_pipe_are_reported_to_the_next_reader() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let open_reader = || {
        let pipe = pipe.clone();
        thread::spawn(move || BufReader::new(File::open(pipe).expect("a pipe")))
    };
    let reader = open_reader();
    let mut command = sandbox.command();
    let writer = File::options().write(true).open(&pipe);
    command.args(["--log", "json"]);
    command.stderr(writer.expect("a pipe"));
    let child = command.spawn().expect("the program starts");
    // The test must not keep the pipe open.
    drop(command);
    let mut reader = reader.join().expect("no panic");
    let mut server = ServerProcess::wait_until_serving(child, &mut reader);
    drop(reader);
    // Another test may have started a program, which holds a copy of the reader for a moment.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    wait_until("nobody reads the pipe", || {
        let mut writer = File::options();
        writer
            .write(true)
            .custom_flags(nonblocking)
            .open(&pipe)
            .is_err()
    });
    send_requests(&server, 20);
    // The lines are lost when the thread of the log writes them, which may be later.
    wait_until("the server is idle", || server.is_idle());
    let mut reader = open_reader().join().expect("no panic");
    let log = sandbox.path().join("log");
    let path = log.clone();
    let copying = thread::spawn(move || {
        let mut file = File::create(path).expect("writable");
        io::copy(&mut reader, &mut file).expect("readable")
    });
    send_requests(&server, 1);
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    copying.join().expect("no panic");
    let (logged, reported) = logged_and_reported(&log);
    assert!(reported > 0, "{logged} lines are in the log");
    assert_eq!(logged + reported, 21);
}
