//! The site over HTTP: the routes, what they share, and serving until told to stop.

mod api;
mod assets;
mod client;
mod error;
mod limits;
mod page;
mod resource;
mod sign_up;
mod texts;

use std::{io, ops::Deref, panic::resume_unwind, path::PathBuf, sync::Arc, thread};

use axum::{
    Router,
    routing::{any, get, post},
};
use tokio::{net::TcpListener, sync::watch, time::sleep};

pub use api::{list, set_status};
pub use assets::{Assets, AssetsError};
pub use client::{Client, Proxies};
pub use error::ApiError;
pub use page::keep_fresh;
pub use sign_up::sign_up;

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
        .route("/api/waitlist", post(api::server_function))
        .route("/api/waitlist/count", get(api::server_function))
        .route("/api", any(api::not_found))
        .route("/api/", any(api::not_found))
        .route("/api/{*path}", any(api::not_found))
        .method_not_allowed_fallback(api::method_not_allowed)
        .fallback(page::file_or_not_found)
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
    /// Started by `cargo leptos watch`: files and pages are read and made anew for each request.
    watch: bool,
}

impl AppState {
    /// Reads the site's files and makes the pages.
    ///
    /// # Errors
    /// [`AssetsError`] when the files are missing or belong to another build.
    pub fn new(config: &Config, list: Arc<dyn Waitlist>) -> Result<Self, AssetsError> {
        let watch = std::env::var_os("LEPTOS_WATCH").is_some();
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

/// Serves until SIGTERM or Ctrl-C, then lets the requests under way finish.
///
/// # Errors
/// What the listener or the signal handler reports.
pub async fn serve(listener: TcpListener, state: AppState) -> io::Result<()> {
    let fresh = tokio::spawn(keep_fresh(state.clone()));
    let (stop, stopped) = watch::channel(());
    let signals = stop_signal()?;
    tokio::spawn(async move {
        signals.await;
        drop(stop);
    });

    let mut told = stopped.clone();
    let server = axum::serve(listener, router(state)).with_graceful_shutdown(async move {
        // An error says that the sender is gone: that is the message.
        let _ = told.changed().await;
    });
    let mut server = tokio::spawn(server.into_future());
    let ended = tokio::select! {
        ended = &mut server => ended,
        () = cut_off(stopped) => {
            tracing::warn!("some requests took too long and were cut off");
            server.abort();
            return Ok(());
        }
    };
    fresh.abort();
    ended.map_err(io::Error::other)?
}

/// Resolves when the requests under way have had their time after the signal to stop.
async fn cut_off(mut stopped: watch::Receiver<()>) {
    let _ = stopped.changed().await;
    tracing::info!("stopping: finishing the requests under way");
    sleep(limits::SHUTDOWN_GRACE).await;
}

/// Resolves at the first SIGTERM or Ctrl-C.
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
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
        privacy_url: url(&config.privacy_url),
        terms_url: url(&config.terms_url),
        support_url: url(&config.support_url),
    }
}
