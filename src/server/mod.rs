//! The HTTP server: its state and how it starts.
//!
//! A request passes through these modules, in this order:
//!
//! | module | holds |
//! |---|---|
//! | `connections` | accepts connections, limits and times them, closes them, shuts down |
//! | `middleware` | checks every request, adds headers to every response, catches panics |
//! | `router` | the table of routes |
//!
//! These modules handle the routes:
//!
//! | module | routes |
//! |---|---|
//! | `page_cache` | `GET /`, the files of the site, and the not-found page |
//! | `form` | `POST /`: the sign-up form without JavaScript |
//! | `api` | `/api/*`: the checks before a server function runs |
//! | `functions` | the server functions: `POST /api/waitlist` and `GET /api/waitlist/count` |
//! | `text_files` | `/robots.txt`, `/sitemap.xml` and `/llms.txt` |
//! | `health` | `/healthz` and `/readyz` |
//!
//! They share the rest:
//!
//! | module | holds |
//! |---|---|
//! | `sign_up` | a sign-up: the cross-site check, the rate limit, and joining the list |
//! | `rate_limit` | the number of sign-ups per client |
//! | `client` | the client of a request, also behind trusted proxies |
//! | `error` | every error: its status, public message, `Retry-After` and log line |
//! | `call` | what a server function shares with its caller |
//! | `limits` | every size, number and timeout that the owner cannot configure |
//! | `resource` | responses from memory: encodings, `ETag`, 304, `Cache-Control` |
//! | `assets` | the site's files, and the scripts of the islands |
//! | `watched_islands` | the islands while `make watch` runs |
//! | `security_headers` | the security headers, `Content-Security-Policy` among them |
//! | `access_log` | one log line per response |
//! | `warning_throttle` | at most one warning per minute |

mod access_log;
mod api;
mod assets;
mod call;
mod client;
mod connections;
mod error;
mod form;
mod functions;
mod health;
mod limits;
mod middleware;
mod page_cache;
mod rate_limit;
mod resource;
mod router;
mod security_headers;
mod sign_up;
mod text_files;
mod warning_throttle;
mod watched_islands;

use std::{ops::Deref, panic::resume_unwind, path::PathBuf, sync::Arc, thread, time::Duration};

use axum::http::HeaderMap;
use tokio::net::TcpListener;

pub use assets::{Assets, AssetsError};
pub use client::{ClientKey, TrustedProxies};
pub use connections::listen;
pub use error::RequestError;
pub use router::router;
pub use sign_up::sign_up;

use warning_throttle::WarningThrottle;

use crate::{
    config::{Config, LinkUrl},
    page::{Page, Site},
    waitlist::Waitlist,
};

/// The state that all requests share.
#[derive(Clone)]
pub struct AppState(Arc<AppStateInner>);

/// The fields of [`AppState`].
pub struct AppStateInner {
    list: Arc<dyn Waitlist>,
    site: Arc<Site>,
    site_root: PathBuf,
    assets: Arc<Assets>,
    page_cache: page_cache::PageCache,
    text_files: text_files::TextFiles,
    /// Added to every response.
    security_headers: HeaderMap,
    proxies: TrustedProxies,
    untrusted_proxy_warning: WarningThrottle,
    readiness: health::ReadinessCheck,
    sign_up_rate_limit: rate_limit::SignUpRateLimit,
    max_connections: usize,
    shutdown_grace: Duration,
    /// Whether `cargo leptos watch` runs this server. Then each request reads the files again and renders its page.
    is_watching: bool,
}

impl AppState {
    /// Reads the site's files and renders the pages.
    ///
    /// # Errors
    /// [`AssetsError`] if files are missing, unreadable or from another build.
    pub fn new(config: &Config, list: Arc<dyn Waitlist>) -> Result<Self, AssetsError> {
        let is_watching = is_watching();
        let site_root = config.site_root.clone().unwrap_or_else(default_site_root);
        let site = Arc::new(site_from_config(config));
        let assets = Arc::new(Assets::load(&site_root, &site, is_watching)?);
        let page = Page {
            site: Arc::clone(&site),
            files: Arc::clone(assets.files()),
            count: list.count(),
            reply: None,
            is_watching,
        };
        // In parallel: compressing takes a while, and the server does not accept requests until it is done.
        let (page_cache, text_files) = thread::scope(|scope| {
            let text_files = scope.spawn(|| text_files::TextFiles::new(&site));
            let page_cache = page_cache::PageCache::new(page);
            let text_files = text_files
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic));
            (page_cache, text_files)
        });
        Ok(Self(Arc::new(AppStateInner {
            page_cache,
            text_files,
            list,
            security_headers: security_headers::build(&site, assets.files(), is_watching),
            proxies: TrustedProxies::from_config(config),
            untrusted_proxy_warning: WarningThrottle::default(),
            readiness: health::ReadinessCheck::default(),
            sign_up_rate_limit: rate_limit::SignUpRateLimit::per_minute(config.signups_per_minute),
            max_connections: config.max_connections as usize,
            shutdown_grace: Duration::from_secs(config.shutdown_grace),
            site,
            site_root,
            assets,
            is_watching,
        })))
    }
}

impl Deref for AppState {
    type Target = AppStateInner;

    fn deref(&self) -> &AppStateInner {
        &self.0
    }
}

impl AppStateInner {
    /// Returns the contents of the page as of now.
    fn current_page(&self) -> Page {
        Page {
            site: Arc::clone(&self.site),
            files: Arc::clone(self.assets().files()),
            count: self.list.count(),
            reply: None,
            is_watching: self.is_watching,
        }
    }

    fn assets(&self) -> Arc<Assets> {
        if self.is_watching
            && let Ok(assets) = Assets::load(&self.site_root, &self.site, true)
        {
            return Arc::new(assets);
        }
        Arc::clone(&self.assets)
    }
}

/// Serves until `stop` resolves, then lets the open requests finish. Cuts them off after
/// [`Config::shutdown_grace`], or when `stop` resolves a second time.
pub async fn serve(listener: TcpListener, state: AppState, stop: impl AsyncFnMut()) {
    let page_refresh = tokio::spawn(page_cache::keep_fresh(state.clone()));
    connections::serve(listener, &state, stop).await;
    page_refresh.abort();
}

/// Returns whether `cargo leptos watch` runs this server.
fn is_watching() -> bool {
    std::env::var_os("LEPTOS_WATCH").is_some_and(|value| !value.is_empty())
}

fn default_site_root() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.with_file_name("site")
}

fn site_from_config(config: &Config) -> Site {
    let url = |link: &Option<LinkUrl>| link.as_ref().map(|link| link.as_str().to_owned());
    Site {
        origin: config
            .origin
            .clone()
            .unwrap_or_default()
            .as_str()
            .to_owned(),
        product: config.product.clone(),
        contact_email: config.contact.clone(),
        social_url: config.social.as_str().to_owned(),
        social_host: config.social.host().to_owned(),
        count_from: config.count_from,
        privacy_url: url(&config.privacy_url),
        terms_url: url(&config.terms_url),
        support_url: url(&config.support_url),
    }
}
