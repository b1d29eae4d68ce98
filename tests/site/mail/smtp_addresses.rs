//! A mail server with several addresses, of which some do not respond or do not exist.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    time::{Duration, Instant},
};

use tokio::net::TcpSocket;

use landing::{
    config::SmtpUrl,
    mail::{ConnectError, ConnectStep, SmtpClient, SmtpTimeouts},
    waitlist::ServerReply,
};

use super::{smtp_faults, smtp_server::SmtpServer};

const TIMEOUTS: SmtpTimeouts = SmtpTimeouts {
    connect: Duration::from_secs(2),
    ..smtp_faults::TIMEOUTS
};

/// Occupies an address so that the kernel drops packets to it, as a firewall does.
struct BlackHole {
    address: SocketAddr,
    _listener: tokio::net::TcpListener,
    _connections: Vec<TcpStream>,
}

impl BlackHole {
    fn open() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
        let listener = socket.listen(0).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let mut connections = Vec::new();
        // Until the queue of the kernel is full.
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            connections.push(stream);
        }
        Self {
            address,
            _listener: listener,
            _connections: connections,
        }
    }
}

/// Returns an address where nobody listens.
fn closed_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

fn client(server: &SmtpServer, addresses: Vec<SocketAddr>) -> SmtpClient {
    let url: SmtpUrl = server.url().parse().expect("a URL");
    let client = SmtpClient::new(&url, "client.test", TIMEOUTS).expect("TLS");
    client.with_addresses(addresses)
}

fn address_of(server: &SmtpServer) -> SocketAddr {
    let address = server.url().replace("smtp://", "");
    address.parse().expect("an address")
}

#[tokio::test(flavor = "multi_thread")]
async fn address_that_does_not_respond_keeps_no_message_waiting() {
    let (server, black_hole) = (SmtpServer::start(), BlackHole::open());
    for first in [black_hole.address, closed_address()] {
        let client = client(&server, vec![first, address_of(&server)]);
        let started = Instant::now();
        let connected = client.connect().await;
        assert!(connected.is_ok(), "{:?}", connected.err());
        assert!(started.elapsed() < TIMEOUTS.connect / 2, "{first}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_without_an_address_that_responds_may_be_tried_again() {
    let (server, black_hole) = (SmtpServer::start(), BlackHole::open());
    let refused = client(&server, vec![closed_address()]).connect().await;
    let error = refused.err().expect("an error");
    assert!(matches!(error, ConnectError::Connect(_)), "{error:?}");
    assert!(error.is_transient());
    let started = Instant::now();
    let stalled = client(&server, vec![black_hole.address]).connect().await;
    let error = stalled.err().expect("an error");
    let is_timeout = matches!(
        error,
        ConnectError::Timeout {
            step: ConnectStep::Connect,
            ..
        }
    );
    assert!(is_timeout && error.is_transient(), "{error:?}");
    assert!(started.elapsed() >= TIMEOUTS.connect);
}

#[test]
fn stored_replies_name_mailboxes_that_do_not_exist() {
    for (code, text, is_missing, is_bad) in [
        (550, "5.1.1 no such user", true, true),
        (450, "4.2.1 busy", false, false),
        (550, "5.1.10 null MX", false, true),
        (550, "5.1.8 bad sender", false, false),
        (501, "bad address syntax", false, true),
        (550, "5.7.1 blocked", false, false),
    ] {
        let reply = ServerReply::new(code, text);
        let found = (reply.is_no_such_mailbox(), reply.is_bad_address());
        assert_eq!(found, (is_missing, is_bad), "{code} {text}");
    }
}
