//! The edge of the site: what every request passes first, and every answer last. Here an answer gets
//! its security headers, and the log its line.

use std::{panic::AssertUnwindSafe, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header},
    middleware::Next,
    response::Response,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::FutureExt;
use hyper::body::Body;
use sha2::{Digest, Sha256};

use super::{
    ApiError, AppState,
    limits::{FIELDS_MAX, HEAD_MAX_BYTES, URL_MAX_BYTES},
};
use crate::page::{Files, Site};

/// Runs a request, whatever becomes of it.
pub(super) async fn pass(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let line = Line::of(&request);
    let response = match objection(&request) {
        Some(error) => error.respond(),
        None => {
            let run = AssertUnwindSafe(next.run(request)).catch_unwind();
            // What panicked has been logged by the hook of the program.
            run.await
                .unwrap_or_else(|_| ApiError::Internal(String::new()).respond())
        }
    };
    finish(&state, line, response)
}

/// Answers who sent what is no request.
pub(super) fn refuse(state: &AppState, error: ApiError) -> Response {
    finish(state, Line::of_nothing(), error.respond())
}

/// What is wrong with a request, whatever it asks for.
fn objection(request: &Request) -> Option<ApiError> {
    let head = request.headers();
    let url = request.uri().path_and_query();
    let bytes: usize = head
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if bytes > HEAD_MAX_BYTES || head.len() > FIELDS_MAX {
        Some(ApiError::HeadTooLarge)
    } else if url.is_some_and(|url| url.as_str().len() > URL_MAX_BYTES) {
        Some(ApiError::UrlTooLong)
    } else if request.version() == Version::HTTP_11
        && head.get_all(header::HOST).iter().count() != 1
    {
        // RFC 9112, 3.2: what is on the way might take it for another host's than we do.
        Some(ApiError::BadRequest)
    } else {
        None
    }
}

fn finish(state: &AppState, mut line: Line, mut response: Response) -> Response {
    response
        .headers_mut()
        .extend(state.security_headers.clone());
    line.status = response.status().as_u16();
    line.bytes = response.body().size_hint().exact().unwrap_or_default();
    response
}

/// A request's line in the log, written when it is over, also when the client has gone meanwhile.
struct Line {
    begun: Instant,
    method: &'static str,
    /// As it is in the table of routes: a path or a query could hold an address.
    route: Option<MatchedPath>,
    status: u16,
    /// Of the answer's body.
    bytes: u64,
}

impl Line {
    fn of(request: &Request) -> Self {
        Self {
            begun: Instant::now(),
            method: name(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            status: GONE,
            bytes: 0,
        }
    }

    fn of_nothing() -> Self {
        Self {
            begun: Instant::now(),
            method: OTHER_METHOD,
            route: None,
            status: GONE,
            bytes: 0,
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        tracing::info!(
            method = self.method,
            route = self.route.as_ref().map_or(OTHER, MatchedPath::as_str),
            status = self.status,
            us = self.begun.elapsed().as_micros() as u64,
            bytes = self.bytes,
            "answered"
        );
    }
}

/// For a client that did not wait for the answer; nginx's number.
const GONE: u16 = 499;

/// The route of files, and of what is not found.
const OTHER: &str = "/{file}";

/// A method as it is logged: one that nobody knows is what a client has made up.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER_METHOD,
    }
}

const OTHER_METHOD: &str = "other";

/// The headers of every answer.
pub(super) fn security_headers(site: &Site, files: &Files, watch: bool) -> HeaderMap {
    let mut headers =
        HeaderMap::from_iter(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    let policy = content_security_policy(&files.style, watch);
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if site.origin.starts_with("https:") {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=63072000; includeSubDomains"),
        );
    }
    headers
}

const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Where visitors go from here need not know where they were. Not `no-referrer`: with it a
    // browser says `Origin: null` when the form posts itself.
    (header::REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    // What a browser would ask the visitor for, or could give away. The page wants none of it. Of what
    // a browser does not know on its platform (`web-share` on Linux) it would complain in the console.
    (
        HeaderName::from_static("permissions-policy"),
        "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), \
         fullscreen=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), magnetometer=(), \
         microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), \
         screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()",
    ),
];

/// Nothing but what the page has: its own files, the wasm host, and the one style element, by its
/// hash. No script is inline and none makes HTML of text, so Trusted Types need no policy.
fn content_security_policy(style: &str, watch: bool) -> String {
    let hash = STANDARD.encode(Sha256::digest(style));
    let (script, style, connect) = if watch {
        // `cargo leptos watch` has its reload script inline, with a socket on a port of its own, and
        // the style in a file.
        (
            "'self' 'wasm-unsafe-eval' 'unsafe-inline'",
            "'self' 'unsafe-inline'".into(),
            "'self' ws:",
        )
    } else {
        (
            "'self' 'wasm-unsafe-eval'",
            format!("'sha256-{hash}'"),
            "'self'",
        )
    };
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; font-src 'self'; \
         img-src 'self'; connect-src {connect}; manifest-src 'self'; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'"
    )
}
