//! Which connections close to make room for others: idle ones, and slow ones of clients beyond their share.
//!
//! Each site runs on the thread of its test. So the server accepts nothing while a test blocks, and searches for nothing
//! to close while a test looks.

use std::{net, slice, time::Duration};

use futures_util::{
    FutureExt,
    future::{join_all, select_all},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::unconstrained,
    time::{sleep, timeout},
};

use super::{
    connection_limit::{get_succeeds, is_readable, open, open_busy},
    connections::TEST_TIMEOUT,
    overload::hanging_store,
};
use crate::test_site::TestSite;

/// Longer than a connection must have been idle or slow before the server closes it for others. Nothing announces that
/// this time is over, so the tests sleep.
const EVICTION_AGE: Duration = Duration::from_millis(1100);

/// The size of the responses that a slow reader requests. It is several times what fits into the buffers of the connection
/// and what the client reads before the end of the visits.
const SLOWLY_READ_BYTES: usize = 48 << 20;

/// Opens an idle connection from an address that only this connection has.
async fn open_idle(site: &TestSite, number: u8) -> TcpStream {
    let mut stream = site.connect_from([127, 0, 2, number]).await;
    assert!(get_succeeds(&mut stream).await);
    stream
}

async fn open_idle_together(site: &TestSite, count: u8) -> Vec<TcpStream> {
    join_all((0..count).map(|number| open_idle(site, number))).await
}

/// Opens slow connections of one client. They send nothing.
async fn open_slow(site: &TestSite, count: usize) -> Vec<TcpStream> {
    open(site, [127, 0, 0, 3], count, "").await
}

/// Opens connections that the server finds all at once.
fn connect_at_once(site: &TestSite, count: usize) -> Vec<TcpStream> {
    let address = site.origin().trim_start_matches("http://");
    let connect = |_| {
        let stream = net::TcpStream::connect(address).expect("the server listens");
        stream.set_nonblocking(true).expect("a socket");
        TcpStream::from_std(stream).expect("a runtime")
    };
    (0..count).map(connect).collect()
}

/// Sends a request, and waits until the response begins.
async fn visit(stream: &mut TcpStream) {
    let request = b"GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n";
    stream.write_all(request).await.expect("it is open");
    let mut status_line = [0; 12];
    let read = timeout(TEST_TIMEOUT, stream.read_exact(&mut status_line)).await;
    read.expect("in time").expect("no reset");
    assert_eq!(&status_line, b"HTTP/1.1 200");
}

/// Returns how many of these connections the server has closed. They have no response to read.
fn count_closed(streams: &mut [TcpStream]) -> usize {
    let closed = streams.iter_mut().filter_map(|stream| {
        let mut byte = [0; 1];
        // Without tokio's budget for each task, after which nothing would be readable.
        let read = unconstrained(stream.read(&mut byte)).now_or_never()?;
        assert_eq!(read.expect("no reset"), 0);
        Some(())
    });
    closed.count()
}

/// Otherwise visitors wait for each other although places could be free.
#[tokio::test]
async fn idle_connections_make_room_at_once_for_all_that_wait() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let mut idle = open_idle_together(&site, 64).await;
    sleep(EVICTION_AGE).await;
    let mut visitors = connect_at_once(&site, 40);
    let visits = visitors.iter_mut().map(|it| Box::pin(visit(it)));
    let ((), _, others) = select_all(visits).await;
    // One for each visitor, and the eighth of the places that is kept free.
    let closed = count_closed(&mut idle);
    assert!((40..=48).contains(&closed), "{closed} closed");
    join_all(others).await;
}

/// Otherwise an attacker keeps the places while others come and go.
#[tokio::test]
async fn slow_connections_close_besides_idle_ones_if_these_are_not_enough() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let mut slow = open_slow(&site, 40).await;
    let mut idle = open_idle_together(&site, 24).await;
    sleep(EVICTION_AGE).await;
    let mut visitors = connect_at_once(&site, 40);
    let visits = visitors.iter_mut().map(|it| Box::pin(visit(it)));
    let ((), _, others) = select_all(visits).await;
    assert_eq!(count_closed(&mut idle), 24);
    assert!(count_closed(&mut slow) > 0, "they close with the idle ones");
    join_all(others).await;
}

/// Also those that could not all close in one search.
#[tokio::test]
async fn slow_connections_stay_while_idle_ones_are_enough() {
    let site = TestSite::with_options(&["--max-connections=256"]).await;
    // An eighth of the places stays free.
    let mut slow = open_slow(&site, 92).await;
    let mut idle = open_idle_together(&site, 132).await;
    sleep(EVICTION_AGE).await;
    let mut visitors = connect_at_once(&site, 100);
    join_all(visitors.iter_mut().map(visit)).await;
    assert_eq!(count_closed(&mut idle), 100);
    for stream in &mut slow {
        assert!(get_succeeds(stream).await, "it is open");
        assert!(get_succeeds(stream).await, "the response closes nothing");
    }
}

/// Also while those that were closed wait for the client to close them too.
#[tokio::test]
async fn client_keeps_slow_connections_within_its_share() {
    let (list, mut calls) = hanging_store();
    let options = ["--max-connections=256", "--signups-per-minute=0"];
    let site = TestSite::with_store_and_options(list, &options).await;
    // The share is 4.
    let mut slow = open_slow(&site, 6).await;
    let _busy = open_busy(&site, 218, &mut calls).await;
    sleep(EVICTION_AGE).await;
    let _waiting = open(&site, [127, 0, 0, 4], 40, "").await;
    // Many searches.
    sleep(EVICTION_AGE).await;
    assert_eq!(count_closed(&mut slow), 2);
}

/// Returns the path and the content of the largest module that the page loads.
async fn largest_module(site: &TestSite) -> (String, String) {
    let page = site.page().await;
    let lists = page.split("data-modules=\"").skip(1);
    let lists = lists.filter_map(|it| it.split('"').next());
    let mut largest = (String::new(), String::new());
    for path in lists.flat_map(|it| it.split(' ')) {
        let module = site.get_text(path).await;
        if module.len() > largest.1.len() {
            largest = (path.to_owned(), module);
        }
    }
    largest
}

/// Reads about 7 MB a second, and never ends.
async fn read_steadily(stream: &mut TcpStream, received: &mut Vec<u8>) {
    let mut part = vec![0; 128 << 10];
    loop {
        let length = stream.read(&mut part).await.expect("no reset");
        received.extend_from_slice(&part[..length]);
        sleep(Duration::from_millis(16)).await;
    }
}

/// The server always waits for this client, but never for long.
#[tokio::test]
async fn client_that_reads_slowly_but_steadily_stays() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let (path, module) = largest_module(&site).await;
    let count = SLOWLY_READ_BYTES.div_ceil(module.len());
    let request = |fields: &str| format!("GET {path} HTTP/1.1\r\nHost: site\r\n{fields}\r\n");
    let requests = request("").repeat(count - 1) + &request("Connection: close\r\n");
    // The oldest connection of its client. The server closes the others that are slow.
    let mut reader = site.connect_from([127, 0, 0, 3]).await;
    let sent = reader.write_all(requests.as_bytes()).await;
    sent.expect("it is read");
    reader.readable().await.expect("a response");
    let mut slow = open_slow(&site, 40).await;
    let visits = async {
        sleep(EVICTION_AGE).await;
        let mut visitors = Vec::new();
        for number in 0..32 {
            let mut stream = site.connect_from([127, 0, 1, number]).await;
            assert!(get_succeeds(&mut stream).await);
            visitors.push(stream);
        }
        visitors
    };
    let mut received = Vec::new();
    let _visitors = tokio::select! {
        () = read_steadily(&mut reader, &mut received) => unreachable!("it never ends"),
        visitors = visits => visitors,
    };
    assert!(count_closed(&mut slow) > 0, "places were scarce");
    assert!(received.len() < SLOWLY_READ_BYTES, "it is still reading");
    let read = timeout(TEST_TIMEOUT, reader.read_to_end(&mut received)).await;
    read.expect("in time").expect("no reset");
    let received = String::from_utf8(received).expect("text");
    let responses = received.split("HTTP/1.1 200 OK\r\n").skip(1);
    let whole = responses.filter(|it| it.ends_with(module.as_str()));
    assert_eq!(whole.count(), count);
}

/// Opens idle connections of as many clients as have places beside the reserve, and waits until they may be closed.
async fn open_idle_clients(site: &TestSite) -> Vec<TcpStream> {
    let mut idle = Vec::new();
    for number in 0..56 {
        idle.push(open_idle(site, number).await);
    }
    sleep(EVICTION_AGE).await;
    idle
}

/// Reads a response of `/healthz`, or what comes before the connection closes.
async fn read_response(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\nOK") {
        let Ok(byte) = stream.read_u8().await else {
            break;
        };
        response.push(byte);
    }
    String::from_utf8(response).expect("text")
}

/// Browsers do not repeat a request whose response was cut off.
#[tokio::test]
async fn request_that_arrives_at_the_eviction_gets_its_whole_response() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let mut idle = open_idle_clients(&site).await;
    let mut visitors = Vec::new();
    for (stream, number) in idle.iter_mut().zip(0..) {
        if count_closed(slice::from_mut(stream)) == 1 {
            continue;
        }
        // The server closes the oldest idle connection for the visitor, before it reads from it.
        let (mut visitor, sent) = tokio::join!(
            site.connect_from([127, 0, 1, number]),
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: "),
        );
        sent.expect("it is open");
        assert!(get_succeeds(&mut visitor).await);
        visitors.push(visitor);
        let rest = stream.write_all(b"site\r\n\r\n").await;
        rest.expect("it is open");
        let response = read_response(stream).await;
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        assert!(response.ends_with("\r\n\r\nOK"), "{response}");
        if response.contains("\r\nconnection: close\r\n") {
            let end = timeout(TEST_TIMEOUT, stream.read_u8()).await;
            assert!(end.expect("in time").is_err(), "it closes");
            return;
        }
        // The server has read from it first, and has closed another one. It searches again after 10 ms.
        sleep(Duration::from_millis(20)).await;
    }
    panic!("no request has arrived at an eviction");
}

/// Otherwise a client only has to stop sending at that moment, and keeps its place.
#[tokio::test]
async fn connection_that_is_told_to_close_and_then_becomes_slow_makes_room() {
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let mut idle = open_idle_clients(&site).await;
    let mut visitors = Vec::new();
    for (stream, number) in idle.iter_mut().zip(0..16) {
        // The server closes the oldest idle connection for the visitor, mostly before it reads from it.
        let (visitor, _) = tokio::join!(
            site.connect_from([127, 0, 1, number]),
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: "),
        );
        visitors.push(visitor);
        sleep(Duration::from_millis(20)).await;
    }
    sleep(EVICTION_AGE).await;
    let mut visitor = site.connect_from([127, 0, 1, 100]).await;
    assert!(get_succeeds(&mut visitor).await);
    // More than one search.
    sleep(Duration::from_millis(100)).await;
    let mut closed = 0;
    for stream in &mut idle {
        let mut response = String::new();
        let read = timeout(
            Duration::from_millis(1),
            stream.read_to_string(&mut response),
        )
        .await;
        closed += usize::from(read.is_ok() && response.starts_with("HTTP/1.1 503 "));
    }
    assert!(closed > 0, "no slow connection was closed");
}

/// Visits until the server closes an idle connection of another client to make room. So it has looked at all others too.
async fn visit_until_an_idle_connection_closes(site: &TestSite) {
    let mut idle = site.connect_from([127, 0, 0, 3]).await;
    assert!(get_succeeds(&mut idle).await);
    let visits = async {
        loop {
            let mut stream = site.connect_from([127, 0, 0, 2]).await;
            assert!(get_succeeds(&mut stream).await);
            sleep(Duration::from_millis(50)).await;
        }
    };
    let mut byte = [0; 1];
    let closed = timeout(TEST_TIMEOUT, async {
        tokio::select! {
            () = visits => unreachable!("they never end"),
            read = idle.read(&mut byte) => read,
        }
    });
    assert_eq!(closed.await.expect("it closes").expect("no reset"), 0);
}

#[tokio::test]
async fn request_that_waits_for_the_server_is_never_evicted() {
    let (list, mut calls) = hanging_store();
    let site = TestSite::with_store_and_options(list, &["--max-connections=16"]).await;
    let waiting = open_busy(&site, 13, &mut calls).await;
    visit_until_an_idle_connection_closes(&site).await;
    for mut stream in waiting {
        assert!(!is_readable(&mut stream).await, "it is open and waits");
    }
}

#[tokio::test]
async fn trusted_proxies_keep_their_idle_connections() {
    let site =
        TestSite::with_options(&["--max-connections=64", "--trusted-proxies=127.0.0.1"]).await;
    let mut open = Vec::new();
    for _ in 0..60 {
        let mut stream = site.connect().await;
        assert!(get_succeeds(&mut stream).await);
        open.push(stream);
    }
    visit_until_an_idle_connection_closes(&site).await;
    for mut stream in open {
        assert!(get_succeeds(&mut stream).await, "it is still open");
    }
}
