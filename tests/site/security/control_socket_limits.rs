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

use crate::process::{Place, Running};

fn socket(place: &Place) -> PathBuf {
    place.path().join("data/control")
}

fn connect(place: &Place) -> UnixStream {
    UnixStream::connect(socket(place)).expect("it listens")
}

/// Runs `landing count`.
fn count(place: &Place) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.arg("count").env_clear().current_dir(place.path());
    command.output().expect("it runs")
}

fn assert_counts(place: &Place) {
    let output = count(place);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n", "{said}");
}

/// How many files the server has open.
fn open_files(server: &Running) -> usize {
    let files = Path::new("/proc").join(server.child.id().to_string());
    fs::read_dir(files.join("fd")).expect("Linux").count()
}

#[test]
fn a_request_that_does_not_end_is_not_waited_for() {
    let place = Place::new();
    let _server = place.serve();
    for begun in ["", "{\"protocol\":1,"] {
        let mut slow = connect(&place);
        let limit = Some(Duration::from_secs(60));
        slow.set_read_timeout(limit).expect("a limit");
        slow.write_all(begun.as_bytes()).expect("it reads");
        let mut answer = String::new();
        slow.read_to_string(&mut answer)
            .expect("the server ends it");
    }
    assert_counts(&place);
}

#[test]
fn a_few_connections_are_served_at_once_and_the_others_wait() {
    let place = Place::new();
    let server = place.serve();
    let before = open_files(&server);
    let idle: Vec<_> = (0..100).map(|_| connect(&place)).collect();
    // The server has seen them once it answers later requests.
    for _ in 0..100 {
        server.count();
    }
    let taken = open_files(&server).saturating_sub(before);
    assert!(taken <= 20, "{taken} files for 100 connections");
    drop(idle);
    assert_counts(&place);
}

#[test]
fn a_request_is_at_most_a_mebibyte() {
    let place = Place::new();
    let _server = place.serve();
    let mut large = connect(&place);
    let limit = Some(Duration::from_secs(60));
    large.set_write_timeout(limit).expect("a limit");
    // The server answers without reading the rest.
    let written = large.write_all(&vec![b' '; 3 << 20]);
    assert!(written.is_err());
    assert_counts(&place);
}

#[test]
fn a_socket_that_is_another_servers_stays() {
    let place = Place::new();
    let mut server = place.serve();
    fs::remove_file(socket(&place)).expect("ours");
    let _other = UnixListener::bind(socket(&place)).expect("a socket");
    let inode = || fs::metadata(socket(&place)).map(|file| file.ino()).ok();
    let bound = inode();
    server.signal("-TERM");
    assert_eq!(server.ended(), Some(0));
    assert!(bound.is_some());
    assert_eq!(inode(), bound);
}

#[test]
fn a_socket_on_which_another_listens_is_not_taken() {
    let place = Place::new();
    fs::create_dir(place.path().join("data")).expect("writable");
    let other = UnixListener::bind(socket(&place)).expect("a socket");
    let mut server = place.serve();
    let warned = |line: &String| line.contains("the owner's commands can't be answered");
    assert!(server.said.iter().any(warned), "{:?}", server.said);
    assert_eq!(server.join("ann@example.com"), "201");
    server.signal("-TERM");
    assert_eq!(server.ended(), Some(0));
    assert!(socket(&place).exists());
    other.set_nonblocking(true).expect("it can be changed");
    while other.accept().is_ok() {}
    drop(connect(&place));
    assert!(other.accept().is_ok(), "it is as it was");
}

/// The program with a limit on open files.
fn with_files(place: &Place, files: u32) -> Running {
    let mut command = Command::new("sh");
    let limit = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    command.args(["-c", &limit, env!("CARGO_BIN_EXE_landing")]);
    Running::start(place.called_by(command))
}

#[test]
fn visitors_leave_files_for_the_owner() {
    let place = Place::new();
    let mut server = with_files(&place, 100);
    let lowered = |line: &String| line.contains("WARN") && line.contains("--max-connections");
    assert!(server.said.iter().any(lowered), "{:?}", server.said);
    let crowd = || std::net::TcpStream::connect(&server.addr).expect("it listens");
    let crowd: Vec<_> = (0..100).map(|_| crowd()).collect();
    let mut stuck = 0;
    while open_files(&server) < 40 && stuck < 600 {
        stuck += 1;
        thread::sleep(Duration::from_millis(100));
    }
    assert_counts(&place);
    drop(crowd);
    assert_eq!(server.join("ann@example.com"), "201");
    server.signal("-TERM");
    assert_eq!(server.ended(), Some(0));
    let log = server.log();
    let failed = |line: &&String| line.contains("can be accepted");
    assert_eq!(log.iter().filter(failed).count(), 0, "{log:?}");
}

#[test]
fn a_shortage_of_files_is_logged_once_a_minute() {
    let place = Place::new();
    let mut server = with_files(&place, 100);
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
    assert_eq!(server.ended(), Some(0));
    let log = server.log();
    let failed = |line: &&String| line.contains("can be accepted");
    assert_eq!(log.iter().filter(failed).count(), 1, "{log:?}");
}
