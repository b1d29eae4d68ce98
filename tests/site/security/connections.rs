//! Clients that are slow, or send only a part of a request. `http/raw.txt` has long and unusual request heads, and
//! `http/bodies.txt` has bodies.

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
async fn incomplete_requests_change_nothing() {
    let site = TestSite::start().await;
    // The body ends before its declared length.
    let truncated = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n\
        Content-Length: 100\r\n\r\n{\"email\":\"ann@example.com\"}";
    let response = site.send_raw(truncated.as_bytes()).await;
    assert!(
        response.is_empty() || response.starts_with("HTTP/1.1 400 "),
        "{response}"
    );
    for incomplete in ["", "GET /nonsense"] {
        assert_eq!(site.send_raw(incomplete.as_bytes()).await, "");
    }
    assert_eq!(site.count().await, 0);
}
