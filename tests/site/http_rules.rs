//! The rules of HTTP (RFC 9110): what each method does with each precondition on each kind of
//! resource.
//!
//! The conformance suite of CISPA (https://github.com/cispa/http-conformance) has 106 rules. It also reports nine that
//! the site does not break:
//!
//! - `reject_fields_contaning_cr_lf_nul`: a line may end with a line feed alone (RFC 9112, 2.2). nginx also accepts a
//!   carriage return.
//! - `code_405_blocked_methods`: TRACE and CONNECT of an unknown path are a 404, because nothing is there that could
//!   allow a method. HAProxy responds to CONNECT itself.
//! - `allow_crlf_start`: a GET of `/api/waitlist` is a 405, with or without an empty line before it. Caddy rejects the
//!   empty line.
//! - `code_415_unsupported_media_type`: the content type is wrong and not the coding, so a 415 needs no
//!   `Accept-Encoding` (RFC 9110, 15.5.16).
//! - `sts_header_http`, `redirect_after_upgrade_insecure_requests`: only without a proxy, which has TLS and redirects.
//! - `code_405_allow`, `STS_header_after_upgrade_insecure_requests`: nginx responds to TRACE itself.
//! - `code_400_after_bad_host_request`: HAProxy forwards one of two equal `Host` fields.
//!
//! REDbot, directly and behind the three proxies, warns of nothing but `Strict-Transport-Security`: it is sent without TLS
//! too, and the owner decides about sub-domains (`--hsts`).

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

const PRECONDITIONS: [Precondition; 17] = [
    (&[], Always, Never),
    (&[("if-none-match", "*")], Always, Always),
    (&[("if-none-match", "ETAG")], Always, WithEtag),
    // `If-None-Match` compares weakly, and `If-Match` strongly.
    (&[("if-none-match", "W/ETAG")], Always, WithEtag),
    (&[("if-none-match", "\"other\"")], Always, Never),
    (&[("if-none-match", "\"other\", ETAG")], Always, WithEtag),
    // Only the first items of a long list count.
    (&[("if-none-match", "COMMAS ETAG")], Always, Never),
    // A tag may have commas and a star.
    (&[("if-none-match", "\"a,*,b\"")], Always, Never),
    (&[("if-match", "\"a,*,b\"")], Never, Never),
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
                let value = value.replace("COMMAS", &",".repeat(256));
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
    let tokens = PersonTokens::new(
        &list.list_key().await.expect("a key"),
        TokenPurpose::Unsubscribe,
    );
    let site = TestSite::with_list(
        Arc::clone(&list) as _,
        &[TRUST_LOOPBACK, "--signups-per-minute=0"],
    )
    .await;
    let ann = Email::parse("ann@example.com").expect("an address");
    let path = format!("/unsubscribe/{}", tokens.token(&ann));
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
        list.erase(
            std::slice::from_ref(&ann),
            landing::waitlist::Erasure::Complete,
        )
        .await
        .expect("erased");
    }
    let missing = Resource::new("/unsubscribe/wrong", 404, false).with_post(FORM, one_click, 404);
    for client in clients() {
        check_resource(&client, &site, &missing, async || false).await;
    }
}
