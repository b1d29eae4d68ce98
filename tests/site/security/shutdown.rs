//! The end of the program: what is under way, what was promised, and who waits for it.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixDatagram,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use landing::waitlist::{Selection, SledWaitlist, Waitlist};

use crate::process::{Sandbox, ServerProcess, wait_until};

/// Keeps signing up over one connection, two requests ahead of the responses, until the server ends it.
/// Returns who was told to be on the list, and counts itself when those are five.
///
/// # Errors
/// A reset, or a response that breaks off.
fn sign_up_until_it_ends(
    addr: &str,
    client: usize,
    answered: &AtomicUsize,
) -> io::Result<Vec<String>> {
    let mut stream = TcpStream::connect(addr)?;
    let mut responses = BufReader::new(stream.try_clone()?);
    let mut promised = Vec::new();
    let mut asked = 0;
    loop {
        while asked < promised.len() + 3 {
            let body = format!(r#"{{"email":"{client}-{asked}@example.com"}}"#);
            let request = format!(
                "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            // Who writes after the end is told so when reading.
            let _ = stream.write_all(request.as_bytes());
            asked += 1;
        }
        let mut line = String::new();
        if responses.read_line(&mut line)? == 0 {
            return Ok(promised);
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
        promised.push(format!("{client}-{}@example.com", promised.len()));
        if promised.len() == 5 {
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

const CLIENTS: usize = 64;

#[test]
fn shutdown_under_load_loses_and_resets_no_sign_up() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve();
    let addr = server.addr.clone();
    let answered = AtomicUsize::new(0);
    let promised: Vec<_> = thread::scope(|scope| {
        let (addr, answered) = (&addr, &answered);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || sign_up_until_it_ends(addr, client, answered)))
            .collect();
        wait_until("everybody is answered", || {
            answered.load(Ordering::Relaxed) == CLIENTS
        });
        server.signal("-TERM");
        let ended = clients
            .into_iter()
            .map(|client| client.join().expect("no panic"));
        ended
            .flat_map(|promised| promised.expect("no reset, and whole responses"))
            .collect()
    });
    assert_eq!(server.wait_for_exit(), Some(0));
    assert!(promised.len() >= 5 * CLIENTS);
    let list = SledWaitlist::open(&sandbox.path().join("data")).expect("the list opens");
    let entries = list.entries(Selection::default()).expect("readable");
    let listed: BTreeSet<_> = entries
        .map(|entry| entry.expect("readable").email.key())
        .collect();
    for email in promised {
        assert!(listed.contains(&email), "{email}");
    }
}

/// A server with a request under way that does not end.
fn server_with_open_request(options: &[&str]) -> (ServerProcess, TcpStream, Sandbox) {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args(options);
    let server = ServerProcess::start(command);
    let mut half = TcpStream::connect(&server.addr).expect("it listens");
    let head = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{";
    half.write_all(head.as_bytes()).expect("it reads");
    // It has begun this request once it answers a later one.
    server.count();
    (server, half, sandbox)
}

#[test]
fn aborts_requests_after_the_grace_period_and_logs_it() {
    let (mut server, _half, _place) = server_with_open_request(&["--shutdown-grace=1"]);
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let words = server.log_without_requests().join("\n");
    assert!(
        words.contains("some requests took too long and were cut off"),
        "{words}"
    );
}

#[test]
fn second_signal_skips_the_grace_period() {
    let (mut server, half, _place) = server_with_open_request(&["--shutdown-grace=3600"]);
    server.signal("-INT");
    // It no longer listens: the first was heard.
    wait_until("it no longer listens", || {
        TcpStream::connect(&server.addr).is_err()
    });
    server.signal("-INT");
    assert_eq!(server.wait_for_exit(), Some(0));
    drop(half);
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
