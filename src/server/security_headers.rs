//! The security headers of every response.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use crate::page::{Files, Site};

/// The headers of every answer.
pub(super) fn build(site: &Site, files: &Files, is_watching: bool) -> HeaderMap {
    let mut headers = HeaderMap::from_iter(
        STATIC_HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))),
    );
    let policy = content_security_policy(&files.inline_css, is_watching);
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

const STATIC_HEADERS: [(HeaderName, &str); 5] = [
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
fn content_security_policy(style: &str, is_watching: bool) -> String {
    let hash = STANDARD.encode(Sha256::digest(style));
    let (script, style, connect) = if is_watching {
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
