//! The headers of every response: the date, and the security headers.

use std::time::SystemTime;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use ring::digest::{SHA256, digest};

use super::site_files::SiteFiles;
use crate::config::Hsts;

/// The headers that every response gets, except the date.
pub(super) struct ResponseHeaders(HeaderMap);

impl ResponseHeaders {
    /// Builds the headers for the pages of a site.
    pub(super) fn new(files: &SiteFiles, hsts: Hsts) -> Self {
        Self(build(files, hsts))
    }

    /// Adds the headers to those of a response. It may have a stricter one already.
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        // hyper keeps the date until the second is over by the clock, so for an hour if the clock was set back by an hour.
        if let Some(date) = http_date() {
            headers.insert(header::DATE, date);
        }
        for (name, value) in &self.0 {
            if !headers.contains_key(name) {
                headers.insert(name, value.clone());
            }
        }
    }
}

/// Returns the time as of now, for `Date`.
fn http_date() -> Option<HeaderValue> {
    let now = Timestamp::try_from(SystemTime::now()).ok()?;
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
    HeaderValue::try_from(date.ok()?).ok()
}

fn build(files: &SiteFiles, hsts: Hsts) -> HeaderMap {
    let mut headers = HeaderMap::from_iter(
        STATIC_HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))),
    );
    let assets = files.assets();
    let page_files = assets.files();
    let policy = content_security_policy(
        &page_files.head_script,
        &page_files.inline_css,
        files.is_watching(),
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if files.site().origin.starts_with("https:")
        && let Some(hsts) = strict_transport_security(hsts)
    {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static(hsts),
        );
    }
    headers
}

/// Returns a policy for two years. Browsers keep it even if the header is no longer sent.
fn strict_transport_security(hsts: Hsts) -> Option<&'static str> {
    match hsts {
        Hsts::Off => None,
        Hsts::Host => Some("max-age=63072000"),
        Hsts::Subdomains => Some("max-age=63072000; includeSubDomains"),
    }
}

const STATIC_HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Other sites need not know where their visitors come from. `no-referrer` would go too far: with it,
    // browsers send `Origin: null` when the form is submitted without JavaScript.
    (header::REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    // Disables every feature that needs a permission or reveals something about the visitor. Features that a
    // browser lacks on some platform (`web-share` on Linux) are not listed: it would log a warning.
    (
        HeaderName::from_static("permissions-policy"),
        "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), \
         fullscreen=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), magnetometer=(), \
         microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), \
         screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()",
    ),
];

/// Returns a policy that allows only the site's own files, its WebAssembly, and by their hashes the script and the
/// style sheet in the head. No script turns text into HTML, so Trusted Types need no policy.
fn content_security_policy(script: &str, style: &str, is_watching: bool) -> String {
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    let (script, style, connect) = if is_watching {
        // `cargo leptos watch` needs an inline script that opens a WebSocket on another port, and the style changes.
        (
            "'self' 'wasm-unsafe-eval' 'unsafe-inline'".into(),
            "'unsafe-inline'".into(),
            "'self' ws:",
        )
    } else {
        (
            format!("'self' 'wasm-unsafe-eval' 'sha256-{}'", hash(script)),
            format!("'sha256-{}'", hash(style)),
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
