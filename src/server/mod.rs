//! The site over HTTP: the routes, what they share, and serving until told to stop.

mod api;
mod assets;
mod client;
mod connections;
mod edge;
mod error;
mod functions;
mod health;
mod limits;
mod page;
mod rate_limit;
mod resource;
mod seldom;
mod sign_up;
mod texts;

use std::{ops::Deref, panic::resume_unwind, path::PathBuf, sync::Arc, thread, time::Duration};

use axum::{
    Router,
    http::HeaderMap,
    middleware,
    routing::{any, get, post},
};
use tokio::net::TcpListener;

pub use api::{list, set_status};
pub use assets::{Assets, AssetsError};
pub use client::{Client, Proxies};
pub use connections::listen;
pub use error::ApiError;
pub use sign_up::sign_up;

use seldom::Seldom;

use crate::{
    config::{Config, Link},
    page::{Page, Site},
    waitlist::Waitlist,
};

/// Every address of the site.
pub fn router(state: AppState) -> Router {
    Router::new()
        .route("/", get(page::landing).post(page::sign_up_by_form))
        .route("/robots.txt", texts::get(|texts| &texts.robots))
        .route("/sitemap.xml", texts::get(|texts| &texts.sitemap))
        .route("/llms.txt", texts::get(|texts| &texts.llms))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/api/waitlist", post(api::server_function))
        .route("/api/waitlist/count", get(api::server_function))
        .route("/api", any(api::not_found))
        .route("/api/", any(api::not_found))
        .route("/api/{*path}", any(api::not_found))
        .method_not_allowed_fallback(api::method_not_allowed)
        .fallback(page::file_or_not_found)
        .layer(middleware::from_fn_with_state(state.clone(), edge::pass))
        .with_state(state)
}

/// What every request shares.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

/// See [`AppState`].
pub struct Shared {
    list: Arc<dyn Waitlist>,
    site: Arc<Site>,
    site_root: PathBuf,
    assets: Arc<Assets>,
    pages: page::Pages,
    texts: texts::Texts,
    /// Of every answer.
    security_headers: HeaderMap,
    proxies: Proxies,
    unknown_proxy: Seldom,
    readiness: health::Readiness,
    sign_up_limit: rate_limit::SignUpLimit,
    max_connections: usize,
    shutdown_grace: Duration,
    /// Started by `cargo leptos watch`: files and pages are read and made anew for each request.
    watch: bool,
}

impl AppState {
    /// Reads the site's files and makes the pages.
    ///
    /// # Errors
    /// [`AssetsError`] when the files are missing or belong to another build.
    pub fn new(config: &Config, list: Arc<dyn Waitlist>) -> Result<Self, AssetsError> {
        let watch = std::env::var_os("LEPTOS_WATCH").is_some_and(|value| !value.is_empty());
        let site_root = config.site_root.clone().unwrap_or_else(beside_the_program);
        let site = Arc::new(site(config));
        let assets = Arc::new(Assets::load(&site_root, &site, watch)?);
        let page = Page {
            site: Arc::clone(&site),
            files: Arc::clone(assets.files()),
            count: list.count(),
            reply: None,
            watch,
        };
        // All that is compressed here takes its time, and somebody waits for the first answer.
        let (pages, texts) = thread::scope(|scope| {
            let texts = scope.spawn(|| texts::Texts::new(&site));
            let pages = page::Pages::new(page);
            let texts = texts.join().unwrap_or_else(|panic| resume_unwind(panic));
            (pages, texts)
        });
        Ok(Self(Arc::new(Shared {
            pages,
            texts,
            list,
            security_headers: edge::security_headers(&site, assets.files(), watch),
            proxies: Proxies::new(config),
            unknown_proxy: Seldom::default(),
            readiness: health::Readiness::default(),
            sign_up_limit: rate_limit::SignUpLimit::per_minute(config.signups_per_minute),
            max_connections: config.max_connections as usize,
            shutdown_grace: Duration::from_secs(config.shutdown_grace),
            site,
            site_root,
            assets,
            watch,
        })))
    }
}

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Shared {
    /// The page of this moment.
    fn page(&self) -> Page {
        Page {
            site: Arc::clone(&self.site),
            files: Arc::clone(self.assets().files()),
            count: self.list.count(),
            reply: None,
            watch: self.watch,
        }
    }

    fn assets(&self) -> Arc<Assets> {
        if self.watch
            && let Ok(fresh) = Assets::load(&self.site_root, &self.site, true)
        {
            return Arc::new(fresh);
        }
        Arc::clone(&self.assets)
    }
}

/// Serves until `stop` resolves, then lets the requests under way finish: until they have, their time
/// is over ([`Config::shutdown_grace`]), or `stop` resolves once more.
pub async fn serve(listener: TcpListener, state: AppState, stop: impl AsyncFnMut()) {
    let fresh = tokio::spawn(page::keep_fresh(state.clone()));
    connections::serve(listener, &state, stop).await;
    fresh.abort();
}

fn beside_the_program() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.with_file_name("site")
}

fn site(config: &Config) -> Site {
    let url = |link: &Option<Link>| link.as_ref().map(|link| link.as_str().to_owned());
    Site {
        origin: config.origin.as_str().to_owned(),
        product: config.product.clone(),
        contact: config.contact.clone(),
        social: config.social.as_str().to_owned(),
        social_host: config.social.host().to_owned(),
        count_from: config.count_from,
        privacy_url: url(&config.privacy_url),
        terms_url: url(&config.terms_url),
        support_url: url(&config.support_url),
    }
}
