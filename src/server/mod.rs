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
//! | `pages` | `GET /`, the files of the site, and the not-found page |
//! | `form` | `POST /` and `/confirm`: the sign-up form without JavaScript, and the code that confirms an address |
//! | `api` | `/api/*`: runs the server functions for clients of the API |
//! | `functions` | the server functions: `POST /api/waitlist`, `POST /api/waitlist/confirm`, `GET /api/waitlist/count` |
//! | `person_links` | `/confirm/{token}` and `/unsubscribe/{token}`: the links in messages |
//! | `health` | `/healthz` and `/readyz` |
//!
//! They share the rest:
//!
//! | module | holds |
//! |---|---|
//! | `people` | the list, signing up and confirming |
//! | `admission` | the extractor of a form: the cross-site check, the rate limit, the body, the preconditions; where a visitor comes from |
//! | `confirmation` | asking people to confirm their address, and welcoming them |
//! | `list_key` | the key of the list, for links and codes |
//! | `standings` | the line in which people wait |
//! | `webhook` | reports people who join, confirm or leave to another program |
//! | `http_client` | the client for requests to other servers |
//! | `body` | reads the bodies of requests |
//! | `preconditions` | `If-Match` and `If-None-Match` |
//! | `request_checks` | the host of a request, and its method |
//! | `rate_limit` | the number of sign-ups and of codes per client |
//! | `client` | the client of a request, also behind trusted proxies |
//! | `error` | every error: its status, public message, `Retry-After` and log line |
//! | `limits` | the sizes, numbers and timeouts of connections and requests that the owner cannot configure; the others are beside their mechanism |
//! | `resource` | responses from memory: encodings, `ETag`, `Cache-Control` |
//! | `site_files` | the texts and the files of the site |
//! | `assets` | the files: those that are compiled into the program, and those for crawlers |
//! | `response_headers` | the date, the security headers (`Content-Security-Policy`), and `no-store` unless a response has another |
//! | `access_log` | one log line per response |
//! | `warning_throttle` | at most one warning per minute |

mod access_log;
mod admission;
mod api;
mod assets;
mod body;
mod client;
mod confirmation;
mod connections;
mod error;
mod form;
mod functions;
mod health;
mod http_client;
mod limits;
mod list_key;
mod middleware;
mod pages;
mod people;
mod person_links;
mod preconditions;
mod rate_limit;
mod request_checks;
mod resource;
mod response_headers;
mod router;
mod site_files;
mod standings;
mod warning_throttle;
mod webhook;

use std::{sync::Arc, time::Duration};

use axum::extract::FromRef;
use tokio::{net::TcpListener, time::sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

pub use client::{ClientKey, TrustedProxies};
pub use confirmation::{ConfirmationSender, MessageKind, Recipients, count_recent};
pub use connections::{bind, listen, take_address};
pub use error::RequestError;
pub use http_client::{HttpClient, HttpError};
pub use router::router;
pub use webhook::{WebhookSender, WebhookTimes, run_webhook};

use admission::Admission;
use connections::ConnectionLimit;
use health::ReadinessCheck;
use pages::Pages;
use people::People;
use warning_throttle::WarningThrottle;

use crate::{config::Config, waitlist::Waitlist};

/// The parts of the server that all requests share. A handler takes those that it needs.
#[derive(Clone, FromRef)]
pub struct AppState {
    people: Arc<People>,
    pages: Arc<Pages>,
    admission: Arc<Admission>,
    readiness: Arc<ReadinessCheck>,
    connection_limit: Arc<ConnectionLimit>,
    http2_warning: Arc<WarningThrottle>,
    /// Cancelled when the shutdown starts. To clone a token takes a lock.
    shutdown: Arc<CancellationToken>,
}

impl AppState {
    /// Renders the pages. `sender` asks people to confirm their address, if the owner wants that.
    pub fn new(
        config: &Config,
        list: Arc<dyn Waitlist>,
        sender: Option<ConfirmationSender>,
    ) -> Self {
        let pages = Pages::new(config, Arc::clone(&list), sender.is_some());
        let origin = &pages.files.site.origin;
        let invite_origin = config.invites.then(|| origin.clone());
        Self {
            admission: Arc::new(Admission::new(config, origin)),
            pages: Arc::new(pages),
            readiness: Arc::new(ReadinessCheck::new(Arc::clone(&list))),
            people: Arc::new(People::new(list, sender, invite_origin)),
            connection_limit: ConnectionLimit::new(config.max_connections as usize),
            http2_warning: Arc::default(),
            shutdown: Arc::default(),
        }
    }
}

/// Serves until `stop` resolves, then lets the open requests and the message under way finish. Cuts them off after the grace
/// period, or when `stop` resolves a second time.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    shutdown_grace: Duration,
    mut stop: impl AsyncFnMut(),
) {
    let page_refresh = pages::keep_fresh(Arc::clone(&state.pages));
    let _page_refresh = AbortOnDropHandle::new(tokio::spawn(page_refresh));
    let (people, stopping) = (Arc::clone(&state.people), Arc::clone(&state.shutdown));
    // If it is aborted, the message under way is unknown. A code is sent again after the next start.
    let messages = AbortOnDropHandle::new(tokio::spawn(async move {
        if let Some(confirmation) = &people.confirmation {
            confirmation::run(confirmation, &stopping).await;
        }
    }));
    let grace_is_over = async {
        stop().await;
        state.shutdown.cancel();
        tokio::select! {
            () = sleep(shutdown_grace) => tracing::warn!(
                "some requests or messages took too long and were cut off; raise --shutdown-grace"
            ),
            () = stop() => tracing::warn!("the open requests and messages were cut off, as asked"),
        }
    };
    let everything = async { tokio::join!(connections::serve(listener, &state), messages) };
    tokio::select! {
        biased;
        _ = everything => {}
        () = grace_is_over => {}
    }
}
