//! The rules of HTTP (RFC 9110, RFC 9112 and RFC 9113): what each method does with each precondition on each kind of
//! resource, and which requests are malformed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use landing::{
    mail::{PersonTokens, TokenPurpose},
    waitlist::{Email, JoinOutcome, OwnerList, SledWaitlist},
};
use reqwest::{Client, Response, redirect::Policy};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    fixtures::{immediate, stub_store},
    test_site::{TRUST_LOOPBACK, TestSite, header},
};

/// A kind of resource.
struct Resource {
    path: String,
    /// The status of a GET without preconditions.
    get: u16,
    /// The content type and the body of a POST, and its status without preconditions.
    post: Option<(&'static str, &'static str, u16)>,
    has_etag: bool,
}

impl Resource {
    fn new(path: &str, get: u16, has_etag: bool) -> Self {
        Self {
            path: path.to_owned(),
            get,
            post: None,
            has_etag,
        }
    }

    fn with_post(mut self, content_type: &'static str, body: &'static str, status: u16) -> Self {
        self.post = Some((content_type, body, status));
        self
    }
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// The fields of a request in which `ETAG` is the current one, whether `If-Match` holds, and whether `If-None-Match` names
/// the current representation: always, never, or if the resource has an `ETag`.
type Precondition = (&'static [(&'static str, &'static str)], Holds, Holds);

#[derive(Clone, Copy)]
enum Holds {
    Always,
    Never,
    WithEtag,
}

use Holds::{Always, Never, WithEtag};

impl Holds {
    fn on(self, resource: &Resource) -> bool {
        match self {
            Always => true,
            Never => false,
            WithEtag => resource.has_etag,
        }
    }
}

const PRECONDITIONS: [Precondition; 14] = [
    (&[], Always, Never),
    (&[("if-none-match", "*")], Always, Always),
    (&[("if-none-match", "ETAG")], Always, WithEtag),
    // `If-None-Match` compares weakly, and `If-Match` strongly.
    (&[("if-none-match", "W/ETAG")], Always, WithEtag),
    (&[("if-none-match", "\"other\"")], Always, Never),
    (&[("if-none-match", "\"other\", ETAG")], Always, WithEtag),
    (&[("if-match", "*")], Always, Never),
    (&[("if-match", "ETAG")], WithEtag, Never),
    (&[("if-match", "W/ETAG")], Never, Never),
    (&[("if-match", "\"other\"")], Never, Never),
    (
        &[("if-match", "\"other\""), ("if-match", "ETAG")],
        WithEtag,
        Never,
    ),
    (
        &[("if-match", "\"other\""), ("if-none-match", "*")],
        Never,
        Always,
    ),
    // Nothing has a modification date, so these are ignored (RFC 9110, 13.1.3 and 13.1.4).
    (
        &[("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT")],
        Always,
        Never,
    ),
    (
        &[("if-unmodified-since", "Sat, 01 Jan 2000 00:00:00 GMT")],
        Always,
        Never,
    ),
];

/// Returns the status of a method with these preconditions. They matter only if the response would be a success otherwise
/// (RFC 9110, 13.2.1).
fn expected_status(resource: &Resource, method: &str, precondition: Precondition) -> u16 {
    let (_, if_match, if_none_match) = precondition;
    let is_missing = resource.get == 404;
    let (success, known) = match method {
        "GET" | "HEAD" => (resource.get, 304),
        "POST" => match resource.post {
            Some((_, _, status)) => (status, 412),
            None => (if is_missing { 404 } else { 405 }, 412),
        },
        "BREW" => (501, 501),
        _ => (
            if is_missing && resource.post.is_none() {
                404
            } else {
                405
            },
            405,
        ),
    };
    if success >= 400 {
        success
    } else if !if_match.on(resource) {
        412
    } else if if_none_match.on(resource) {
        known
    } else {
        success
    }
}

/// Sends every method with every precondition to a resource, over this client.
async fn check_resource(
    client: &Client,
    site: &TestSite,
    resource: &Resource,
    has_acted: impl AsyncFn() -> bool,
) {
    let url = format!("{}{}", site.origin(), resource.path);
    let first = client.get(&url).send().await.expect("a response");
    let etag = match resource.has_etag {
        true => header(&first, "etag").to_owned(),
        false => "\"none\"".to_owned(),
    };
    assert_eq!(
        first.headers().contains_key("etag"),
        resource.has_etag,
        "{url}"
    );
    for method in ["GET", "HEAD", "PUT", "OPTIONS", "BREW", "POST"] {
        for precondition in PRECONDITIONS {
            let (fields, ..) = precondition;
            let case = format!("{method} {url} {fields:?} over {:?}", first.version());
            let mut request = client.request(method.parse().expect("a method"), &url);
            for (name, value) in fields {
                request = request.header(*name, value.replace("ETAG", &etag));
            }
            if let ("POST", Some((content_type, body, _))) = (method, resource.post) {
                request = request.header("content-type", content_type).body(body);
            }
            let response = request.send().await.expect("a response");
            let status = expected_status(resource, method, precondition);
            assert_eq!(response.status(), status, "{case}");
            check_headers(response, &etag, method, &case).await;
            if method == "POST" {
                assert_eq!(has_acted().await, status < 400, "{case}");
            }
        }
    }
}

/// Checks what every response with a status must have.
async fn check_headers(response: Response, etag: &str, method: &str, case: &str) {
    let (status, has) = (response.status().as_u16(), |name: &str| {
        response.headers().contains_key(name)
    });
    // A 405 must have `Allow` (RFC 9110, 15.5.6).
    assert!(has("allow") || status != 405, "{case}");
    match status {
        // As a 200 would have it, or none (RFC 9110, 8.6).
        304 => {
            for name in ["content-length", "content-type", "content-encoding"] {
                assert!(!has(name), "{case}: {name}");
            }
            assert!(!has("etag") || header(&response, "etag") == etag, "{case}");
            assert!(has("cache-control") && has("date"), "{case}");
        }
        303 => {}
        _ => assert!(has("content-type"), "{case}"),
    }
    if status >= 400 {
        assert_eq!(header(&response, "cache-control"), "no-store", "{case}");
    }
    let is_empty = response.bytes().await.expect("a body").is_empty();
    assert_eq!(
        is_empty,
        method == "HEAD" || matches!(status, 303 | 304),
        "{case}"
    );
}

/// Returns a client of HTTP/1.1, and one of HTTP/2. Neither follows redirects.
fn clients() -> [Client; 2] {
    [Client::builder(), Client::builder().http2_prior_knowledge()].map(|it| {
        let client = it.redirect(Policy::none());
        client.build().expect("a client")
    })
}

#[tokio::test]
async fn methods_and_preconditions_do_what_rfc_9110_says() {
    // The number of people stays, so the `ETag` of the page does.
    let joined = Arc::new(AtomicUsize::new(0));
    let store = {
        let joined = Arc::clone(&joined);
        let join = move |_| {
            joined.fetch_add(1, Relaxed);
            immediate(Ok(JoinOutcome::New))
        };
        stub_store(join, || immediate(Ok(())))
    };
    let options = [TRUST_LOOPBACK, "--signups-per-minute=0"];
    let site = TestSite::with_store_and_options(store, &options).await;
    let page = site.page().await;
    let (_, rest) = page.split_once("\"/pkg/host.").expect("a file with a hash");
    let (hash, _) = rest.split_once('"').expect("its end");
    let resources = [
        Resource::new("/", 200, true).with_post(FORM, "email=ann%40example.com", 303),
        Resource::new("/?joined", 200, false).with_post(FORM, "email=ann%40example.com", 303),
        Resource::new("/favicon.svg", 200, true),
        Resource::new(&format!("/pkg/host.{hash}"), 200, true),
        Resource::new("/robots.txt", 200, true),
        Resource::new("/healthz", 200, false),
        Resource::new("/readyz", 200, false),
        Resource::new("/api/waitlist/count", 200, false),
        Resource::new("/api/waitlist", 405, false).with_post(
            JSON,
            r#"{"email":"ann@example.com"}"#,
            201,
        ),
        Resource::new("/nothing", 404, false),
        Resource::new("/api/nothing", 404, false),
        // Without --confirm-signups.
        Resource::new("/confirm", 404, false),
    ];
    for client in clients() {
        for resource in &resources {
            let before = AtomicUsize::new(joined.load(Relaxed));
            let has_acted = async || {
                let now = joined.load(Relaxed);
                before.swap(now, Relaxed) != now
            };
            check_resource(&client, &site, resource, has_acted).await;
        }
    }
}

#[tokio::test]
async fn preconditions_of_a_link_decide_before_anybody_leaves() {
    let directory = TempDir::new().expect("a directory");
    let list = Arc::new(SledWaitlist::open(directory.path()).expect("a new list"));
    let tokens = PersonTokens::new(&list.key().await.expect("a key"), TokenPurpose::Unsubscribe);
    let site = TestSite::with_list(
        Arc::clone(&list) as _,
        &[TRUST_LOOPBACK, "--signups-per-minute=0"],
    )
    .await;
    let ann = Email::parse("ann@example.com").expect("an address");
    let path = format!("/unsubscribe/{}", tokens.token(&ann).expect("a token"));
    let one_click = "List-Unsubscribe=One-Click";
    let resource = Resource::new(&path, 200, false).with_post(FORM, one_click, 200);
    for client in clients() {
        assert_eq!(site.join("ann@example.com").await.status(), 201);
        let has_left = async || {
            let has_left = site.count().await == 0;
            if has_left {
                assert_eq!(site.join("ann@example.com").await.status(), 201);
            }
            has_left
        };
        check_resource(&client, &site, &resource, has_left).await;
        list.erase(&[ann.clone()], landing::waitlist::Erasure::Complete)
            .await
            .expect("erased");
    }
    let missing = Resource::new("/unsubscribe/wrong", 404, false).with_post(FORM, one_click, 404);
    for client in clients() {
        check_resource(&client, &site, &missing, async || false).await;
    }
}

/// RFC 9112, 3.2: one valid `Host`. A proxy could otherwise route the request by another host than this server.
#[tokio::test]
async fn requests_without_one_valid_host_are_400() {
    let site = TestSite::start().await;
    let cases = [
        ("HTTP/1.1", "", 400),
        ("HTTP/1.0", "", 200),
        ("HTTP/1.1", "Host: site\r\nHost: site\r\n", 400),
        ("HTTP/1.0", "Host: site\r\nHost: other\r\n", 400),
        ("HTTP/1.0", "Host: a b\r\n", 400),
    ];
    for (version, hosts, status) in cases {
        let request = format!("GET /healthz {version}\r\n{hosts}\r\n");
        assert_status(&site, &request, status).await;
    }
    let invalid = [
        "",
        "a b",
        "###",
        "a/b",
        "a,b",
        "user@site",
        "site:x",
        "[::1",
        "[site]",
        "::1",
        "a\u{e4}b",
        "a?b",
        "-%",
    ];
    let valid = [
        "site",
        "Site.Example",
        "site:",
        "site:3000",
        "127.0.0.1:80",
        "[::1]",
        "[::1]:3000",
        "a_b",
        "xn--bcher-kva.example",
        "site.",
    ];
    let hosts = invalid
        .map(|it| (it, 400))
        .into_iter()
        .chain(valid.map(|it| (it, 200)));
    for (host, status) in hosts {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_status(&site, &request, status).await;
    }
    for (target, status) in [
        ("http://other:80/healthz", 200),
        ("http://user@other/healthz", 400),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: site\r\n\r\n");
        assert_status(&site, &request, status).await;
    }
}

async fn assert_status(site: &TestSite, request: &str, status: u16) {
    let response = site.send_raw(request.as_bytes()).await;
    let actual = response.split(' ').nth(1);
    assert_eq!(
        actual,
        Some(&*status.to_string()),
        "{request:?}: {response:.200}"
    );
}

/// RFC 9113, 8.3.1.
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
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let frame = [&[0, 0, length, 1, 5, 0, 0, 0, 1], &headers[..]].concat();
        let mut stream = site.connect().await;
        stream
            .write_all(&[&preface[..], &frame].concat())
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

/// A visitor follows a link that a mail program has damaged.
#[tokio::test]
async fn damaged_links_and_missing_pages_are_pages() {
    let site = TestSite::start().await;
    let missing = "Did you forget to add the page to the router?";
    for (method, path, text) in [
        ("GET", "/unsubscribe/%ff", "This link"),
        ("POST", "/unsubscribe/%ff", "This link"),
        ("GET", "/unsubscribe/a%2fb", "This link"),
        ("GET", "/confirm/%ff", "This link"),
        // Without --confirm-signups.
        ("GET", "/confirm", missing),
        ("POST", "/confirm", missing),
    ] {
        let request = site.request(method, path).header("content-type", FORM);
        let response = request
            .body("email=ann%40example.com&code=123456")
            .send()
            .await;
        let response = response.expect("a response");
        assert_eq!(response.status(), 404, "{method} {path}");
        assert_eq!(
            header(&response, "content-type"),
            "text/html; charset=utf-8"
        );
        let page = response.text().await.expect("text");
        assert!(page.contains(text), "{method} {path}: {page}");
    }
}
