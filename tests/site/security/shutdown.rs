//! Shutdown: requests in progress, acknowledged sign-ups, and the messages to the service manager. `shutdown_grace` has its
//! longest time.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixDatagram,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use landing::waitlist::{OwnerList, Selection, SledWaitlist};

use super::connection_limit::sign_up;
use crate::durability::strace::with_fault;
use crate::process::{Sandbox, ServerProcess, wait_until};

/// Signs up over one connection, with three requests in flight, until the server closes it. Returns the addresses
/// that the server acknowledged. Increments `started_clients` after five of them.
///
/// # Errors
/// A reset, or a truncated response.
fn sign_up_until_closed(
    addr: &str,
    client: usize,
    started_clients: &AtomicUsize,
) -> io::Result<Vec<String>> {
    let mut stream = TcpStream::connect(addr)?;
    let mut responses = BufReader::new(stream.try_clone()?);
    let mut acknowledged = Vec::new();
    let mut sent = 0;
    loop {
        while sent < acknowledged.len() + 3 {
            let request = sign_up(&format!("{client}-{sent}@example.com"));
            // If the server has closed the connection, reading reports it.
            let _ = stream.write_all(request.as_bytes());
            sent += 1;
        }
        let mut line = String::new();
        if responses.read_line(&mut line)? == 0 {
            return Ok(acknowledged);
        }
        assert!(line.starts_with("HTTP/1.1 201 "), "{line}");
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            if responses.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        responses.read_exact(&mut vec![0; length])?;
        acknowledged.push(format!("{client}-{}@example.com", acknowledged.len()));
        if acknowledged.len() == 5 {
            started_clients.fetch_add(1, Ordering::Relaxed);
        }
    }
}

const CLIENTS: usize = 64;

#[test]
fn shutdown_under_load_loses_and_resets_no_sign_up() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve();
    let addr = server.addr.clone();
    let started_clients = AtomicUsize::new(0);
    let acknowledged: Vec<_> = thread::scope(|scope| {
        let (addr, started_clients) = (&addr, &started_clients);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || sign_up_until_closed(addr, client, started_clients)))
            .collect();
        wait_until("every client has five responses", || {
            started_clients.load(Ordering::Relaxed) == CLIENTS
        });
        server.signal("-TERM");
        let results = clients
            .into_iter()
            .map(|client| client.join().expect("no panic"));
        results
            .flat_map(|acknowledged| acknowledged.expect("no reset, and complete responses"))
            .collect()
    });
    assert_eq!(server.wait_for_exit(), Some(0));
    assert!(acknowledged.len() >= 5 * CLIENTS);
    let list = SledWaitlist::open(&sandbox.path().join("data")).expect("the list opens");
    let entries = list.entries(Selection::default()).expect("readable");
    let listed: BTreeSet<_> = entries
        .map(|entry| entry.expect("readable").email.key())
        .collect();
    for email in acknowledged {
        assert!(listed.contains(&email), "{email}");
    }
}

/// Starts a server with a request whose body never arrives completely.
fn server_with_open_request(options: &[&str]) -> (ServerProcess, TcpStream, Sandbox) {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args(options);
    let server = ServerProcess::start(command);
    let mut stream = TcpStream::connect(&server.addr).expect("the server listens");
    let head = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).expect("the server reads");
    // The server has read this request once it responds to a later one.
    server.count();
    (server, stream, sandbox)
}

#[test]
fn aborts_requests_after_the_grace_period_and_logs_it() {
    let (mut server, _stream, _sandbox) = server_with_open_request(&["--shutdown-grace=1"]);
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log_without_requests().join("\n");
    assert!(
        log.contains(
            "some requests or messages took too long and were cut off; raise --shutdown-grace"
        ),
        "{log}"
    );
}

/// Longer than [`TEST_TIMEOUT`]: a test that waits for the grace period fails.
pub(super) const ENDLESS_GRACE: &str = "--shutdown-grace=3600";

#[test]
fn stalled_body_gets_408_and_does_not_hold_the_shutdown() {
    let (mut server, stream, _sandbox) = server_with_open_request(&[ENDLESS_GRACE]);
    server.signal("-TERM");
    let response = io::read_to_string(stream).expect("no reset");
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log_without_requests().join("\n");
    assert!(!log.contains("cut off"), "{log}");
}

#[test]
fn stalled_head_gets_408_and_does_not_hold_the_shutdown() {
    let get = "GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n";
    let form = "POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 0\r\n\r\n";
    for (earlier_request, end) in [("", ""), (get, "\r\n\r\nOK"), (form, "</html>")] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command();
        command.arg(ENDLESS_GRACE);
        let mut server = ServerProcess::start(command);
        let mut stream = TcpStream::connect(&server.addr).expect("the server listens");
        write!(stream, "{earlier_request}").expect("it reads");
        let mut response = Vec::new();
        while !response.ends_with(end.as_bytes()) {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a response");
            response.extend(byte);
        }
        write!(stream, "GET /healthz HTTP/1.1\r\nHo").expect("the server reads");
        server.count();
        server.signal("-TERM");
        let response = io::read_to_string(stream).expect("no reset");
        assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
        // Nobody knows yet what this request is.
        assert!(response.contains("application/json"), "{response}");
        assert_eq!(server.wait_for_exit(), Some(0));
    }
}

#[test]
fn new_connection_without_a_request_does_not_hold_the_shutdown() {
    for options in [&[][..], &["--trusted-proxies=127.0.0.1"]] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command();
        command.args(options).arg(ENDLESS_GRACE);
        let mut server = ServerProcess::start(command);
        let _silent = TcpStream::connect(&server.addr).expect("the server listens");
        server.count();
        server.signal("-TERM");
        assert_eq!(server.wait_for_exit(), Some(0));
    }
}

#[test]
fn request_on_a_new_connection_is_served_during_the_shutdown() {
    for options in [&[][..], &["--trusted-proxies=127.0.0.1"]] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command();
        command.args(options).arg(ENDLESS_GRACE);
        let mut server = ServerProcess::start(command);
        let mut stream = TcpStream::connect(&server.addr).expect("the server listens");
        // The server has accepted this connection once it responds on a later one.
        server.count();
        server.signal("-TERM");
        wait_until("the server no longer listens", || {
            TcpStream::connect(&server.addr).is_err()
        });
        let request = "GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("it reads");
        let response = io::read_to_string(stream).expect("no reset");
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        assert_eq!(server.wait_for_exit(), Some(0));
    }
}

/// While the process is stopped, connections wait in the kernel's queue. When it continues, it may learn of the signal first.
#[test]
fn connection_in_the_queue_of_the_socket_is_served() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve();
    server.signal("-STOP");
    // More than tokio accepts in one go, and fewer than a client may have.
    let streams: Vec<_> = (0..95)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.addr).expect("the server listens");
            let request = "GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n";
            stream.write_all(request.as_bytes()).expect("open");
            stream
        })
        .collect();
    server.signal("-TERM");
    server.signal("-CONT");
    for stream in streams {
        let response = io::read_to_string(stream).expect("no reset");
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    }
    assert_eq!(server.wait_for_exit(), Some(0));
}

/// The connections that are open are idle, so they are closed to make room.
#[test]
fn connection_in_the_queue_is_served_at_the_limit_of_connections() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args(["--max-connections", "10"]);
    let mut server = ServerProcess::start(command);
    let connect = || TcpStream::connect(&server.addr).expect("the server listens");
    let idle: Vec<_> = (0..10).map(|_| connect()).collect();
    let mut last = connect();
    last.write_all(b"GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n")
        .expect("open");
    server.signal("-TERM");
    let response = io::read_to_string(last).expect("no reset");
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    drop(idle);
    assert_eq!(server.wait_for_exit(), Some(0));
}

/// Clients that do not read hold all places that one address may have, and a sign-up of that address waits.
#[test]
fn waiting_sign_up_gets_a_place_during_the_shutdown() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args(["--max-connections", "64", ENDLESS_GRACE]);
    let mut server = ServerProcess::start(command);
    let connect = || TcpStream::connect(&server.addr).expect("the server listens");
    // More responses than the kernel's buffers take.
    let requests = "GET / HTTP/1.1\r\nHost: site\r\n\r\n".repeat(400);
    let readers: Vec<_> = (0..56)
        .map(|_| {
            let mut stream = connect();
            stream.write_all(requests.as_bytes()).expect("it is read");
            stream
        })
        .collect();
    let mut waiting = connect();
    let request = sign_up("ann@example.com");
    waiting.write_all(request.as_bytes()).expect("open");
    // Until the buffers are full.
    thread::sleep(Duration::from_millis(800));
    server.signal("-TERM");
    let response = io::read_to_string(waiting).expect("no reset");
    assert!(response.starts_with("HTTP/1.1 201 "), "{response}");
    drop(readers);
    assert_eq!(server.wait_for_exit(), Some(0));
}

/// The first sync takes six seconds, longer than a request may take to arrive during a shutdown.
#[cfg(target_os = "linux")]
#[test]
fn sign_up_that_waits_for_the_store_is_finished() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let mut command = with_fault(&sandbox, "fdatasync:delay_enter=6000000:when=1");
    command.arg(ENDLESS_GRACE);
    let mut server = ServerProcess::start(command);
    let mut stream = TcpStream::connect(&server.addr).expect("the server listens");
    let request = sign_up("ann@example.com");
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    server.count();
    server.signal("-TERM");
    let response = io::read_to_string(stream).expect("no reset");
    assert!(response.starts_with("HTTP/1.1 201 "), "{response}");
    assert_eq!(server.wait_for_exit(), Some(0));
}

#[test]
fn notifies_systemd_when_ready_and_stopping() {
    let sandbox = Sandbox::new();
    let socket = sandbox.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a time");
    let next_message = || {
        let mut message = [0; 100];
        let length = manager.recv(&mut message).expect("a message");
        String::from_utf8_lossy(&message[..length])
            .trim()
            .to_owned()
    };
    let mut command = sandbox.command();
    command.env("NOTIFY_SOCKET", &socket);
    let mut server = ServerProcess::start(command);
    assert_eq!(next_message(), "READY=1");
    server.signal("-TERM");
    assert_eq!(next_message(), "STOPPING=1");
    assert_eq!(server.wait_for_exit(), Some(0));
}
