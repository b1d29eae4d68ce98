//! HTTP/2, which only trusted proxies may use.

use reqwest::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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

/// RFC 9113, 8.3.1: one valid authority.
#[tokio::test]
async fn http_2_requests_without_one_authority_are_400() {
    let site = TestSite::with_options(&[TRUST_LOOPBACK]).await;
    // `GET /`, with these fields after it: a literal `:authority` or `host` each.
    let field = |name: &[u8], value: &str| {
        let length = u8::try_from(value.len()).expect("a short value");
        [name, &[length], value.as_bytes()].concat()
    };
    let authority = |value| field(b"\x41", value);
    let host = |value| field(b"\0\x04host", value);
    // In HPACK, 0x88 is the status 200, and 0x8c the status 400.
    for (case, fields, status) in [
        ("authority", authority("site"), 0x88),
        (
            "both",
            [authority("site:80"), host("SITE:80")].concat(),
            0x88,
        ),
        ("host", host("site"), 0x88),
        ("none", Vec::new(), 0x8c),
        (
            "different",
            [authority("site"), host("other")].concat(),
            0x8c,
        ),
        (
            "two hosts",
            [authority("site"), host("site"), host("site")].concat(),
            0x8c,
        ),
        ("invalid", authority("a,b"), 0x8c),
    ] {
        let headers = [&b"\x82\x86\x84"[..], &fields].concat();
        let length = u8::try_from(headers.len()).expect("a short block");
        let frame = [&[0, 0, length, 1, 5, 0, 0, 0, 1], &headers[..]].concat();
        let mut stream = site.connect().await;
        stream
            .write_all(&[PREFACE, &frame].concat())
            .await
            .expect("it reads");
        let first = loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.expect("a frame");
            let length = usize::from(head[1]) << 8 | usize::from(head[2]);
            let mut payload = vec![0; length];
            stream.read_exact(&mut payload).await.expect("its end");
            if head[3] == 1 {
                break payload[0];
            }
        };
        assert_eq!(first, status, "{case}");
    }
}
