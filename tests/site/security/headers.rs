//! The security headers: what a browser lets this page do, and what it lets other sites do with it.

use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::Response;
use ring::digest::{SHA256, digest};

use super::{
    http2::PREFACE,
    overload::{CapturedLog, panicking_store},
};
use crate::test_site::{TestSite, header};

const JSON: (&str, &str) = ("content-type", "application/json");
const CROSS_SITE: (&str, &str) = ("sec-fetch-site", "cross-site");
const ORIGIN: (&str, &str) = ("origin", "https://evil.example");
const ANN: &str = r#"{"email":"ann@example.com"}"#;

/// Method, path, headers, body, and the status of the response.
type Case = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    u16,
);

/// One request for each kind of response.
const REQUESTS: [Case; 20] = [
    ("GET", "/", &[], "", 200),
    ("HEAD", "/", &[], "", 200),
    ("GET", "/", &[("if-none-match", "*")], "", 304),
    ("POST", "/", &[], "", 415),
    ("POST", "/", &[CROSS_SITE], "", 403),
    ("PUT", "/", &[], "", 405),
    ("GET", "/nowhere", &[], "", 404),
    ("DELETE", "/nowhere", &[], "", 404),
    ("GET", "/site.webmanifest", &[], "", 200),
    ("GET", "/favicon.svg", &[], "", 200),
    ("GET", "/robots.txt", &[], "", 200),
    ("GET", "/healthz", &[], "", 200),
    ("GET", "/readyz", &[], "", 200),
    ("GET", "/api/waitlist/count", &[], "", 200),
    ("GET", "/api/nothing", &[], "", 404),
    ("OPTIONS", "/api/waitlist", &[ORIGIN], "", 405),
    ("POST", "/api/waitlist", &[JSON], ANN, 201),
    ("POST", "/api/waitlist", &[JSON], ANN, 409),
    ("POST", "/api/waitlist", &[JSON], "nonsense", 400),
    ("POST", "/api/waitlist", &[], "", 415),
];

/// Requests that no HTTP client sends and the site rejects, the status of the response, and the line in the log.
const REJECTED_REQUESTS: [(&[u8], u16, &str); 3] = [
    (PREFACE, 505, r#"method="other" route="/{file}""#),
    (
        b"GET /ann@example.com HTTP/1.1\r\n\r\n",
        400,
        r#"method="GET" route="/{file}""#,
    ),
    (
        b"PUT / HTTP/1.1\r\nHost: ann@example.com\r\nHost: b\r\n\r\n",
        400,
        r#"method="PUT" route="/""#,
    ),
];

/// Bytes that hyper cannot parse, and the status of the last response.
const UNPARSABLE_REQUESTS: [(&[u8], u16); 7] = [
    (b"nonsense\r\n\r\n", 400),
    // A TLS handshake.
    (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03nonsense", 400),
    (
        b"GET /healthz HTTP/1.1\r\nHost: site\r\n\r\nnonsense\r\n\r\n",
        400,
    ),
    // The first response has no body.
    (
        b"HEAD / HTTP/1.1\r\nHost: site\r\n\r\nGET /nonsense HTTP/7.0\r\n\r\n",
        400,
    ),
    (b"GET /nonsense HTTP/7.0\r\nHost: site\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: site\r\nnonsense : a\r\n\r\n", 400),
    (
        b"GET / HTTP/1.1\r\nHost: site\r\nX: a\r\n nonsense: b\r\n\r\n",
        400,
    ),
];

/// Returns the responses to [`REQUESTS`] and to [`REJECTED_REQUESTS`], and one that needs another site.
async fn responses() -> Vec<Response> {
    let (captured, _log) = CapturedLog::start();
    let site = TestSite::start().await;
    let mut responses = Vec::new();
    for (method, path, headers, body, status) in REQUESTS {
        let mut request = site.request(method, path).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), status, "{method} {path}");
        responses.push(response);
    }
    let broken = TestSite::with_store(panicking_store()).await;
    responses.push(broken.join("ann@example.com").await);
    assert_eq!(responses[REQUESTS.len()].status(), 500);
    for (bytes, status, logged) in REJECTED_REQUESTS {
        let response = send_bytes(&site, bytes).await;
        assert_eq!(response.status(), status, "{}", bytes.escape_ascii());
        let body = response.text().await.expect("text");
        assert!(body.starts_with("{\"error\":"), "{body}");
        responses.push(send_bytes(&site, bytes).await);
        let line = format!("{logged} status={status} us=");
        assert!(captured.text().contains(&line), "{line}");
    }
    assert!(!captured.text().contains("ann@"), "{}", captured.text());
    responses
}

/// Sends bytes as they are and returns the last response.
async fn send_bytes(site: &TestSite, bytes: &[u8]) -> Response {
    let response = site.send_raw(bytes).await;
    let (_, last) = response.rsplit_once("HTTP/1.1 ").expect("a response");
    let (head, body) = last.split_once("\r\n\r\n").expect("a head and a body");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.get(..3));
    let mut response = axum::http::Response::builder().status(status.expect("a status"));
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        response = response.header(name, value);
    }
    response.body(body.to_owned()).expect("a response").into()
}

#[tokio::test]
async fn unparsable_requests_get_a_bare_response_that_echoes_nothing() {
    let (captured, _log) = CapturedLog::start();
    let site = TestSite::start().await;
    let head = "GET / HTTP/1.1\r\nHost: site\r\n";
    let large = format!("{head}nonsense: {}\r\n\r\n", "nonsense".repeat(2_500));
    let many = format!("{head}{}\r\n", "nonsense: a\r\n".repeat(101));
    let too_large = [(large.as_bytes(), 431), (many.as_bytes(), 431)];
    for (bytes, status) in UNPARSABLE_REQUESTS.into_iter().chain(too_large) {
        let response = send_bytes(&site, bytes).await;
        let at = format!("{:.60}: {response:?}", bytes.escape_ascii().to_string());
        assert_eq!(response.status(), status, "{at}");
        for (name, value) in response.headers() {
            let is_bare = ["connection", "content-length", "date"].contains(&name.as_str());
            assert!(is_bare, "{at}");
            let value = value.to_str().expect("text");
            assert!(!value.contains("nonsense"), "{at}");
        }
        assert_eq!(response.text().await.expect("text"), "", "{at}");
    }
    for incomplete in ["", "GET /nonsense"] {
        assert_eq!(site.send_raw(incomplete.as_bytes()).await, "");
    }
    // hyper responds to them itself, except for the request before one of them.
    let log = captured.text();
    assert_eq!(log.matches("answered").count(), 1, "{log}");
    assert!(!log.contains("nonsense"), "{log}");
}

#[tokio::test]
async fn every_response_has_security_headers_and_names_no_server() {
    for response in responses().await {
        let at = format!("{} {}", response.status(), response.url().path());
        let policy = header(&response, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'; "), "{at}");
        assert!(policy.contains("frame-ancestors 'none'; "), "{at}");
        assert!(!policy.contains("'unsafe-inline'"), "{at}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("strict-transport-security", "max-age=63072000"),
        ] {
            assert_eq!(header(&response, name), value, "{at}: {name}");
        }
        let permissions = header(&response, "permissions-policy");
        assert!(
            permissions.contains("camera=(), ") && !permissions.contains("=*"),
            "{at}"
        );
        for name in response.headers().keys() {
            let name = name.as_str();
            let is_forbidden = ["server", "via", "set-cookie"].contains(&name)
                || name.starts_with("x-powered")
                || name.starts_with("access-control-");
            assert!(!is_forbidden, "{at}: {name}");
        }
    }
}

#[tokio::test]
async fn csp_allows_only_what_the_page_uses() {
    let site = TestSite::start().await;
    let response = site.get("/").send().await.expect("a response");
    let policy = header(&response, "content-security-policy").to_owned();
    let page = response.text().await.expect("text");
    let hash_of = |begin, end| {
        let (_, rest) = page.split_once(begin).expect(begin);
        let (text, _) = rest.split_once(end).expect(end);
        STANDARD.encode(digest(&SHA256, text.as_bytes()))
    };
    let script = hash_of("<script>", "</script>");
    let style = hash_of("<style>", "</style>");
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'sha256-{script}'; \
             style-src 'sha256-{style}'; font-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; \
             form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
             require-trusted-types-for 'script'; trusted-types 'none'"
        )
    );
    for forbidden in [" style=", " onclick=", "<base", "<iframe", "http-equiv"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}
