//! The pages and the files of the site: rendered and compressed in memory, and their handlers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    RequestError,
    limits::{PAGE_MIN_INTERVAL, PAGE_QUIET_PERIOD},
    resource::{Compression, NO_STORE, REVALIDATE, Resource},
    site_files::{SiteFiles, WATCHED_BUILD},
};
use crate::{
    config::Config,
    copy::islands,
    page::{LinkPage, Page, Recipient, document, empty_form},
    waitlist::Waitlist,
    wire::{FormOutcome, FormState},
};

/// The parameter of the page that a successful sign-up without JavaScript redirects to.
pub(super) const JOINED_PARAMETER: &str = "joined";

/// The pages and the files of the site, rendered or ready to be.
pub(super) struct Pages {
    pub(super) files: SiteFiles,
    landing: RwLock<Arc<CachedLanding>>,
    not_found: Resource,
    /// The pages of links that are the same for everybody. A flood of links must not render them.
    links: Mutex<HashMap<LinkPage, Resource>>,
    /// The list, for the count.
    list: Arc<dyn Waitlist>,
    /// Whether people confirm their address.
    pub(super) confirms: bool,
}

/// The landing page with one count.
#[derive(Debug)]
pub(super) struct CachedLanding {
    count: u64,
    plain: Resource,
    /// Reports a successful sign-up.
    joined: Resource,
    /// Reports that a sign-up was rejected before it was read. So a flood of sign-ups costs no rendering.
    pub(super) failed: Resource,
    /// The same for a code.
    pub(super) code_failed: Resource,
}

impl Pages {
    /// Renders the pages.
    pub(super) fn new(config: &Config, list: Arc<dyn Waitlist>, confirms: bool) -> Self {
        let files = SiteFiles::new(config);
        let page = files.page(list.count(), confirms);
        // Not the best one: the server does not accept requests until this is done.
        let compression = Compression::Balanced;
        let not_found = document::not_found_page(page.clone());
        Self {
            landing: RwLock::new(Arc::new(CachedLanding::new(page, compression))),
            not_found: Resource::page(not_found, NO_STORE, compression),
            links: Mutex::default(),
            files,
            list,
            confirms,
        }
    }

    /// Returns the landing page with the latest count for which it was rendered.
    pub(super) fn landing(&self) -> Arc<CachedLanding> {
        Arc::clone(&self.landing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the `ETag` of the landing page in the encoding that a client accepts.
    pub(super) fn landing_etag(&self, request: &HeaderMap) -> Option<HeaderValue> {
        self.landing().plain.etag(request).cloned()
    }

    /// Returns the contents of the landing page as of now.
    fn current(&self) -> Page {
        self.files.page(self.list.count(), self.confirms)
    }

    /// Renders the landing page with the result of a form that was sent without JavaScript.
    pub(super) fn with_form(&self, form: FormState) -> Resource {
        render_with_form(self.current(), form)
    }

    /// Returns the page of a link. A page that names a person has a recipient.
    pub(super) fn link_page(&self, page: LinkPage, recipient: Option<Recipient>) -> Resource {
        let render = |recipient| {
            let html = document::link_page(self.current(), page, recipient);
            Resource::page(html, NO_STORE, Compression::Fast)
        };
        if recipient.is_some() {
            return render(recipient);
        }
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.entry(page).or_insert_with(|| render(None)).clone()
    }
}

impl CachedLanding {
    /// Renders and compresses the page.
    fn new(page: Page, compression: Compression) -> Self {
        let with_result =
            |outcome, message| render_with_form(page.clone(), result_form(outcome, message));
        Self {
            count: page.count,
            joined: with_result(FormOutcome::Joined, islands::JOINED),
            failed: with_result(FormOutcome::Failed, islands::FAILED),
            code_failed: with_result(FormOutcome::Failed, islands::CODE_FAILED),
            plain: Resource::page(document::landing_page(page), REVALIDATE, compression),
        }
    }
}

/// Returns the form after a sign-up whose fields are not shown again.
fn result_form(outcome: FormOutcome, message: &str) -> FormState {
    FormState {
        outcome,
        message: message.into(),
        ..empty_form()
    }
}

fn render_with_form(page: Page, form: FormState) -> Resource {
    let form = Some(form);
    let html = document::landing_page(Page { form, ..page });
    Resource::page(html, NO_STORE, Compression::Fast)
}

/// Rebuilds the landing page whenever the count changes, for as long as the server runs.
///
/// Rebuilds at once, but at most once per [`PAGE_MIN_INTERVAL`]; until then, the previous page is served. After the start,
/// and while the count keeps changing, the page is compressed fast. Once it has been stable for [`PAGE_QUIET_PERIOD`], it
/// is compressed again at the highest quality.
pub(super) async fn keep_fresh(pages: Arc<Pages>) {
    let mut changes = pages.list.watch_count();
    // The count may have changed since the first page was rendered.
    changes.mark_changed();
    let mut compression = Compression::Balanced;
    loop {
        compression = tokio::select! {
            changed = changes.changed() => match changed {
                Ok(()) if pages.list.count() == pages.landing().count => continue,
                Ok(()) => Compression::Balanced,
                Err(_) => return,
            },
            () = sleep(PAGE_QUIET_PERIOD), if compression == Compression::Balanced => Compression::Best,
        };
        let started_at = Instant::now();
        changes.mark_unchanged();
        let page = pages.current();
        match tokio::task::spawn_blocking(move || CachedLanding::new(page, compression)).await {
            Ok(rebuilt) => {
                let mut current = pages
                    .landing
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *current = Arc::new(rebuilt);
            }
            Err(error) => tracing::error!(
                "cannot rebuild the page: {error}; the previous one is still served"
            ),
        }
        sleep_until(started_at + PAGE_MIN_INTERVAL).await;
    }
}

/// `GET /`.
pub(super) async fn landing(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    let mut landing = pages.landing();
    if let Some(directory) = WATCHED_BUILD {
        pages.files.rebuild(directory);
        landing = Arc::new(CachedLanding::new(pages.current(), Compression::Fast));
    }
    let mut parameters = request.uri().query().unwrap_or_default().split('&');
    let page = if !parameters.any(|it| it == JOINED_PARAMETER) {
        &landing.plain
    } else if landing.count == pages.list.count() {
        &landing.joined
    } else {
        // The count must include the visitor who has just joined.
        &pages.with_form(result_form(FormOutcome::Joined, islands::JOINED))
    };
    let mut response = page.respond(StatusCode::OK, request.headers());
    // Says that the browser has the page in its cache, and so the fonts (`islands/head.ts`). Browsers ask for a newer page
    // only then. A script cannot see that, and the site stores nothing in the browser to remember it.
    if request.headers().contains_key(header::IF_NONE_MATCH) {
        let revisit = HeaderValue::from_static("revisit");
        response.headers_mut().insert("server-timing", revisit);
    }
    response
}

/// Serves a file of the site. Responds with 405 to methods other than GET and HEAD, and with the not-found page
/// to unknown paths.
pub(super) async fn file_or_not_found(
    State(pages): State<Arc<Pages>>,
    request: Request,
) -> Response {
    let is_get_or_head = matches!(request.method().as_str(), "GET" | "HEAD");
    let headers = request.headers();
    let assets = pages.files.assets();
    match assets.get(request.uri().path()) {
        Some(file) if is_get_or_head => file.respond(StatusCode::OK, headers),
        // In the format in which axum writes this header for routes.
        Some(_) => (
            [(header::ALLOW, "GET,HEAD")],
            RequestError::MethodNotAllowed,
        )
            .into_response(),
        None => pages.not_found.respond(StatusCode::NOT_FOUND, headers),
    }
}
