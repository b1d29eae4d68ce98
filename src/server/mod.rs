//! The site over HTTP: the state that all requests share, and the server.

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

/// What every request shares.
#[derive(Clone)]
pub struct AppState(Arc<AppStateInner>);

/// See [`AppState`].
pub struct AppStateInner {
    list: Arc<dyn Waitlist>,
    site: Arc<Site>,
    site_root: PathBuf,
    assets: Arc<Assets>,
    page_cache: page_cache::PageCache,
    text_files: text_files::TextFiles,
    /// Of every answer.
    security_headers: HeaderMap,
    proxies: TrustedProxies,
    untrusted_proxy_warning: WarningThrottle,
    readiness: health::ReadinessCheck,
    sign_up_rate_limit: rate_limit::SignUpRateLimit,
    max_connections: usize,
    shutdown_grace: Duration,
    /// Started by `cargo leptos watch`: files and pages are read and made anew for each request.
    is_watching: bool,
}

impl AppState {
    /// Reads the site's files and makes the pages.
    ///
    /// # Errors
    /// [`AssetsError`] when the files are missing or belong to another build.
    pub fn new(config: &Config, list: Arc<dyn Waitlist>) -> Result<Self, AssetsError> {
        let is_watching = std::env::var_os("LEPTOS_WATCH").is_some_and(|value| !value.is_empty());
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
        // All that is compressed here takes its time, and somebody waits for the first answer.
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
    /// The page of this moment.
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

/// Serves until `stop` resolves, then lets the requests under way finish: until they have, their time
/// is over ([`Config::shutdown_grace`]), or `stop` resolves once more.
pub async fn serve(listener: TcpListener, state: AppState, stop: impl AsyncFnMut()) {
    let page_refresh = tokio::spawn(page_cache::keep_fresh(state.clone()));
    connections::serve(listener, &state, stop).await;
    page_refresh.abort();
}

fn default_site_root() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.with_file_name("site")
}

fn site_from_config(config: &Config) -> Site {
    let url = |link: &Option<LinkUrl>| link.as_ref().map(|link| link.as_str().to_owned());
    Site {
        origin: config.origin.as_str().to_owned(),
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
