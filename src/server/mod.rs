//! The HTTP server: its state and how it starts.
//!
//! A request passes through these modules, in this order:
//!
//! | module | holds |
//! |---|---|
//! | `connections` | accepts connections, limits and times them, closes them, shuts down |
//! | `middleware` | checks every request, adds headers to every response, responds with 304, catches panics |
//! | `router` | the table of routes |
//!
//! These modules handle the routes:
//!
//! | module | routes |
//! |---|---|
//! | `page_cache` | `GET /`, the files of the site, and the not-found page |
//! | `form` | `POST /`: the sign-up form without JavaScript |
//! | `api` | `/api/*`: the checks before a server function runs |
//! | `functions` | the server functions: `POST /api/waitlist`, `POST /api/waitlist/confirm`, `GET /api/waitlist/count` |
//! | `code_form` | `/confirm`: the code that confirms an address, without JavaScript |
//! | `person_links` | `/confirm/{token}` and `/unsubscribe/{token}`: the links in messages |
//! | `text_files` | `/robots.txt`, `/sitemap.xml` and `/llms.txt` |
//! | `health` | `/healthz` and `/readyz` |
//!
//! They share the rest:
//!
//! | module | holds |
//! |---|---|
//! | `sign_up` | a sign-up: the cross-site check, the rate limit, and joining the list |
//! | `confirmation` | asking people to confirm their address |
//! | `list_key` | the key of the list, for links and codes |
//! | `source_parameter` | where a visitor comes from: `?ref=hn` in the URL of the page |
//! | `body` | reads the bodies of requests |
//! | `preconditions` | `If-Match` and `If-None-Match` |
//! | `host` | whether a request names one valid host |
//! | `store_deadline` | how long a request may wait for the store |
//! | `rate_limit` | the number of sign-ups and of codes per client |
//! | `client` | the client of a request, also behind trusted proxies |
//! | `error` | every error: its status, public message, `Retry-After` and log line |
//! | `call` | what a server function shares with its caller |
//! | `shutdown` | whether the server shuts down |
//! | `limits` | every size, number and timeout that the owner cannot configure |
//! | `resource` | responses from memory: encodings, `ETag`, `Cache-Control` |
//! | `site_files` | the texts and the files of the site |
//! | `assets` | the files, which are compiled into the program |
//! | `watched_assets` | the files while `cargo leptos watch` runs |
//! | `security_headers` | the security headers, `Content-Security-Policy` among them |
//! | `access_log` | one log line per response |
//! | `warning_throttle` | at most one warning per minute |

mod access_log;
mod api;
mod assets;
mod body;
mod call;
mod client;
mod code_form;
mod confirmation;
mod connections;
mod error;
mod evicted;
mod form;
mod functions;
mod health;
mod host;
mod limits;
mod list_key;
mod middleware;
mod page_cache;
mod person_links;
mod preconditions;
mod rate_limit;
mod resource;
mod router;
mod security_headers;
mod shutdown;
mod sign_up;
mod site_files;
mod source_parameter;
mod store_deadline;
mod text_files;
mod warning_throttle;
mod watched_assets;

use std::{ops::Deref, sync::Arc, time::Duration};

use axum::http::HeaderMap;
use futures_util::future::OptionFuture;
use tokio::{net::TcpListener, time::sleep};
use tokio_util::task::AbortOnDropHandle;

pub use client::{ClientKey, TrustedProxies};
pub use confirmation::{
    ATTEMPTS_MAX, AskedPeople, ConfirmationError, ConfirmationSender, count_recent,
};
pub use connections::{bind, listen, take_address};
pub use error::RequestError;
pub use limits::{CLIENT_TIMEOUTS, Timeouts};
pub use router::router;

use confirmation::Confirmation;
use warning_throttle::WarningThrottle;

use crate::{config::Config, page::Page, waitlist::Waitlist};

/// The state that all requests share.
#[derive(Clone)]
pub struct AppState(Arc<AppStateInner>);

/// The fields of [`AppState`].
pub struct AppStateInner {
    list: Arc<dyn Waitlist>,
    /// `None` if people need not confirm their address.
    confirmation: Option<Arc<Confirmation>>,
    files: site_files::SiteFiles,
    page_cache: page_cache::PageCache,
    text_files: text_files::TextFiles,
    link_pages: person_links::LinkPages,
    list_key: Arc<list_key::ListKeyCache>,
    /// Added to every response.
    security_headers: HeaderMap,
    proxies: TrustedProxies,
    untrusted_proxy_warning: WarningThrottle,
    http2_warning: WarningThrottle,
    readiness: health::ReadinessCheck,
    rate_limits: rate_limit::RateLimits,
    client_timeouts: Timeouts,
    max_connections: usize,
    shutdown: shutdown::Shutdown,
    shutdown_grace: Duration,
}

impl AppState {
    /// Renders the pages. `sender` asks people to confirm their address, if the owner wants that.
    pub fn new(
        config: &Config,
        list: Arc<dyn Waitlist>,
        sender: Option<ConfirmationSender>,
    ) -> Self {
        let files = site_files::SiteFiles::new(config);
        let list_key = Arc::new(list_key::ListKeyCache::new(Arc::clone(&list)));
        let confirmation = sender.map(|sender| {
            let (list, key) = (Arc::clone(&list), Arc::clone(&list_key));
            Arc::new(Confirmation::new(sender, list, key))
        });
        let page = files.page(list.count(), confirmation.is_some());
        Self(Arc::new(AppStateInner {
            page_cache: page_cache::PageCache::new(page),
            text_files: text_files::TextFiles::new(files.site()),
            link_pages: person_links::LinkPages::default(),
            list_key,
            list,
            confirmation,
            security_headers: security_headers::build(&files, config.hsts),
            proxies: TrustedProxies::from_config(config),
            untrusted_proxy_warning: WarningThrottle::default(),
            http2_warning: WarningThrottle::default(),
            readiness: health::ReadinessCheck::default(),
            rate_limits: rate_limit::RateLimits::per_minute(config.signups_per_minute),
            client_timeouts: CLIENT_TIMEOUTS,
            max_connections: config.max_connections as usize,
            shutdown: shutdown::Shutdown::default(),
            shutdown_grace: Duration::from_secs(config.shutdown_grace),
            files,
        }))
    }

    /// Replaces [`CLIENT_TIMEOUTS`], before the state is shared.
    #[must_use]
    pub fn with_client_timeouts(mut self, timeouts: Timeouts) -> Self {
        if let Some(state) = Arc::get_mut(&mut self.0) {
            state.client_timeouts = timeouts;
        }
        self
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
        self.files
            .page(self.list.count(), self.confirmation.is_some())
    }
}

/// Serves until `stop` resolves, then lets the open requests and the message under way finish. Cuts them off after
/// [`Config::shutdown_grace`], or when `stop` resolves a second time.
pub async fn serve(listener: TcpListener, state: AppState, mut stop: impl AsyncFnMut()) {
    let _page_refresh = AbortOnDropHandle::new(tokio::spawn(page_cache::keep_fresh(state.clone())));
    let messages = state.confirmation.clone().map(|confirmation| {
        let state = state.clone();
        let messages = async move { confirmation.run(state.shutdown.started()).await };
        // If it is aborted, the message under way is unknown, and is sent again after the next start.
        AbortOnDropHandle::new(tokio::spawn(messages))
    });
    let everything = async {
        tokio::join!(
            connections::serve(listener, &state),
            OptionFuture::from(messages)
        )
    };
    let grace_is_over = async {
        stop().await;
        state.shutdown.start();
        tokio::select! {
            () = sleep(state.shutdown_grace) => {}
            () = stop() => {}
        }
    };
    tokio::select! {
        biased;
        _ = everything => {}
        () = grace_is_over => tracing::warn!(
            "some requests or messages took too long and were cut off; raise --shutdown-grace"
        ),
    }
}
