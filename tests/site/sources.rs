//! Where visitors come from: the parameter of the page's URL reaches the list, and nothing else of the URL does.

use std::sync::{Arc, Mutex};

use landing::waitlist::{JoinOutcome, OwnerList, Selection, SledWaitlist, Source};
use reqwest::{RequestBuilder, header::HeaderValue};

use crate::{
    fixtures::{immediate, stub_store},
    process::{Sandbox, ServerProcess},
    test_site::{TRUST_LOOPBACK, TestSite, http2_client},
};

/// A site that remembers the source of the last sign-up instead of storing it.
struct SourceRecorder {
    site: TestSite,
    last_source: Arc<Mutex<Option<Source>>>,
}

impl SourceRecorder {
    async fn start(options: &[&str]) -> Self {
        let last_source = Arc::<Mutex<Option<Source>>>::default();
        let recorded = Arc::clone(&last_source);
        let store = stub_store(
            move |entry| {
                *recorded.lock().expect("no panic") = entry.source;
                immediate(Ok(JoinOutcome::New))
            },
            || immediate(Ok(())),
        );
        let options = [&["--signups-per-minute=0"], options].concat();
        let site = TestSite::with_store_and_options(store, &options).await;
        Self { site, last_source }
    }

    /// Signs up with these headers by the API and by the form. Both store the same source, which it returns.
    async fn source_of(&self, headers: &[(&str, &[u8])]) -> Option<String> {
        let api = self.site.post("/api/waitlist");
        let api = api.json(&serde_json::json!({ "email": "ann@example.com" }));
        let by_api = self.source_of_request(api, headers, 201).await;
        let form = self.site.post("/").body("email=ann%40example.com");
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        let by_form = self.source_of_request(form, headers, 303).await;
        assert_eq!(by_api, by_form, "by the API and by the form");
        by_api
    }

    async fn source_of_request(
        &self,
        mut request: RequestBuilder,
        headers: &[(&str, &[u8])],
        status: u16,
    ) -> Option<String> {
        for (name, value) in headers {
            let value = HeaderValue::from_bytes(value).expect("a header");
            request = request.header(*name, value);
        }
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), status, "{headers:?}");
        let source = self.last_source.lock().expect("no panic").take();
        source.map(|source| source.to_string())
    }

    /// Signs up from the site's page with this path and query.
    async fn source_of_page(&self, path: &str) -> Option<String> {
        let referer = format!("{}{path}", self.site.origin());
        self.source_of(&[("referer", referer.as_bytes())]).await
    }
}

#[tokio::test]
async fn parameter_of_the_page_is_the_source() {
    let recorder = SourceRecorder::start(&[]).await;
    for (path, expected) in [
        ("/?utm_source=hn", Some("hn")),
        ("/?ref=hn", Some("hn")),
        ("/?source=hn", Some("hn")),
        ("/?joined&ref=hn", Some("hn")),
        ("/?fbclid=1&ref=hn&gclid=2#contact", Some("hn")),
        // Normalized.
        ("/?ref=HN", Some("hn")),
        ("/?ref=product+hunt", Some("product-hunt")),
        ("/?ref=%20Product%20Hunt%20", Some("product-hunt")),
        ("/?ref=%68%6E", Some("hn")),
        ("/?r%65f=hn", Some("hn")),
        ("/?ref=news_letter-3.1", Some("news_letter-3.1")),
        // The first valid source in the order of the names.
        ("/?source=c&ref=b&utm_source=a", Some("a")),
        ("/?source=c&ref=b", Some("b")),
        ("/?utm_source=&ref=a,b&source=c", Some("c")),
        ("/?ref=&ref=b&ref=c", Some("b")),
        // No parameter, or no source in it.
        ("", None),
        ("/", None),
        ("/?", None),
        ("/?ref", None),
        ("/?ref=", None),
        ("/?Ref=hn", None),
        ("/?utm_medium=hn&referrer=hn&xref=hn", None),
        ("/ref=hn", None),
        ("/#?ref=hn", None),
        ("/?ref=ann@example.com", None),
        ("/?ref=%3Cscript%3E", None),
        ("/?ref=https://news.example/", None),
        ("/?ref=%C3%A4", None),
        ("/?ref=%FF", None),
        ("/?ref=%", None),
        ("/?ref=%zz", None),
        ("/?ref=a%00b", None),
        ("/?ref=hn%0D%0ASet-Cookie:+a=b", None),
        ("/?&&=&===&ref&%&", None),
    ] {
        let source = recorder.source_of_page(path).await;
        assert_eq!(source.as_deref(), expected, "{path}");
    }
}

#[tokio::test]
async fn long_urls_have_a_source_too() {
    let recorder = SourceRecorder::start(&[]).await;
    let long = format!("/?ref={}", "A".repeat(12_000));
    assert_eq!(recorder.source_of_page(&long).await, Some("a".repeat(64)));
    let invalid = format!("/?ref={}&ref={}!", "%".repeat(5000), "a".repeat(5000));
    assert_eq!(recorder.source_of_page(&invalid).await, None);
    for parameter in ["a=b&", "ref=&", "ref=%20&", "&"] {
        let many = parameter.repeat(12_000 / parameter.len());
        let source = recorder.source_of_page(&format!("/?{many}ref=hn")).await;
        assert_eq!(source.as_deref(), Some("hn"), "{parameter}");
    }
}

#[tokio::test]
async fn only_a_page_of_the_site_names_a_source() {
    let recorder = SourceRecorder::start(&[]).await;
    for (referer, host, expected) in [
        // The host of the request, with and without TLS before the server.
        ("https://steward.test/?ref=hn", "steward.test", Some("hn")),
        ("http://steward.test/?ref=hn", "Steward.test", Some("hn")),
        ("HTTPS://STEWARD.TEST/?ref=hn", "steward.test", Some("hn")),
        (
            "https://steward.test:8443/?ref=hn",
            "steward.test:8443",
            Some("hn"),
        ),
        // `--origin`, before a proxy that has replaced the host.
        (
            "https://steward.example/?ref=hn",
            "backend:3000",
            Some("hn"),
        ),
        ("http://steward.example/?ref=hn", "backend:3000", None),
        // Other origins.
        ("https://steward.test:8443/?ref=hn", "steward.test", None),
        ("https://evil.example/?ref=hn", "steward.test", None),
        (
            "https://steward.test.evil.example/?ref=hn",
            "steward.test",
            None,
        ),
        (
            "https://steward.test@evil.example/?ref=hn",
            "steward.test",
            None,
        ),
        ("https://www.steward.test/?ref=hn", "steward.test", None),
        ("ftp://steward.test/?ref=hn", "steward.test", None),
        ("data:text/html,?ref=hn", "steward.test", None),
        ("about:blank?ref=hn", "steward.test", None),
        // No URLs.
        ("", "steward.test", None),
        ("/?ref=hn", "steward.test", None),
        ("?ref=hn", "steward.test", None),
        ("//steward.test/?ref=hn", "steward.test", None),
        ("https://?ref=hn", "steward.test", None),
        ("https://[steward.test/?ref=hn", "steward.test", None),
        ("steward.test/?ref=hn", "steward.test", None),
    ] {
        let headers = [("host", host.as_bytes()), ("referer", referer.as_bytes())];
        let source = recorder.source_of(&headers).await;
        assert_eq!(source.as_deref(), expected, "{referer} at {host}");
    }
    let invalid_utf8: &[u8] = b"https://steward.test/?ref=hn&a=\xff";
    let headers = [
        ("host", b"steward.test".as_slice()),
        ("referer", invalid_utf8),
    ];
    assert_eq!(recorder.source_of(&headers).await, None);
    assert_eq!(recorder.source_of(&[]).await, None, "no Referer");
}

#[tokio::test]
async fn configured_origin_counts_behind_a_proxy() {
    let recorder = SourceRecorder::start(&["--origin=https://ann.example", TRUST_LOOPBACK]).await;
    for (referer, expected) in [
        ("https://ann.example/?ref=hn", Some("hn")),
        ("https://steward.example/?ref=hn", None),
    ] {
        let headers = [
            ("host", "backend:3000"),
            ("x-forwarded-for", "203.0.113.7"),
            ("origin", "https://ann.example"),
            ("referer", referer),
        ];
        let headers = headers.map(|(name, value)| (name, value.as_bytes()));
        let source = recorder.source_of(&headers).await;
        assert_eq!(source.as_deref(), expected, "{referer}");
    }
    // In HTTP/2 the URL of the request has the host.
    let origin = recorder.site.origin();
    let post = http2_client().post(format!("{origin}/api/waitlist"));
    let post = post.json(&serde_json::json!({ "email": "ann@example.com" }));
    let referer = format!("{origin}/?ref=hn");
    let headers = [("referer", referer.as_bytes())];
    let source = recorder.source_of_request(post, &headers, 201).await;
    assert_eq!(source.as_deref(), Some("hn"));
}

#[tokio::test]
async fn parameters_of_other_requests_do_not_count() {
    let recorder = SourceRecorder::start(&[]).await;
    let origin = recorder.site.origin();
    let page = [("referer", origin.as_bytes())];
    let post = recorder.site.post("/api/waitlist?ref=hn");
    let post = post.json(&serde_json::json!({ "email": "ann@example.com", "source": "hn" }));
    assert_eq!(recorder.source_of_request(post, &page, 201).await, None);
    let form = recorder.site.post("/?ref=hn");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let form = form.body("email=ann%40example.com&source=hn&ref=hn");
    assert_eq!(recorder.source_of_request(form, &page, 303).await, None);
}

/// Signs up over a connection with this `Referer`.
fn join_from(server: &ServerProcess, email: &str, referer: &str) {
    let headers = format!("/api/waitlist HTTP/1.1\r\nReferer: {referer}\r\nX:");
    let body = format!(r#"{{"email":"{email}"}}"#);
    let response = server.request("POST", &headers, &body);
    assert!(response.starts_with("HTTP/1.1 201 "), "{response}");
}

#[test]
fn source_is_stored_with_the_entry_and_never_logged() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args(["--log-level", "debug"]);
    let mut server = ServerProcess::start(command);
    join_from(&server, "ann@example.com", "http://site/?ref=campaign-7");
    join_from(&server, "bob@example.com", "http://site/");
    server.request("GET", "/?ref=campaign-7", "");
    server.request("GET", "/nothing?ref=campaign-7", "");
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log();
    assert!(log.iter().any(|line| line.contains("answered")));
    assert!(
        !log.iter().any(|line| line.contains("campaign")),
        "{log:#?}"
    );

    let list = SledWaitlist::open(&sandbox.path().join("data")).expect("a list");
    let sources: Vec<_> = list
        .entries(Selection::default())
        .expect("a readable list")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| (entry.email.as_typed().to_owned(), entry.source))
        .collect();
    let source = "campaign-7".parse().ok();
    assert_eq!(
        sources,
        [
            ("ann@example.com".to_owned(), source),
            ("bob@example.com".to_owned(), None)
        ]
    );
}
