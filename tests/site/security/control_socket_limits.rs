//! The control socket: incomplete, large and many requests.

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use crate::{
    ended::RunToEnd,
    process::{Sandbox, ServerProcess, TEST_TIMEOUT, landing, landing_after},
};

fn socket(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("data/control")
}

fn connect(sandbox: &Sandbox) -> UnixStream {
    UnixStream::connect(socket(sandbox)).expect("the server listens")
}

fn assert_counts(sandbox: &Sandbox) {
    let counted = landing(sandbox.path()).arg("count").run().success();
    assert_eq!(counted.stdout(), "0\n");
}

/// Returns how many files the server has open.
fn open_files(server: &ServerProcess) -> usize {
    let process = Path::new("/proc").join(server.child.id().to_string());
    fs::read_dir(process.join("fd")).expect("Linux").count()
}

#[test]
fn incomplete_request_times_out() {
    let sandbox = Sandbox::new();
    let _server = sandbox.serve();
    // Both connections wait for the timeout at the same time.
    let connections = ["", "{\"protocol\":1,"].map(|incomplete| {
        let mut stream = connect(&sandbox);
        stream
            .set_read_timeout(Some(TEST_TIMEOUT))
            .expect("a timeout");
        stream
            .write_all(incomplete.as_bytes())
            .expect("the server reads");
        stream
    });
    for mut stream in connections {
        let mut response = String::new();
        stream
            .read_to_string(&mut response)
            .expect("the server closes the connection");
    }
    assert_counts(&sandbox);
}

#[test]
fn limits_concurrent_connections() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    let before = open_files(&server);
    let idle: Vec<_> = (0..100).map(|_| connect(&sandbox)).collect();
    // Once the server responds to later requests, it has handled these connections.
    for _ in 0..100 {
        server.count();
    }
    let opened = open_files(&server).saturating_sub(before);
    assert!(opened <= 20, "{opened} files for 100 connections");
    drop(idle);
    assert_counts(&sandbox);
}

#[test]
fn rejects_requests_larger_than_a_mebibyte() {
    let sandbox = Sandbox::new();
    let _server = sandbox.serve();
    let mut stream = connect(&sandbox);
    stream
        .set_write_timeout(Some(TEST_TIMEOUT))
        .expect("a timeout");
    // The server responds without reading the rest.
    let written = stream.write_all(&vec![b' '; 3 << 20]);
    assert!(written.is_err());
    assert_counts(&sandbox);
}

/// Starts the server, which may open 100 files.
fn serve_with_100_files(sandbox: &Sandbox) -> ServerProcess {
    ServerProcess::start(sandbox.wrapped_command(landing_after("ulimit -n 100")))
}

#[test]
fn reserves_file_descriptors_for_commands() {
    let sandbox = Sandbox::new();
    let mut server = serve_with_100_files(&sandbox);
    let lowered = |line: &String| line.contains("WARN") && line.contains("--max-connections");
    assert!(
        server.startup_log.iter().any(lowered),
        "{:?}",
        server.startup_log
    );
    let connect = || std::net::TcpStream::connect(&server.addr).expect("the server listens");
    let connections: Vec<_> = (0..100).map(|_| connect()).collect();
    let mut polls = 0;
    while open_files(&server) < 40 && polls < 600 {
        polls += 1;
        thread::sleep(Duration::from_millis(100));
    }
    assert_counts(&sandbox);
    drop(connections);
    assert_eq!(server.join("ann@example.com"), "201");
    let log = server.stop();
    let failed = |line: &&String| line.contains("cannot accept connections");
    assert_eq!(log.iter().filter(failed).count(), 0, "{log:?}");
}

#[test]
fn logs_a_file_descriptor_shortage_once_a_minute() {
    let sandbox = Sandbox::new();
    let mut server = serve_with_100_files(&sandbox);
    let set_limit = |files: &str| {
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &server.child.id().to_string(), files]);
        assert!(prlimit.status().expect("prlimit runs").success());
    };
    // The server already has more files open.
    set_limit("--nofile=5:");
    let waiting = std::net::TcpStream::connect(&server.addr).expect("the server listens");
    // The server retries every second, so it fails several times.
    thread::sleep(Duration::from_millis(2_500));
    set_limit("--nofile=100:");
    drop(waiting);
    assert_eq!(server.join("ann@example.com"), "201");
    let log = server.stop();
    let failed = |line: &&String| line.contains("cannot accept connections");
    assert_eq!(log.iter().filter(failed).count(), 1, "{log:?}");
}
