//! Clients that are slow, or send invalid HTTP. `http/raw.txt` has long and unusual request heads.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use super::{
    connection_limit::{get_succeeds, sign_up},
    overload::{CapturedLog, hanging_store},
};
use crate::test_site::TestSite;

/// Much longer than the time that a request may take to arrive, or a connection may be idle.
pub(super) const TEST_TIMEOUT: Duration = Duration::from_secs(120);

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

/// The response of a server that closes the connection after it says so (RFC 9112, 9.6). Otherwise a client sends its next
/// request, and gets no response.
#[tokio::test]
async fn responses_before_the_end_of_a_body_announce_the_close() {
    let site = TestSite::with_options(&["--signups-per-minute=1"]).await;
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    let json = "Content-Type: application/json\r\nContent-Length: 20\r\n";
    let cases = [
        ("GET / HTTP/1.1", json.to_owned(), "200"),
        (
            "POST /api/waitlist HTTP/1.1",
            format!("Sec-Fetch-Site: cross-site\r\n{json}"),
            "403",
        ),
        ("POST /api/unknown HTTP/1.1", json.to_owned(), "404"),
        ("PUT /api/waitlist HTTP/1.1", json.to_owned(), "405"),
        (
            "POST /api/waitlist HTTP/1.1",
            json.replace("20", "5000"),
            "429",
        ),
        (
            "POST /api/waitlist HTTP/1.1",
            json.replace("Content-Length: 20", "Transfer-Encoding: chunked"),
            "429",
        ),
        (
            "POST / HTTP/1.1",
            json.replace("json", "x-www-form-urlencoded"),
            "429",
        ),
    ];
    for (request_line, fields, status) in cases {
        let mut stream = site.connect().await;
        let head = format!("{request_line}\r\nHost: site\r\n{fields}\r\n");
        stream.write_all(head.as_bytes()).await.expect("connected");
        let mut response = String::new();
        let read = timeout(TEST_TIMEOUT, stream.read_to_string(&mut response)).await;
        read.expect("the connection closes").expect("text");
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{response}"
        );
        assert!(
            response.contains("\r\nconnection: close\r\n"),
            "{head}{response}"
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

/// The deadlines of its head, of its body and of the store add up to more than that of an idle connection.
#[tokio::test]
async fn request_that_is_slow_in_every_part_gets_a_response() {
    let (list, _calls) = hanging_store();
    let site = TestSite::with_store(list).await;
    let request = sign_up("ann@example.com");
    let (head, body) = request.split_once("\r\n\r\n").expect("a body");
    let mut stream = site.connect().await;
    for (part, seconds) in [(head, 13), ("\r\n\r\n", 9), (body, 0)] {
        stream.write_all(part.as_bytes()).await.expect("it is open");
        sleep(Duration::from_secs(seconds)).await;
    }
    let mut status_line = [0; 12];
    let read = timeout(TEST_TIMEOUT, stream.read_exact(&mut status_line)).await;
    read.expect("in time").expect("a response");
    assert_eq!(&status_line, b"HTTP/1.1 503");
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
    for incomplete in ["", "GET /nonsense"] {
        assert_eq!(site.send_raw(incomplete.as_bytes()).await, "");
    }
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
