//! The control socket: connections that ask for nothing or too much, and who removes its file.

use std::{
    fs,
    io::{Read, Write},
    os::unix::{
        fs::MetadataExt,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::Duration,
};

use crate::process::{Sandbox, ServerProcess};

fn socket(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("data/control")
}

fn connect(sandbox: &Sandbox) -> UnixStream {
    UnixStream::connect(socket(sandbox)).expect("it listens")
}

/// Runs `landing count`.
fn count(sandbox: &Sandbox) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.arg("count").env_clear().current_dir(sandbox.path());
    command.output().expect("it runs")
}

fn assert_counts(sandbox: &Sandbox) {
    let output = count(sandbox);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n", "{stderr}");
}

/// How many files the server has open.
fn open_files(server: &ServerProcess) -> usize {
    let files = Path::new("/proc").join(server.child.id().to_string());
    fs::read_dir(files.join("fd")).expect("Linux").count()
}

#[test]
fn incomplete_request_times_out() {
    let sandbox = Sandbox::new();
    let _server = sandbox.serve();
    for begun in ["", "{\"protocol\":1,"] {
        let mut slow = connect(&sandbox);
        let limit = Some(Duration::from_secs(60));
        slow.set_read_timeout(limit).expect("a limit");
        slow.write_all(begun.as_bytes()).expect("it reads");
        let mut response = String::new();
        slow.read_to_string(&mut response)
            .expect("the server ends it");
    }
    assert_counts(&sandbox);
}

#[test]
fn limits_concurrent_connections() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    let before = open_files(&server);
    let idle: Vec<_> = (0..100).map(|_| connect(&sandbox)).collect();
    // The server has seen them once it answers later requests.
    for _ in 0..100 {
        server.count();
    }
    let taken = open_files(&server).saturating_sub(before);
    assert!(taken <= 20, "{taken} files for 100 connections");
    drop(idle);
    assert_counts(&sandbox);
}

#[test]
fn rejects_requests_larger_than_a_mebibyte() {
    let sandbox = Sandbox::new();
    let _server = sandbox.serve();
    let mut large = connect(&sandbox);
    let limit = Some(Duration::from_secs(60));
    large.set_write_timeout(limit).expect("a limit");
    // The server answers without reading the rest.
    let written = large.write_all(&vec![b' '; 3 << 20]);
    assert!(written.is_err());
    assert_counts(&sandbox);
}

#[test]
fn shutdown_keeps_another_servers_socket() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve();
    fs::remove_file(socket(&sandbox)).expect("ours");
    let _other = UnixListener::bind(socket(&sandbox)).expect("a socket");
    let inode = || fs::metadata(socket(&sandbox)).map(|file| file.ino()).ok();
    let bound = inode();
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    assert!(bound.is_some());
    assert_eq!(inode(), bound);
}

#[test]
fn does_not_take_over_a_socket_in_use() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("data")).expect("writable");
    let other = UnixListener::bind(socket(&sandbox)).expect("a socket");
    let mut server = sandbox.serve();
    let warned = |line: &String| line.contains("the owner's commands can't be answered");
    assert!(
        server.startup_log.iter().any(warned),
        "{:?}",
        server.startup_log
    );
    assert_eq!(server.join("ann@example.com"), "201");
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    assert!(socket(&sandbox).exists());
    other.set_nonblocking(true).expect("it can be changed");
    while other.accept().is_ok() {}
    drop(connect(&sandbox));
    assert!(other.accept().is_ok(), "it is as it was");
}

/// The program with a limit on open files.
fn serve_with_file_limit(sandbox: &Sandbox, files: u32) -> ServerProcess {
    let mut command = Command::new("sh");
    let limit = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    command.args(["-c", &limit, env!("CARGO_BIN_EXE_landing")]);
    ServerProcess::start(sandbox.wrapped_command(command))
}

#[test]
fn reserves_file_descriptors_for_commands() {
    let sandbox = Sandbox::new();
    let mut server = serve_with_file_limit(&sandbox, 100);
    let lowered = |line: &String| line.contains("WARN") && line.contains("--max-connections");
    assert!(
        server.startup_log.iter().any(lowered),
        "{:?}",
        server.startup_log
    );
    let crowd = || std::net::TcpStream::connect(&server.addr).expect("it listens");
    let crowd: Vec<_> = (0..100).map(|_| crowd()).collect();
    let mut stuck = 0;
    while open_files(&server) < 40 && stuck < 600 {
        stuck += 1;
        thread::sleep(Duration::from_millis(100));
    }
    assert_counts(&sandbox);
    drop(crowd);
    assert_eq!(server.join("ann@example.com"), "201");
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log();
    let failed = |line: &&String| line.contains("can be accepted");
    assert_eq!(log.iter().filter(failed).count(), 0, "{log:?}");
}

#[test]
fn logs_a_file_descriptor_shortage_once_a_minute() {
    let sandbox = Sandbox::new();
    let mut server = serve_with_file_limit(&sandbox, 100);
    let limit = |files: &str| {
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &server.child.id().to_string(), files]);
        assert!(prlimit.status().expect("prlimit runs").success());
    };
    // Below what it has open already.
    limit("--nofile=5:");
    let connect = || std::net::TcpStream::connect(&server.addr).expect("it listens");
    let waiting = connect();
    thread::sleep(Duration::from_secs(4));
    limit("--nofile=100:");
    drop(waiting);
    assert_eq!(server.join("ann@example.com"), "201");
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log();
    let failed = |line: &&String| line.contains("can be accepted");
    assert_eq!(log.iter().filter(failed).count(), 1, "{log:?}");
}
