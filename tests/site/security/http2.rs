//! HTTP/2, which is for trusted proxies.

use reqwest::Version;

use crate::test_site::{Site, TRUSTED, header, http2};

/// The preface of HTTP/2, with settings that change nothing.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// `GET /` in HTTP/2: method, scheme and path by their numbers in HPACK's table.
const GET: &[u8] = b"\0\0\x03\x01\x05\0\0\0\x01\x82\x86\x84";

#[tokio::test]
async fn strangers_are_told_to_speak_http_1() {
    let site = Site::start().await;
    for sent in [PREFACE.to_owned(), [PREFACE, GET].concat()] {
        let said = site.answer_to(&sent).await;
        assert!(said.starts_with("HTTP/1.1 505 "), "{said:?}");
        assert!(said.contains("nosniff"), "{said}");
        assert!(said.contains("--trusted-proxies"), "{said}");
    }
    assert_eq!(site.text("/healthz").await, "OK");
}

#[tokio::test]
async fn a_proxy_may_speak_it_without_tls() {
    let site = Site::with(&[TRUSTED]).await;
    let client = http2();
    let url = |path: &str| format!("{}{path}", site.origin());
    let page = client.get(url("/")).send().await.expect("an answer");
    assert_eq!(
        (page.version(), page.status().as_u16()),
        (Version::HTTP_2, 200)
    );
    for status in [201, 409] {
        let post = client.post(url("/api/waitlist"));
        // Its host is in `:authority`.
        let post = post.header("origin", site.origin());
        let post = post.json(&serde_json::json!({ "email": "ann@example.com" }));
        assert_eq!(post.send().await.expect("an answer").status(), status);
    }
    let many = (0..300).map(|_| tokio::spawn(client.get(url("/api/waitlist/count")).send()));
    for answer in many.collect::<Vec<_>>() {
        let answer = answer.await.expect("no panic").expect("an answer");
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test]
async fn heads_have_the_same_limits_as_in_http_1() {
    let site = Site::with(&[TRUSTED]).await;
    for (name, client) in [("HTTP/1", reqwest::Client::new()), ("HTTP/2", http2())] {
        let long = |bytes: usize| vec![("x".to_owned(), "a".repeat(bytes))];
        let many = |fields: usize| {
            let fields = (0..fields).map(|number| (format!("x-{number}"), "a".into()));
            fields.collect::<Vec<(String, String)>>()
        };
        for (case, headers, status) in [
            ("10,000 bytes", long(10_000), 200),
            ("17,000 bytes", long(17_000), 431),
            ("95 fields", many(95), 200),
            ("101 fields", many(101), 431),
        ] {
            let get = client.get(site.origin());
            let get = headers
                .into_iter()
                .fold(get, |get, (name, value)| get.header(name, value));
            let answer = get.send().await.expect("an answer");
            assert_eq!(answer.status(), status, "{name}: {case}");
            assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        }
    }
}

#[tokio::test]
async fn a_head_far_above_the_limit_is_refused_without_being_kept() {
    let site = Site::with(&[TRUSTED]).await;
    let get = http2().get(site.origin());
    let answer = get.header("x", "a".repeat(40_000)).send().await;
    assert_eq!(answer.expect("an answer").status(), 431);
}
