//! Properties that hold for all bytes that a client can send, or that a disk can return.
//!
//! `make torture NAME=fuzz` searches for bytes that violate them. `tests/site/fuzz_corpus.rs` checks them for the corpus.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{HeaderMap, HeaderValue, Request},
};
use http_body_util::BodyExt;
use landing::{
    server::{AppState, TrustedProxies, router},
    waitlist::{Email, JoinOutcome, SledWaitlist},
    wire,
};
use regex::Regex;
use serde::Deserialize;
use tower::ServiceExt;

use super::fixtures::{immediate, parse_config, stub_store};

/// The regular expression of WHATWG HTML, 4.10.5.1.5.
static WHATWG: LazyLock<Regex> = LazyLock::new(|| {
    let rule = r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$";
    Regex::new(rule).expect("a valid regular expression")
});

/// What may be around an address. A braille pattern without dots is blank.
static INVISIBLE: LazyLock<Regex> = LazyLock::new(|| {
    let rule = r"^[\p{White_Space}\p{Default_Ignorable_Code_Point}\u{2800}]*$";
    Regex::new(rule).expect("a valid regular expression")
});

/// An accepted address has no invisible characters, and its key is valid by WHATWG's rule, in lower case and at most
/// 254 bytes long. A text that is valid by that rule is accepted, unless it or its local part is too long.
pub(crate) fn email(bytes: &[u8]) {
    let typed = String::from_utf8_lossy(bytes);
    let Ok(email) = Email::parse(&typed) else {
        let trimmed = typed.trim();
        let local = trimmed.split('@').next().unwrap_or_default();
        assert!(!WHATWG.is_match(trimmed) || local.len() > 64 || trimmed.len() > 254);
        return;
    };
    let address = email.as_typed();
    let around = typed.split_once(address).expect("a part of the text");
    assert!(INVISIBLE.is_match(around.0) && INVISIBLE.is_match(around.1));
    assert!(address.len() <= 254);
    assert!(!address.contains(is_invisible), "{address:?}");
    let key = email.key();
    assert!(WHATWG.is_match(&key), "{key:?}");
    assert!(!key.contains(|c: char| c.is_ascii_uppercase()) && key.len() <= 254);
    let again = Email::parse(&key).expect("a key is an address");
    assert_eq!(again.key(), key, "{address:?}");
}

/// Returns whether a character is a control character, a space, has no width, or changes the direction of the text.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || c.is_whitespace()
        || matches!(
            c,
            '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}'..='\u{206f}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// What a sign-up sends. Other fields must be JSON too, such as numbers that are not too large.
#[derive(Deserialize)]
struct SentBody {
    #[serde(flatten)]
    fields: wire::SignUpBody,
}

/// A sign-up succeeds exactly when its body is the expected JSON with a valid address, of at most 4 KiB. Every
/// response has the documented form.
pub(crate) fn body(bytes: &[u8]) {
    let entry = serde_json::from_slice::<SentBody>(bytes).ok();
    let is_object = bytes.trim_ascii_start().starts_with(b"{");
    let email = entry
        .filter(|_| is_object && bytes.len() <= 4096)
        .and_then(|entry| Email::parse(&entry.fields.email).ok());
    let (status, response) = SITE.post(bytes);
    let response: serde_json::Value = serde_json::from_slice(&response).expect("JSON");
    match email {
        Some(email) => {
            assert_eq!(status, 201);
            assert_eq!(response["email"], email.as_typed());
        }
        None => {
            assert_eq!(status, if bytes.len() > 4096 { 413 } else { 400 });
            assert!(response["error"].is_string());
        }
    }
}

/// Whatever a client writes into `X-Forwarded-For`, its address is the one that the nearest trusted proxy adds. Without a
/// trusted proxy it is the peer address.
pub(crate) fn forwarded(bytes: &[u8]) {
    const HEADER: &str = "x-forwarded-for";
    let options = ["--trusted-proxies=10.0.0.0/8,fd00::/8"];
    let config = parse_config(&options).expect("valid options");
    let proxies = TrustedProxies(config.trusted_proxies);
    let [proxy, stranger, client] = ["10.0.0.1", "192.0.2.1", "2001:db8::7"]
        .map(|ip| ip.parse::<IpAddr>().expect("an address"));
    // The bytes between line feeds become the lines of the header.
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| HeaderValue::from_bytes(line).ok());
    let mut headers = HeaderMap::new();
    lines.for_each(|line| {
        headers.append(HEADER, line);
    });
    assert_eq!(proxies.client_address(stranger, &headers), stranger);
    proxies.client_address(proxy, &headers);

    let added = ["2001:db8::7", "10.0.0.9"];
    let mut more_lines = headers.clone();
    for value in added {
        more_lines.append(HEADER, HeaderValue::from_static(value));
    }
    assert_eq!(proxies.client_address(proxy, &more_lines), client);

    let all = headers.get_all(HEADER).iter();
    let all: Vec<_> = all.map(HeaderValue::as_bytes).collect();
    let one_line = [&all.join(&b", "[..]), added.join(", ").as_bytes()].join(&b", "[..]);
    if let Ok(one_line) = HeaderValue::from_bytes(&one_line) {
        headers.insert(HEADER, one_line);
        assert_eq!(proxies.client_address(proxy, &headers), client);
    }
}

/// A stored record that is accepted has the bytes that its items are written with. So no bytes are ignored, and no two
/// records mean the same.
pub(crate) fn record(bytes: &[u8]) {
    if let Some(written) = SledWaitlist::rewrite_record(bytes) {
        assert_eq!(written, bytes);
    }
}

static SITE: LazyLock<TestRouter> = LazyLock::new(|| {
    let config = parse_config(&["--signups-per-minute=0"]).expect("valid options");
    // Every sign-up is new to this store.
    let list = stub_store(|_| immediate(Ok(JoinOutcome::New)), || immediate(Ok(())));
    let state = AppState::new(&config, Arc::new(list), None);
    TestRouter(router(state))
});

struct TestRouter(Router);

impl TestRouter {
    fn post(&self, body: &[u8]) -> (u16, Vec<u8>) {
        let mut request = Request::post("/api/waitlist")
            .header("host", "site")
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        request.extensions_mut().insert(ConnectInfo(peer));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.expect("a runtime").block_on(async {
            let response = self.0.clone().oneshot(request).await.expect("a response");
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.expect("a body");
            (status, body.to_bytes().to_vec())
        })
    }
}
