//! Shutdown: requests in progress, acknowledged sign-ups, and the messages to the service manager. `shutdown_grace` has its
//! longest time.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use landing::waitlist::{OwnerList, Selection, SledWaitlist};

use super::connection_limit::sign_up;
use crate::durability::{strace::with_fault, watchdog::ServiceManager};
use crate::process::{Sandbox, ServerProcess, TEST_TIMEOUT, wait_until};

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

const GET: &str = "GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n";

/// A sign-up whose body never arrives completely.
const HALF_A_SIGN_UP: &str = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\n\
    Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";

/// Longer than [`TEST_TIMEOUT`](crate::process::TEST_TIMEOUT): a test that waits for the grace period fails.
pub(super) const ENDLESS_GRACE: &str = "--shutdown-grace=3600";

/// Checks that the server sends a response with this status, and closes the connection without a reset. Returns the response.
fn assert_response(stream: TcpStream, status: u16) -> String {
    let response = io::read_to_string(stream).expect("no reset");
    let is_right = response.starts_with(&format!("HTTP/1.1 {status} "));
    assert!(is_right, "not {status}: {response}");
    response
}

#[test]
fn signals_finish_open_requests_and_exit_0() {
    for signal in ["-TERM", "-INT"] {
        let sandbox = Sandbox::new();
        let mut server = sandbox.serve();
        let request = sign_up("ann@example.com");
        let (begin, end) = request.split_at(request.len() - 10);
        let mut stream = server.send(begin);
        // Once the server responds to a later request, it has started to read this one.
        server.count();
        server.signal(signal);
        server.wait_until_stopping();
        stream
            .write_all(end.as_bytes())
            .expect("the server still reads");
        assert_response(stream, 201);
        assert_eq!(server.wait_for_exit(), Some(0), "{signal}");
        let log = server.log();
        let last = log.last().expect("a line");
        let is_told = last.ends_with("stopped; every acknowledged sign-up is stored");
        assert!(is_told, "{signal}: {last}");
        assert_eq!(sandbox.serve().count(), 1, "{signal}");
    }
}

#[test]
fn aborts_requests_after_the_grace_period_and_logs_it() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve_with(&["--shutdown-grace=1"]);
    let _stream = server.send(HALF_A_SIGN_UP);
    server.count();
    let log = server.stop().join("\n");
    let reported =
        "some requests or messages took too long and were cut off; raise --shutdown-grace";
    assert!(log.contains(reported), "{log}");
}

#[test]
fn stalled_body_gets_408_and_does_not_hold_the_shutdown() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve_with(&[ENDLESS_GRACE]);
    let stream = server.send(HALF_A_SIGN_UP);
    server.count();
    let log = server.stop().join("\n");
    assert_response(stream, 408);
    assert!(!log.contains("cut off"), "{log}");
}

#[test]
fn stalled_head_gets_408_and_does_not_hold_the_shutdown() {
    let form = "POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 0\r\n\r\n";
    for (earlier_request, end) in [("", ""), (GET, "\r\n\r\nOK"), (form, "</html>")] {
        let sandbox = Sandbox::new();
        let mut server = sandbox.serve_with(&[ENDLESS_GRACE]);
        let mut stream = server.send(earlier_request);
        let mut response = Vec::new();
        while !response.ends_with(end.as_bytes()) {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a response");
            response.extend(byte);
        }
        write!(stream, "GET /healthz HTTP/1.1\r\nHo").expect("the server reads");
        server.count();
        server.stop();
        // Nobody knows yet what this request is.
        let response = assert_response(stream, 408);
        assert!(response.contains("application/json"), "{response}");
    }
}

#[test]
fn new_connection_does_not_hold_the_shutdown_and_its_request_is_served() {
    for options in [&[][..], &["--trusted-proxies=127.0.0.1"]] {
        let sandbox = Sandbox::new();
        let mut server = sandbox.serve_with(&[options, &[ENDLESS_GRACE]].concat());
        let [_silent, mut stream] = [(); 2].map(|()| server.send(""));
        // The server has accepted these connections once it responds on a later one.
        server.count();
        server.signal("-TERM");
        server.wait_until_stopping();
        stream.write_all(GET.as_bytes()).expect("it reads");
        assert_response(stream, 200);
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
    let streams: Vec<_> = (0..95).map(|_| server.send(GET)).collect();
    server.signal("-TERM");
    server.signal("-CONT");
    for stream in streams {
        assert_response(stream, 200);
    }
    assert_eq!(server.wait_for_exit(), Some(0));
}

/// The connections that are open are idle, so they are closed to make room.
#[test]
fn connection_in_the_queue_is_served_at_the_limit_of_connections() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve_with(&["--max-connections=10"]);
    let idle: Vec<_> = (0..10).map(|_| server.send("")).collect();
    let last = server.send(GET);
    server.signal("-TERM");
    assert_response(last, 200);
    drop(idle);
    assert_eq!(server.wait_for_exit(), Some(0));
}

/// Clients that do not read hold all places that one address may have, and a sign-up of that address waits.
#[test]
fn waiting_sign_up_gets_a_place_during_the_shutdown() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve_with(&["--max-connections=64", ENDLESS_GRACE]);
    // More responses than the kernel's buffers take.
    let requests = "GET / HTTP/1.1\r\nHost: site\r\n\r\n".repeat(400);
    let readers: Vec<_> = (0..56).map(|_| server.send(&requests)).collect();
    let waiting = server.send(&sign_up("ann@example.com"));
    // Until the buffers are full.
    thread::sleep(Duration::from_millis(800));
    server.signal("-TERM");
    assert_response(waiting, 201);
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
    let stream = server.send(&sign_up("ann@example.com"));
    server.count();
    server.stop();
    assert_response(stream, 201);
}

#[cfg(target_os = "linux")]
#[test]
fn notifies_systemd_when_ready_and_stopping() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    let manager = ServiceManager::supervise(&sandbox, &mut command, TEST_TIMEOUT);
    let mut server = ServerProcess::start(command);
    assert!(manager.receives("READY=1", TEST_TIMEOUT));
    server.stop();
    assert!(manager.receives("STOPPING=1", TEST_TIMEOUT));
}
