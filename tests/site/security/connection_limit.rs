//! The limit on connections: a crowd behind one address is served, and slow or busy connections of one client leave room
//! for others.

use std::{sync::Mutex, time::Duration};

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc::UnboundedReceiver,
    time::{sleep, timeout},
};

use super::{
    connections::TEST_TIMEOUT,
    overload::{CapturedLog, hanging_store},
};
use crate::test_site::TestSite;

/// Sends a request and returns whether the response is 200. Keeps the connection open.
pub(super) async fn get_succeeds(stream: &mut TcpStream) -> bool {
    let request = b"GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n";
    if stream.write_all(request).await.is_err() {
        return false;
    }
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\nOK") {
        let Ok(1..) = stream.read_buf(&mut response).await else {
            return false;
        };
    }
    response.starts_with(b"HTTP/1.1 200")
}

/// A request that never arrives completely.
pub(super) const SLOW_HEAD: &str = "GET /ann@example.com HTTP/1.1\r\nHost: site\r\nX-Slow: ";

/// Opens connections from an address of this machine, and sends these bytes over each.
pub(super) async fn open(
    site: &TestSite,
    address: [u8; 4],
    count: usize,
    sent: &str,
) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = site.connect_from(address).await;
        stream.write_all(sent.as_bytes()).await.expect("it is read");
        streams.push(stream);
    }
    streams
}

/// Connects from an address, and checks that a request is served at once.
async fn visit(site: &TestSite, address: [u8; 4]) -> TcpStream {
    let mut stream = site.connect_from(address).await;
    let is_served = timeout(Duration::from_secs(5), get_succeeds(&mut stream)).await;
    assert!(is_served.expect("in time"));
    stream
}

/// Opens connections whose sign-ups wait for the store.
pub(super) async fn open_busy(
    site: &TestSite,
    count: usize,
    calls: &mut UnboundedReceiver<()>,
) -> Vec<TcpStream> {
    let mut busy = Vec::new();
    for number in 0..count {
        let request = sign_up(&format!("{number}@example.com"));
        busy.extend(open(site, SELF, 1, &request).await);
        calls.recv().await.expect("the site calls the store");
    }
    busy
}

/// The address of a client that most tests have.
pub(super) const SELF: [u8; 4] = [127, 0, 0, 1];

/// Returns whether the server has closed a connection, or sends anything.
pub(super) async fn is_readable(stream: &mut TcpStream) -> bool {
    let read = timeout(Duration::from_millis(1), stream.read_u8()).await;
    read.is_ok()
}

/// The connections that one browser opens.
const CONNECTIONS_PER_BROWSER: usize = 6;

#[tokio::test]
async fn three_hundred_browsers_behind_one_address_are_served() {
    let site = TestSite::start().await;
    let browsers = (0..300).map(async |number: usize| {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS_PER_BROWSER {
            let mut stream = site.connect().await;
            assert!(get_succeeds(&mut stream).await, "browser {number}");
            connections.push(stream);
        }
        // Another request on each, as for the files of the page.
        for stream in &mut connections {
            assert!(get_succeeds(stream).await, "browser {number}");
        }
        connections
    });
    let mut open = join_all(browsers).await;
    assert!(get_succeeds(&mut open[0][0]).await, "it stays open");
}

#[tokio::test]
async fn crowd_larger_than_the_limit_is_served_while_idle_connections_close() {
    // 240 connections for 64 places.
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let mut open = Vec::new();
    for _ in 0..240 {
        let mut stream = site.connect().await;
        assert!(get_succeeds(&mut stream).await);
        open.push(stream);
    }
    let mut kept = 0;
    let mut is_oldest = true;
    for mut stream in open {
        let mut response = [0; 1];
        let read = timeout(Duration::from_millis(1), stream.read(&mut response)).await;
        match read {
            // Closed, without a reset.
            Ok(read) => {
                assert_eq!(read.expect("no reset"), 0);
                assert!(is_oldest, "the oldest idle connections are closed first");
            }
            Err(_) => {
                is_oldest = false;
                kept += 1;
            }
        }
    }
    // An eighth is kept free, and as many may be closing.
    assert!((48..=56).contains(&kept), "{kept} of 64 places are used");
}

#[tokio::test]
async fn slow_connections_of_the_largest_client_make_room() {
    let (captured, _log) = CapturedLog::start();
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let body = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{";
    let form = "POST / HTTP/1.1\r\nHost: site\r\nAccept: text/html\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ne";
    let parts = [
        (SLOW_HEAD, "application/json"),
        (body, "application/json"),
        (form, "text/html; charset=utf-8"),
    ];
    let mut slow = Vec::new();
    for (part, content_type) in parts.into_iter().cycle().take(56) {
        for stream in open(&site, SELF, 1, part).await {
            slow.push((stream, content_type));
        }
    }
    // Everybody else is served, although others are slow too.
    let mut others = Vec::new();
    for number in 0..40 {
        others.extend(open(&site, [127, 0, 1, number], 1, SLOW_HEAD).await);
        visit(&site, [127, 0, 0, 3]).await;
    }
    let mut closed = 0;
    for (mut stream, content_type) in slow {
        let mut response = Vec::new();
        // The others needed no more places.
        if timeout(Duration::from_millis(1), stream.read_to_end(&mut response))
            .await
            .is_ok()
        {
            let response = String::from_utf8(response).expect("text");
            assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
            assert!(response.contains("\r\nretry-after: 1\r\n"), "{response}");
            let content_type = format!("\r\ncontent-type: {content_type}\r\n");
            assert!(response.contains(&content_type), "{response}");
            // Its path may have been that of another form.
            let leads_home = response.contains(r#"action="/#waitlist""#);
            assert_eq!(leads_home, content_type.contains("html"), "{response}");
            closed += 1;
        }
    }
    // Only as many as the others needed. Another one may have been closed since it was read.
    let log = captured.text();
    let logged = log.matches(" status=503 ").count();
    assert!((30..=48).contains(&logged), "{log}");
    assert!((30..=logged).contains(&closed), "{closed} closed: {log}");
    assert!(log.contains("add it to --trusted-proxies"), "{log}");
    assert!(!log.contains("ann@example.com"), "{log}");
}

#[tokio::test]
async fn rejected_connections_do_not_delay_others() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let _attackers = open(&site, SELF, 3_000, "").await;
    visit(&site, [127, 0, 0, 2]).await;
}

/// A crowd is beyond its share too.
#[tokio::test]
async fn attacker_does_not_take_all_places_of_those_that_wait() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let _attackers = open(&site, SELF, 120, SLOW_HEAD).await;
    let served = join_all((0..CONNECTIONS_PER_BROWSER).map(async |_| {
        let mut stream = site.connect_from([127, 0, 0, 2]).await;
        get_succeeds(&mut stream).await
    }));
    let served = timeout(TEST_TIMEOUT, served).await.expect("all in time");
    assert_eq!(served, [true; CONNECTIONS_PER_BROWSER]);
}

/// Requests again and again, at most 20 times a second, and connects again when the server has closed the connection.
async fn stay_busy(site: &TestSite, address: [u8; 4]) {
    loop {
        let mut stream = site.connect_from(address).await;
        while get_succeeds(&mut stream).await {
            sleep(Duration::from_millis(50)).await;
        }
    }
}

/// As with `wrk -c 4500`: no connection is ever idle or slow for a second.
#[tokio::test]
async fn busy_connections_of_one_address_leave_room_for_others() {
    let site = TestSite::with_options(&["--max-connections=32"]).await;
    let attackers = join_all((0..48).map(|_| stay_busy(&site, SELF)));
    let visits = async {
        sleep(Duration::from_secs(1)).await;
        for _ in 0..20 {
            visit(&site, [127, 0, 0, 2]).await;
        }
    };
    tokio::select! {
        _ = attackers => unreachable!("they never end"),
        () = visits => {}
    }
}

#[tokio::test]
async fn slow_client_does_not_hide_behind_a_larger_one() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let mut slow = open(&site, [127, 0, 0, 3], 24, SLOW_HEAD).await;
    let crowd = join_all((0..32).map(|_| stay_busy(&site, SELF)));
    let visits = async {
        // Until the slow ones are slow.
        sleep(Duration::from_millis(1500)).await;
        let mut open = Vec::new();
        for number in 0..12 {
            let mut stream = site.connect_from([127, 0, 1, number]).await;
            assert!(get_succeeds(&mut stream).await);
            open.push(stream);
        }
    };
    tokio::select! {
        _ = crowd => unreachable!("they never end"),
        () = visits => {}
    }
    let mut closed = 0;
    for stream in &mut slow {
        closed += usize::from(is_readable(stream).await);
    }
    assert!(closed >= 8, "{closed} slow connections were closed");
}

/// A sign-up, as bytes.
pub(super) fn sign_up(email: &str) -> String {
    let body = format!(r#"{{"email":"{email}"}}"#);
    format!(
        "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A browser may open a connection before the server knows that another one has closed.
#[tokio::test]
async fn waiting_connection_is_within_the_share_once_others_of_its_client_have_closed() {
    let (list, mut calls) = hanging_store();
    let site = TestSite::with_store_and_options(list, &["--max-connections=16"]).await;
    let _busy = open_busy(&site, 14, &mut calls).await;
    let first = open(&site, [127, 0, 0, 2], 1, SLOW_HEAD).await;
    let mut second = site.connect_from([127, 0, 0, 2]).await;
    let too_early = timeout(Duration::from_millis(200), get_succeeds(&mut second)).await;
    assert!(too_early.is_err(), "it waits behind others");
    drop(first);
    let mut status_line = [0; 12];
    let read = timeout(TEST_TIMEOUT, second.read_exact(&mut status_line)).await;
    read.expect("a response").expect("no reset");
    assert_eq!(&status_line, b"HTTP/1.1 200");
}

#[tokio::test]
async fn connections_above_the_maximum_wait() {
    let (list, mut calls) = hanging_store();
    let site = TestSite::with_store_and_options(list, &["--max-connections=2"]).await;
    let _busy = open_busy(&site, 1, &mut calls).await;
    let ready = "GET /readyz HTTP/1.1\r\nHost: site\r\n\r\n";
    let _waiting = open(&site, SELF, 1, ready).await;
    calls.recv().await.expect("the site calls the store");
    let mut third = site.connect().await;
    let mut waiting = tokio::spawn(async move { get_succeeds(&mut third).await });
    let too_early = timeout(Duration::from_secs(1), &mut waiting).await;
    assert!(too_early.is_err(), "both places are taken");
    // The store does not respond, so readiness is 503 after two seconds. Then its connection is idle and closes.
    let is_served = timeout(TEST_TIMEOUT, &mut waiting)
        .await
        .expect("the server accepts the third connection");
    assert!(is_served.expect("no panic"));
}

/// An attacker takes all places that it can get and has more connections in the queue. Nothing of it can be closed.
#[tokio::test]
async fn connections_beyond_the_share_of_a_client_wait_behind_those_of_others() {
    let (list, mut calls) = hanging_store();
    let site = TestSite::with_store_and_options(list, &["--max-connections=64"]).await;
    let mut attacker = Vec::new();
    for number in 0..160 {
        let request = sign_up(&format!("{number}@example.com"));
        attacker.extend(open(&site, SELF, 1, &request).await);
    }
    // An eighth of the places is left for others.
    for _ in 0..56 {
        calls.recv().await.expect("the site calls the store");
    }
    for number in 0..20 {
        visit(&site, [127, 0, 1, number]).await;
    }
    assert!(calls.try_recv().is_err(), "the attacker's others wait");
    // As many wait as have a place. The others get 503 at once, before those that wait.
    let answered = Mutex::new(Vec::new());
    join_all(attacker[56..].iter_mut().zip(56..).map(
        async |(stream, number): (&mut TcpStream, usize)| {
            let mut response = String::new();
            let read = timeout(TEST_TIMEOUT, stream.read_to_string(&mut response)).await;
            read.expect("a response").expect("no reset");
            assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
            assert!(response.contains("\r\nretry-after: 1\r\n"), "{response}");
            answered.lock().expect("no panic").push(number);
        },
    ))
    .await;
    let answered = answered.into_inner().expect("no panic");
    let mut first: Vec<usize> = answered[..48].to_vec();
    first.sort_unstable();
    assert_eq!(first, Vec::from_iter(112..160));
}

/// Those that wait must not keep the slow ones before them open.
#[tokio::test]
async fn slow_connections_make_room_for_others_of_the_same_client() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let _slow = open(&site, SELF, 96, SLOW_HEAD).await;
    let mut stream = site.connect().await;
    let is_served = timeout(TEST_TIMEOUT, get_succeeds(&mut stream)).await;
    assert!(is_served.expect("a response"));
}
