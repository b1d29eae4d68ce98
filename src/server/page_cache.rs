//! The two pages, rendered and compressed in memory.
//!
//! The landing page shows the count. It is rebuilt in the background when the count changes, at most twice a
//! second, so no request waits for it.

use std::{
    panic::resume_unwind,
    sync::{Arc, PoisonError, RwLock},
    thread,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    AppState, RequestError,
    limits::{PAGE_MIN_INTERVAL, PAGE_QUIET_PERIOD},
    resource::{Compression, EncodedBody, HTML_CONTENT_TYPE, NO_STORE, REVALIDATE, Resource},
};
use crate::{
    copy::reply,
    page::{FormReply, Page, document},
    wire::FormOutcome,
};

/// The query of the page after a successful sign-up by the plain HTML form.
const JOINED_QUERY: &str = "joined";

/// The landing page of this moment, and the not-found page.
#[derive(Debug)]
pub(super) struct PageCache {
    landing: RwLock<Arc<CachedLanding>>,
    not_found: Resource,
}

/// The landing page with one count.
#[derive(Debug)]
struct CachedLanding {
    count: u64,
    page: Resource,
    /// Says in the form that it failed. Kept, so that to turn a crowd away costs nothing.
    failed: Resource,
    /// Says in the form that it worked.
    joined: Resource,
}

impl PageCache {
    pub(super) fn new(page: Page) -> Self {
        thread::scope(|scope| {
            let landing = scope.spawn(|| CachedLanding::new(page.clone(), Compression::Best));
            let not_found =
                EncodedBody::compress(document::not_found_page(page.clone()), Compression::Best);
            let not_found = Resource::new(&HTML_CONTENT_TYPE, NO_STORE, not_found);
            let landing = landing.join().unwrap_or_else(|panic| resume_unwind(panic));
            Self {
                landing: RwLock::new(Arc::new(landing)),
                not_found,
            }
        })
    }

    /// Responds with the page that reports a failed sign-up by the plain HTML form.
    pub(super) fn respond_with_failure(&self, status: StatusCode, request: &HeaderMap) -> Response {
        self.landing().failed.respond(status, request)
    }

    fn landing(&self) -> Arc<CachedLanding> {
        Arc::clone(&self.landing.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CachedLanding {
    fn new(page: Page, compression: Compression) -> Self {
        let count = page.count;
        let failed = FormReply::failure(FormOutcome::Failed, reply::FAILED, String::new());
        let failed = render_with_reply(page.clone(), failed);
        let joined = render_with_reply(page.clone(), FormReply::success());
        let page = EncodedBody::compress(document::landing_page(page), compression);
        Self {
            count,
            page: Resource::new(&HTML_CONTENT_TYPE, REVALIDATE, page),
            failed,
            joined,
        }
    }
}

/// Makes the landing page anew whenever the count has changed, for as long as the server runs: at
/// once, but not more often than once in [`PAGE_MIN_INTERVAL`]. Until then the one before is served. What is
/// soon made anew is compressed in haste, and as far as it goes when it has stayed for [`PAGE_QUIET_PERIOD`].
pub(super) async fn keep_fresh(state: AppState) {
    let mut changes = state.list.watch_count();
    // It may have changed since the first page was made.
    changes.mark_changed();
    let mut compression = Compression::Best;
    loop {
        compression = tokio::select! {
            changed = changes.changed() => match changed {
                Ok(()) if state.list.count() == state.page_cache.landing().count => continue,
                Ok(()) => Compression::Balanced,
                Err(_) => return,
            },
            () = sleep(PAGE_QUIET_PERIOD), if compression == Compression::Balanced => Compression::Best,
        };
        let started_at = Instant::now();
        changes.mark_unchanged();
        let page = state.current_page();
        match tokio::task::spawn_blocking(move || CachedLanding::new(page, compression)).await {
            Ok(rebuilt) => {
                let landing = &state.page_cache.landing;
                *landing.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rebuilt);
            }
            Err(error) => tracing::error!("the page can't be made anew: {error}"),
        }
        sleep_until(started_at + PAGE_MIN_INTERVAL).await;
    }
}

/// `GET /`
pub(super) async fn landing(State(state): State<AppState>, request: Request) -> Response {
    let landing = if state.is_watching {
        Arc::new(CachedLanding::new(state.current_page(), Compression::Fast))
    } else {
        state.page_cache.landing()
    };
    let page = match request.uri().query() {
        // Somebody who has just joined counts.
        Some(JOINED_QUERY) if landing.count != state.list.count() => {
            &render_with_reply(state.current_page(), FormReply::success())
        }
        Some(JOINED_QUERY) => &landing.joined,
        _ => &landing.page,
    };
    page.respond(StatusCode::OK, request.headers())
}

/// The landing page with the answer to a form that posted itself.
pub(super) fn render_with_reply(page: Page, reply: FormReply) -> Resource {
    let reply = Some(reply);
    let html = document::landing_page(Page { reply, ..page });
    Resource::new(
        &HTML_CONTENT_TYPE,
        NO_STORE,
        EncodedBody::compress(html, Compression::Fast),
    )
}

/// `GET` of a file of the site, 405 for other methods on it, and 404 for every other path.
pub(super) async fn file_or_not_found(State(state): State<AppState>, request: Request) -> Response {
    let is_get_or_head = matches!(request.method().as_str(), "GET" | "HEAD");
    let headers = request.headers();
    let assets = state.assets();
    match assets.get(request.uri().path()) {
        Some(file) if is_get_or_head => file.respond(StatusCode::OK, headers),
        // Like axum's own answer for a route.
        Some(_) => (
            [(header::ALLOW, "GET,HEAD")],
            RequestError::MethodNotAllowed,
        )
            .into_response(),
        None => state
            .page_cache
            .not_found
            .respond(StatusCode::NOT_FOUND, headers),
    }
}
