//! The headers of every response: the date, the security headers, and whether a cache may keep it.

use std::{mem, time::SystemTime};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};

use super::site_files::{SiteFiles, WATCHED_BUILD};
use crate::config::Hsts;

/// The headers that every response gets, except the date.
pub(super) struct ResponseHeaders(HeaderMap);

impl ResponseHeaders {
    /// Builds the headers for the pages of a site.
    pub(super) fn new(files: &SiteFiles, hsts: Hsts) -> Self {
        let mut headers = HeaderMap::new();
        headers.extend(STATIC_HEADERS.map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        }));
        let policy = HeaderValue::try_from(content_security_policy(files));
        headers.insert(header::CONTENT_SECURITY_POLICY, policy.expect("ASCII"));
        if files.site.origin.starts_with("https:") {
            let hsts = strict_transport_security(hsts).map(HeaderValue::from_static);
            headers.extend(hsts.map(|it| (header::STRICT_TRANSPORT_SECURITY, it)));
        }
        Self(headers)
    }

    /// Adds the headers to those of a response, except those that it has already.
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        // hyper keeps the date until the second is over by the clock, so for an hour if the clock was set back by an hour.
        let date = httpdate::fmt_http_date(SystemTime::now());
        headers.extend(HeaderValue::try_from(date).map(|date| (header::DATE, date)));
        let own = mem::replace(headers, self.0.clone());
        headers.extend(own);
    }
}

/// Returns a policy for two years. Browsers keep it even if the header is no longer sent.
fn strict_transport_security(hsts: Hsts) -> Option<&'static str> {
    match hsts {
        Hsts::Off => None,
        Hsts::Host => Some("max-age=63072000"),
        Hsts::Subdomains => Some("max-age=63072000; includeSubDomains"),
    }
}

const STATIC_HEADERS: [(&str, &str); 6] = [
    // The pages and files that a cache may keep say so.
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    // Other sites need not know where their visitors come from. `no-referrer` would go too far: with it,
    // browsers send `Origin: null` when the form is submitted without JavaScript.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    // Disables every feature that needs a permission or reveals something about the visitor. Features that a
    // browser lacks on some platform (`web-share` on Linux) are not listed: it would log a warning.
    (
        "permissions-policy",
        "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), \
         fullscreen=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), magnetometer=(), \
         microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), \
         screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()",
    ),
];

/// Returns a policy that allows only the site's own files, its WebAssembly, and by their hashes the script and the
/// style sheet in the head. No script turns text into HTML, so Trusted Types need no policy.
fn content_security_policy(files: &SiteFiles) -> String {
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    let assets = files.assets();
    let page = assets.files();
    let (script, style, connect) = if WATCHED_BUILD.is_some() {
        // `cargo leptos watch` needs an inline script that opens a WebSocket on another port, and the style changes.
        (
            "'self' 'wasm-unsafe-eval' 'unsafe-inline'".into(),
            "'unsafe-inline'".into(),
            "'self' ws:",
        )
    } else {
        (
            format!(
                "'self' 'wasm-unsafe-eval' 'sha256-{}'",
                hash(&page.head_script)
            ),
            format!("'sha256-{}'", hash(&page.inline_css)),
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
