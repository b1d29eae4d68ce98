//! HTTP/2, which only trusted proxies may use.

use reqwest::Version;

use super::overload::CapturedLog;
use crate::test_site::{TRUST_LOOPBACK, TestSite, http2_client};

/// The HTTP/2 connection preface, with an empty SETTINGS frame.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// `GET /` in HTTP/2: method, scheme and path as indexes into the HPACK table.
const GET: &[u8] = b"\0\0\x03\x01\x05\0\0\0\x01\x82\x86\x84";

#[tokio::test]
async fn untrusted_clients_get_505_and_one_warning() {
    let (captured, _log) = CapturedLog::start();
    let site = TestSite::start().await;
    for sent in [PREFACE.to_owned(), [PREFACE, GET].concat()] {
        let response = site.send_raw(&sent).await;
        assert!(response.starts_with("HTTP/1.1 505 "), "{response:?}");
        assert!(response.contains("nosniff"), "{response}");
        assert!(response.contains("--trusted-proxies"), "{response}");
    }
    assert_eq!(site.get_text("/healthz").await, "OK");
    let log = captured.text();
    assert_eq!(
        log.matches("rejected HTTP/2 from a client").count(),
        1,
        "{log}"
    );
    assert!(
        log.contains("add its address to --trusted-proxies"),
        "{log}"
    );
}

#[tokio::test]
async fn trusted_proxies_can_use_http_2_without_tls() {
    let site = TestSite::with_options(&[TRUST_LOOPBACK]).await;
    let client = http2_client();
    let url = |path: &str| format!("{}{path}", site.origin());
    let page = client.get(url("/")).send().await.expect("a response");
    assert_eq!(
        (page.version(), page.status().as_u16()),
        (Version::HTTP_2, 200)
    );
    for status in [201, 409] {
        let post = client.post(url("/api/waitlist"));
        // HTTP/2 has the host in `:authority`.
        let post = post.header("origin", site.origin());
        let post = post.json(&serde_json::json!({ "email": "ann@example.com" }));
        assert_eq!(post.send().await.expect("a response").status(), status);
    }
    let requests = (0..300).map(|_| tokio::spawn(client.get(url("/api/waitlist/count")).send()));
    for response in requests.collect::<Vec<_>>() {
        let response = response.await.expect("no panic").expect("a response");
        assert_eq!(response.status(), 200);
    }
}

/// hyper itself rejects large heads, with a bare response and without a line in the log.
#[tokio::test]
async fn header_limits_match_http_1() {
    let site = TestSite::with_options(&[TRUST_LOOPBACK]).await;
    for (name, client) in [
        ("HTTP/1", reqwest::Client::new()),
        ("HTTP/2", http2_client()),
    ] {
        for (bytes, status) in [(10_000, 200), (17_000, 431), (40_000, 431)] {
            let get = client.get(site.origin()).header("x", "a".repeat(bytes));
            let response = get.send().await.expect("a response");
            assert_eq!(response.status(), status, "{name}: {bytes}");
        }
    }
}
