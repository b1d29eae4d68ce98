//! Clients that are slow, open many connections, or send invalid HTTP.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use super::overload::{CapturedLog, hanging_store};
use crate::test_site::TestSite;

/// Much longer than every timeout of the server.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Sends a byte a second until the server closes the connection, and returns the responses.
async fn send_slowly(mut stream: TcpStream, first: &str) -> String {
    stream
        .write_all(first.as_bytes())
        .await
        .expect("the server reads");
    let (mut read, mut write) = stream.into_split();
    let mut response = Vec::new();
    let drip = async {
        while write.write_all(b"a").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    let ended = async {
        // A reset ends the connection as well.
        let _ = read.read_to_end(&mut response).await;
    };
    timeout(TEST_TIMEOUT, async {
        tokio::select! {
            () = drip => {}
            () = ended => {}
        }
    })
    .await
    .expect("the server closes the connection");
    String::from_utf8(response).expect("text")
}

#[tokio::test]
async fn slow_request_head_times_out_with_408() {
    let (captured, _log) = CapturedLog::start();
    let site = TestSite::start().await;
    let incomplete = "GET /ann@example.com HTTP/1.1\r\nHost: site\r\nX-Slow: ";
    // The timeout also holds after a complete request.
    let second = format!("GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n{incomplete}");
    let (first, second) = tokio::join!(
        send_slowly(site.connect().await, incomplete),
        send_slowly(site.connect().await, &second),
    );
    assert!(first.starts_with("HTTP/1.1 408 "), "{first}");
    assert!(
        first.contains("nosniff") && first.contains("took too long"),
        "{first}"
    );
    assert!(second.contains("\r\n\r\nOKHTTP/1.1 408 "), "{second}");
    let log = captured.text();
    let logged = log.matches("method=\"other\" route=\"/{file}\" status=408 ");
    assert_eq!(logged.count(), 2, "{log}");
    for text in [&first, &second, &log] {
        assert!(!text.contains("ann@example.com"), "{text}");
    }
}

#[tokio::test]
async fn half_closed_connection_still_gets_its_response() {
    let site = TestSite::start().await;
    for _ in 0..20 {
        let response = site.send_raw(b"GET / HTTP/1.1\r\nHost: site\r\n\r\n").await;
        assert!(
            response.starts_with("HTTP/1.1 200 ") && response.ends_with("</html>"),
            "{response:.100}"
        );
    }
}

#[tokio::test]
async fn closes_idle_connections() {
    let site = TestSite::start().await;
    let mut unused = site.connect().await;
    let mut kept_alive = site.connect().await;
    assert!(get_succeeds(&mut kept_alive).await);
    for stream in [&mut unused, &mut kept_alive] {
        let mut response = Vec::new();
        let ended = timeout(TEST_TIMEOUT, stream.read_to_end(&mut response)).await;
        // A reset ends the connection as well.
        let _ = ended.expect("the server closes the connection");
        assert!(
            !String::from_utf8_lossy(&response).contains(" 408 "),
            "an idle connection has sent no request"
        );
    }
}

#[tokio::test]
async fn slow_body_times_out_with_408_for_api_and_form() {
    let site = TestSite::start().await;
    let post = |path: &str, content_type: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: site\r\nContent-Type: {content_type}\r\n\
             Content-Length: 1000\r\n\r\n"
        )
    };
    let (api, form) = (
        post("/api/waitlist", "application/json"),
        post("/", "application/x-www-form-urlencoded"),
    );
    let (api, form) = tokio::join!(
        send_slowly(site.connect().await, &api),
        send_slowly(site.connect().await, &form),
    );
    assert!(api.starts_with("HTTP/1.1 408 "), "{api}");
    assert!(api.contains("took too long to arrive"), "{api}");
    assert!(form.starts_with("HTTP/1.1 408 "), "{form}");
    assert!(form.contains("Please try again."), "{form}");
    assert_eq!(site.count().await, 0);
}

#[tokio::test]
async fn closes_connections_that_do_not_read_responses() {
    let site = TestSite::start().await;
    let mut stream = site.connect().await;
    let request = b"GET / HTTP/1.1\r\nHost: site\r\n\r\n";
    let ended = timeout(TEST_TIMEOUT, async {
        // Requests more pages than fit into all buffers between server and client.
        while stream.write_all(request).await.is_ok() {}
    });
    ended.await.expect("the server closes the connection");
}

#[tokio::test]
async fn limits_the_body_size_whatever_the_headers_declare() {
    let site = TestSite::start().await;
    let head = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n";
    // The server rejects a large declared length without waiting for the body.
    let response = site
        .send_raw(format!("{head}Content-Length: 4097\r\n\r\n").as_bytes())
        .await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
    let expects = format!("{head}Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
    let response = site.send_raw(expects.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
    // A large body without a length gets its response although the client is still sending.
    let chunk = format!("400\r\n{}\r\n", " ".repeat(1024));
    let body = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        chunk.repeat(40)
    );
    let response = site.send_raw(body.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
    // The body ends before its declared length.
    let truncated = format!("{head}Content-Length: 100\r\n\r\n{{\"email\":\"ann@example.com\"}}");
    let response = site.send_raw(truncated.as_bytes()).await;
    assert!(
        response.is_empty() || response.starts_with("HTTP/1.1 400 "),
        "{response}"
    );
    // Ambiguous framing: a proxy could read the body in another way.
    for framing in [
        "Content-Length: 28\r\nContent-Length: 5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 28\r\nTransfer-Encoding: gzip\r\n",
    ] {
        let body = format!("{head}{framing}\r\n{{\"email\":\"ann@example.com\"}}");
        let response = site.send_raw(body.as_bytes()).await;
        assert!(
            response.is_empty() || response.starts_with("HTTP/1.1 400 "),
            "{framing}{response}"
        );
    }
    assert_eq!(site.count().await, 0);
}

#[tokio::test]
async fn limits_request_heads_and_urls() {
    let site = TestSite::start().await;
    let get =
        |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nHost: site\r\n{headers}\r\n");
    let path = |length: usize| format!("/{}", "a".repeat(length - 1));
    let cases = [
        (get(&path(2048), ""), "404"),
        (get(&path(2049), ""), "414"),
        (get(&format!("/?{}", "a".repeat(2048)), ""), "414"),
        (get("/", &format!("X: {}\r\n", "a".repeat(8000))), "200"),
        (get("/", &format!("X: {}\r\n", "a".repeat(20_000))), "431"),
        (get("/", &"X: a\r\n".repeat(101)), "431"),
        ("nonsense\r\n\r\n".into(), "400"),
        ("GET / HTTP/1.1\r\n\r\n".into(), "400"),
        (get("/", "Host: other\r\n"), "400"),
        ("GET / HTTP/1.0\r\n\r\n".into(), "200"),
        ("TRACE / HTTP/1.1\r\nHost: site\r\n\r\n".into(), "405"),
        (get("/../../../../etc/passwd", ""), "404"),
        (get("/pkg/..%2f..%2fdata/waitlist", ""), "404"),
        (get("/%2e%2e/%2e%2e/etc/passwd", ""), "404"),
        (get("//etc/passwd", ""), "404"),
        (get("/", "X: a\r\n Folded: b\r\n"), "400"),
        (get("/", "X : a\r\n"), "400"),
    ];
    for (request, status) in cases {
        let response = site.send_raw(request.as_bytes()).await;
        let actual = response.split(' ').nth(1);
        assert_eq!(actual, Some(status), "{request:.60}: {response:.100}");
    }
}

/// Sends a request and returns whether the response is 200. Keeps the connection open.
async fn get_succeeds(stream: &mut TcpStream) -> bool {
    let request = b"GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n";
    let mut status_line = [0; 12];
    let is_sent = stream.write_all(request).await.is_ok();
    let is_served = is_sent && stream.read_exact(&mut status_line).await.is_ok();
    let mut rest = Vec::new();
    while is_served && !rest.ends_with(b"\r\n\r\nOK") {
        rest.push(stream.read_u8().await.expect("the rest"));
    }
    is_served && &status_line == b"HTTP/1.1 200"
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
    let open = join_all(browsers).await;
    let mut first = open.into_iter().next().expect("a browser");
    assert!(get_succeeds(&mut first[0]).await, "it stays open");
}

#[tokio::test]
async fn crowd_beyond_the_places_is_served_while_idle_connections_close() {
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
    assert!((48..=64).contains(&kept), "{kept} of 64 places are used");
}

#[tokio::test]
async fn slow_connections_of_one_address_keep_their_share_only() {
    let (captured, _log) = CapturedLog::start();
    let site = TestSite::with_options(&["--max-connections=64"]).await;
    let head = "GET /ann@example.com HTTP/1.1\r\nHost: site\r\nX-Slow: ".to_owned();
    let body = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{"
        .to_owned();
    let mut slow = Vec::new();
    for number in 0..56 {
        let mut stream = site.connect().await;
        let part = if number % 2 == 0 { &head } else { &body };
        stream.write_all(part.as_bytes()).await.expect("it is read");
        slow.push(stream);
    }
    // Everybody else is served, although others are slow too.
    let mut others = Vec::new();
    for number in 0..40 {
        let mut stream = site.connect_from([127, 0, 1, number]).await;
        stream.write_all(head.as_bytes()).await.expect("it is read");
        let mut served = site.connect_from([127, 0, 0, 3]).await;
        let is_served = timeout(Duration::from_secs(5), get_succeeds(&mut served)).await;
        assert!(is_served.expect("in time"));
        others.push(stream);
    }
    let mut statuses = Vec::new();
    for mut stream in slow {
        let mut response = Vec::new();
        // Those within the share are still open.
        if timeout(Duration::from_millis(1), stream.read_to_end(&mut response))
            .await
            .is_ok()
        {
            let response = String::from_utf8(response).expect("text");
            assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
            assert!(response.contains("\r\nretry-after: 1\r\n"), "{response}");
            statuses.push(503);
        }
    }
    // Only as many as the others needed.
    assert!(
        (30..=48).contains(&statuses.len()),
        "{} closed",
        statuses.len()
    );
    let log = captured.text();
    assert_eq!(log.matches(" status=503 ").count(), statuses.len(), "{log}");
    assert!(log.contains("closed slow connections of a client"), "{log}");
    assert!(!log.contains("ann@example.com"), "{log}");
}

/// A sign-up, as bytes.
fn sign_up(email: &str) -> String {
    let body = format!(r#"{{"email":"{email}"}}"#);
    format!(
        "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn request_that_waits_for_the_server_is_never_evicted() {
    let (list, mut calls) = hanging_store();
    let site = TestSite::with_store_and_options(list, &["--max-connections=16"]).await;
    let mut waiting = Vec::new();
    for number in 0..14 {
        let mut stream = site.connect().await;
        let request = sign_up(&format!("{number}@example.com"));
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it is read");
        calls.recv().await.expect("the site calls the store");
        waiting.push(stream);
    }
    for _ in 0..30 {
        let mut stream = site.connect_from([127, 0, 0, 2]).await;
        assert!(get_succeeds(&mut stream).await);
    }
    for mut stream in waiting {
        let read = timeout(Duration::from_millis(1), stream.read_u8()).await;
        assert!(read.is_err(), "it is open and waits");
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
    for _ in 0..20 {
        let mut stream = site.connect_from([127, 0, 0, 2]).await;
        assert!(get_succeeds(&mut stream).await);
    }
    for mut stream in open {
        assert!(get_succeeds(&mut stream).await, "it is still open");
    }
}

#[tokio::test]
async fn connections_above_the_maximum_wait() {
    let (list, mut calls) = hanging_store();
    let site = TestSite::with_store_and_options(list, &["--max-connections=2"]).await;
    let ready = "GET /readyz HTTP/1.1\r\nHost: site\r\n\r\n".to_owned();
    let mut busy = Vec::new();
    for request in [sign_up("ann@example.com"), ready] {
        let mut stream = site.connect().await;
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it is read");
        calls.recv().await.expect("the site calls the store");
        busy.push(stream);
    }
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
