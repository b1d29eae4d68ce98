//! Starts the program and stops it. `http/starts.txt` has what failing starts print.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Stdio,
    thread,
    time::Duration,
};

use crate::{
    durability::strace::with_fault,
    ended::RunToEnd,
    postgres_server::free_port,
    process::{Sandbox, ServerProcess, landing, signal, wait_until},
};

/// If the kernel's queue were full, it would ignore their SYN, and they would repeat it after a second.
#[test]
fn connections_wait_while_a_new_list_is_created() {
    let sandbox = Sandbox::new();
    let addr = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let connect = || TcpStream::connect_timeout(&addr, Duration::from_secs(3));
    let data = sandbox.path().join("data");
    fs::create_dir(&data).expect("writable");
    let lock = File::create(data.join("lock")).expect("writable");
    lock.lock().expect("a free lock");
    let mut start = landing(sandbox.path());
    start.args(["--addr", &addr.to_string()]);
    let child = start.stderr(Stdio::piped()).spawn();
    let child = child.expect("the program starts");
    let mut connections = Vec::new();
    wait_until("the program listens", || {
        connections.extend(connect());
        !connections.is_empty()
    });
    // All before the program continues.
    let others: Vec<_> = (0..3).map(|_| connect()).collect();
    drop(lock);
    let _server = ServerProcess::from_child(child);
    connections.extend(others.into_iter().map(|it| it.expect("the queue has room")));
    for mut connection in connections {
        let request = b"GET /healthz HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n";
        connection.write_all(request).expect("connected");
        let mut response = String::new();
        connection.read_to_string(&mut response).expect("connected");
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
}

/// Starts a fake database that rejects each login with an error of this code. Returns its URL.
fn rejecting_database(code: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("a bound socket");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let fields = format!("SFATAL\0VFATAL\0C{code}\0Mgo away\0\0");
            let length = (fields.len() + 4) as u32;
            let mut login = [0; 1024];
            let _ = stream.read(&mut login);
            let _ = stream.write_all(b"E");
            let _ = stream.write_all(&length.to_be_bytes());
            let _ = stream.write_all(fields.as_bytes());
        }
    });
    format!("postgres://owner:secret@{addr}/list?sslmode=disable")
}

#[test]
fn reports_a_malformed_database_error_code() {
    let sandbox = Sandbox::new();
    let assert_reported = |code: &'static str| {
        let mut command = landing(sandbox.path());
        command.args(["count", "--store", &rejecting_database(code)]);
        let stderr = command.run().failure().stderr();
        assert!(stderr.contains("127.0.0.1:"), "{code}: {stderr}");
        assert!(!stderr.contains("panicked"), "{code}: {stderr}");
    };
    // Each command retries for 15 seconds.
    thread::scope(|scope| {
        for code in ["", "4", "42", "é", "1é2"] {
            scope.spawn(move || assert_reported(code));
        }
    });
}

/// Two servers that start at the same time can both bind their sockets to an address, but only one can listen.
#[test]
fn start_that_loses_the_race_for_an_address_creates_no_list() {
    let sandbox = Sandbox::new();
    let mut start = with_fault(&sandbox, "listen:error=EADDRINUSE");
    let error = start.run().failure().stderr();
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
        let error = start.run().failure().stderr();
        assert!(error.contains("No space left on device"), "{error}");
        assert_eq!(data.exists(), !is_directory_new, "{error}");
        if !is_directory_new {
            assert_eq!(fs::read_dir(&data).expect("readable").count(), 0, "{error}");
        }
        // With room on the disk, it starts.
        assert_eq!(sandbox.serve().join("ann@example.com"), "201");
    }
}

/// A script may start the new server before the old one has stopped.
#[test]
fn new_server_waits_for_the_address_and_the_list_of_the_old_one() {
    let sandbox = Sandbox::new();
    let mut old = sandbox.serve();
    assert_eq!(old.join("ann@example.com"), "201");
    let mut new = landing(sandbox.path());
    let new = new
        .args(["--addr", &old.addr])
        .stderr(Stdio::piped())
        .spawn();
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
