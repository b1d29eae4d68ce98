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

use crate::process::{Place, Running, wait_until};

/// Keeps signing up over one connection, two requests ahead of the answers, until the server ends it.
/// Returns who was told to be on the list, and counts itself when those are five.
///
/// # Errors
/// A reset, or an answer that breaks off.
fn sign_up_until_it_ends(
    addr: &str,
    client: usize,
    answered: &AtomicUsize,
) -> io::Result<Vec<String>> {
    let mut stream = TcpStream::connect(addr)?;
    let mut answers = BufReader::new(stream.try_clone()?);
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
        if answers.read_line(&mut line)? == 0 {
            return Ok(promised);
        }
        assert!(line.starts_with("HTTP/1.1 201 "), "{line}");
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            if answers.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        answers.read_exact(&mut vec![0; length])?;
        promised.push(format!("{client}-{}@example.com", promised.len()));
        if promised.len() == 5 {
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

const CLIENTS: usize = 64;

#[test]
fn under_full_load_nobody_who_was_answered_is_forgotten_or_reset() {
    let place = Place::new();
    let mut server = place.serve();
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
            .flat_map(|promised| promised.expect("no reset, and whole answers"))
            .collect()
    });
    assert_eq!(server.ended(), Some(0));
    assert!(promised.len() >= 5 * CLIENTS);
    let list = SledWaitlist::open(&place.path().join("data")).expect("the list opens");
    let entries = list.entries(Selection::default()).expect("readable");
    let listed: BTreeSet<_> = entries
        .map(|entry| entry.expect("readable").email.key())
        .collect();
    for email in promised {
        assert!(listed.contains(&email), "{email}");
    }
}

/// A server with a request under way that does not end.
fn waiting_for_a_body(options: &[&str]) -> (Running, TcpStream, Place) {
    let place = Place::new();
    let mut command = place.command();
    command.args(options);
    let server = Running::start(command);
    let mut half = TcpStream::connect(&server.addr).expect("it listens");
    let head = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{";
    half.write_all(head.as_bytes()).expect("it reads");
    // It has begun this request once it answers a later one.
    server.count();
    (server, half, place)
}

#[test]
fn what_takes_too_long_is_cut_off_and_it_says_so() {
    let (mut server, _half, _place) = waiting_for_a_body(&["--shutdown-grace=1"]);
    server.signal("-TERM");
    assert_eq!(server.ended(), Some(0));
    let words = server.last_words().join("\n");
    assert!(
        words.contains("some requests took too long and were cut off"),
        "{words}"
    );
}

#[test]
fn told_twice_it_waits_no_longer() {
    let (mut server, half, _place) = waiting_for_a_body(&["--shutdown-grace=3600"]);
    server.signal("-INT");
    // It no longer listens: the first was heard.
    wait_until("it no longer listens", || {
        TcpStream::connect(&server.addr).is_err()
    });
    server.signal("-INT");
    assert_eq!(server.ended(), Some(0));
    drop(half);
}

#[test]
fn a_service_manager_is_told_when_it_serves_and_when_it_stops() {
    let place = Place::new();
    let socket = place.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a time");
    let told = || {
        let mut message = [0; 100];
        let length = manager.recv(&mut message).expect("a message");
        String::from_utf8_lossy(&message[..length])
            .trim()
            .to_owned()
    };
    let mut command = place.command();
    command.env("NOTIFY_SOCKET", &socket);
    let mut server = Running::start(command);
    assert_eq!(told(), "READY=1");
    server.signal("-TERM");
    assert_eq!(told(), "STOPPING=1");
    assert_eq!(server.ended(), Some(0));
}
