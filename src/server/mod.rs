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
//! | `pages` | `GET /`, the files of the site, the text files, and the not-found page |
//! | `form` | `POST /`: the sign-up form without JavaScript |
//! | `api` | `/api/*`: checks a request, and runs its server function |
//! | `functions` | the server functions: `POST /api/waitlist`, `POST /api/waitlist/confirm`, `GET /api/waitlist/count` |
//! | `code_form` | `/confirm`: the code that confirms an address, without JavaScript |
//! | `person_links` | `/confirm/{token}` and `/unsubscribe/{token}`: the links in messages |
//! | `health` | `/healthz` and `/readyz` |
//!
//! They share the rest:
//!
//! | module | holds |
//! |---|---|
//! | `people` | the list, and signing up |
//! | `page_cache` | the landing page and the not-found page in memory |
//! | `text_files` | `/robots.txt`, `/sitemap.xml` and `/llms.txt` |
//! | `admission` | the cross-site check, and the rate limit |
//! | `confirmation` | asking people to confirm their address |
//! | `list_key` | the key of the list, for links and codes |
//! | `source_parameter` | where a visitor comes from: `?ref=hn` in the URL of the page |
//! | `body` | reads the bodies of requests |
//! | `preconditions` | `If-Match` and `If-None-Match` |
//! | `request_checks` | the size of a request, its host and its method |
//! | `store_deadline` | how long a request may wait for the store |
//! | `rate_limit` | the number of sign-ups and of codes per client |
//! | `client` | the client of a request, also behind trusted proxies |
//! | `error` | every error: its status, public message, `Retry-After` and log line |
//! | `shutdown` | whether the server shuts down |
//! | `limits` | every size, number and timeout that the owner cannot configure |
//! | `resource` | responses from memory: encodings, `ETag`, `Cache-Control` |
//! | `site_files` | the texts and the files of the site |
//! | `assets` | the files, which are compiled into the program |
//! | `watched_assets` | the files while `cargo leptos watch` runs |
//! | `response_headers` | the date and the security headers, `Content-Security-Policy` among them |
//! | `access_log` | one log line per response |
//! | `warning_throttle` | at most one warning per minute |

mod access_log;
mod admission;
mod api;
mod assets;
mod body;
mod client;
mod code_form;
mod confirmation;
mod connections;
mod error;
mod form;
mod functions;
mod health;
mod limits;
mod list_key;
mod middleware;
mod page_cache;
mod pages;
mod people;
mod person_links;
mod preconditions;
mod rate_limit;
mod request_checks;
mod resource;
mod response_headers;
mod router;
mod shutdown;
mod site_files;
mod source_parameter;
mod store_deadline;
mod text_files;
mod warning_throttle;
mod watched_assets;

use std::{sync::Arc, time::Duration};

use axum::extract::FromRef;
use tokio::{net::TcpListener, time::sleep};
use tokio_util::task::AbortOnDropHandle;

pub use client::{ClientKey, TrustedProxies};
pub use confirmation::{
    ATTEMPTS_MAX, AskedPeople, ConfirmationError, ConfirmationSender, count_recent,
};
pub use connections::{bind, listen, take_address};
pub use error::RequestError;
pub use router::router;

use admission::Admission;
use health::ReadinessCheck;
use pages::Pages;
use people::People;
use response_headers::ResponseHeaders;
use shutdown::Shutdown;
use warning_throttle::WarningThrottle;

use crate::{config::Config, waitlist::Waitlist};

/// The state that all requests share. A handler takes the parts that it needs.
#[derive(Clone)]
pub struct AppState {
    people: Arc<People>,
    pages: Arc<Pages>,
    admission: Arc<Admission>,
    readiness: Arc<ReadinessCheck>,
    response_headers: Arc<ResponseHeaders>,
    max_connections: usize,
    http2_warning: Arc<WarningThrottle>,
    shutdown: Arc<Shutdown>,
}

/// Makes each part of the state available to handlers.
macro_rules! parts {
    ($($name:ident: $part:ty,)*) => {$(
        impl FromRef<AppState> for Arc<$part> {
            fn from_ref(state: &AppState) -> Self {
                Arc::clone(&state.$name)
            }
        }
    )*};
}

parts! {
    people: People,
    pages: Pages,
    admission: Admission,
    readiness: ReadinessCheck,
    response_headers: ResponseHeaders,
    shutdown: Shutdown,
}

impl AppState {
    /// Renders the pages. `sender` asks people to confirm their address, if the owner wants that.
    pub fn new(
        config: &Config,
        list: Arc<dyn Waitlist>,
        sender: Option<ConfirmationSender>,
    ) -> Self {
        let pages = Pages::new(config, Arc::clone(&list), sender.is_some());
        Self {
            admission: Arc::new(Admission::new(config, &pages.files.site().origin)),
            response_headers: Arc::new(ResponseHeaders::new(&pages.files, config.hsts)),
            pages: Arc::new(pages),
            readiness: Arc::new(ReadinessCheck::new(Arc::clone(&list))),
            people: Arc::new(People::new(list, sender)),
            max_connections: config.max_connections as usize,
            http2_warning: Arc::default(),
            shutdown: Arc::new(Shutdown::new(Duration::from_secs(config.shutdown_grace))),
        }
    }
}

/// Serves until `stop` resolves, then lets the open requests and the message under way finish. Cuts them off after
/// [`Config::shutdown_grace`], or when `stop` resolves a second time.
pub async fn serve(listener: TcpListener, state: AppState, mut stop: impl AsyncFnMut()) {
    let page_refresh = pages::keep_fresh(Arc::clone(&state.pages));
    let _page_refresh = AbortOnDropHandle::new(tokio::spawn(page_refresh));
    let (people, shutdown) = (Arc::clone(&state.people), Arc::clone(&state.shutdown));
    // If it is aborted, the message under way is unknown, and is sent again after the next start.
    let messages = AbortOnDropHandle::new(tokio::spawn(async move {
        if let Some(confirmation) = &people.confirmation {
            confirmation.run(shutdown.started()).await;
        }
    }));
    let everything = async { tokio::join!(connections::serve(listener, &state), messages) };
    let grace_is_over = async {
        stop().await;
        state.shutdown.start();
        tokio::select! {
            () = sleep(state.shutdown.grace) => {}
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
