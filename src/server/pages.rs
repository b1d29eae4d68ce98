//! The pages and the files of the site: rendered and compressed in memory, and their handlers.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use lru::LruCache;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use super::{
    RequestError,
    limits::{PAGE_MIN_INTERVAL, PAGE_QUIET_PERIOD},
    resource::{Compression, NO_STORE, REVALIDATE, Resource},
    response_headers::ResponseHeaders,
    site_files::{SiteFiles, WATCHED_BUILD},
};
use crate::{
    config::Config,
    copy::islands::waitlist_form,
    page::{LinkPage, Page, Recipient, document, empty_form},
    waitlist::{Waitlist, locked},
    wire::{FormOutcome, FormState},
};

/// The parameter of the page that a successful sign-up without JavaScript redirects to.
pub(super) const JOINED_PARAMETER: &str = "joined";

/// Where a form posts: to the URL of its page. An anchor alone keeps the query, which may say where the visitor comes from, or
/// that an address was listed.
pub(super) const SAME_URL: &str = "#waitlist";
/// Where the form for an address posts on any other page.
pub(super) const SIGN_UP_URL: &str = "/#waitlist";

/// Maximum number of pages that are kept besides the landing page, about 75 KB each.
const KEPT_PAGES_MAX: NonZeroUsize = NonZeroUsize::new(32).unwrap();

/// The pages and the files of the site, rendered or ready to be, and the headers that they need.
pub(super) struct Pages {
    pub(super) response_headers: ResponseHeaders,
    pub(super) files: SiteFiles,
    /// The landing page with the latest count for which it was rendered. Nobody watches it: a channel has no lock that a panic
    /// poisons.
    landing: watch::Sender<Landing>,
    not_found: Resource,
    /// The pages that were requested last and name nobody. A flood of equal requests must not render them.
    kept: Mutex<LruCache<KeptPage, Resource>>,
    /// The list, for the count.
    list: Arc<dyn Waitlist>,
    /// Whether people confirm their address.
    pub(super) confirms: bool,
}

/// The landing page with one count.
struct Landing {
    count: u64,
    page: Resource,
}

/// What a page is rendered from when it is requested.
#[derive(Clone, Eq, Hash, PartialEq)]
enum KeptPage {
    /// The landing page with a count, with the result of a form that was sent without JavaScript, and where it posts.
    Form(u64, FormState, &'static str),
    /// The page of a link. One that names a person has a recipient.
    Link(LinkPage, Option<Recipient>),
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
            response_headers: ResponseHeaders::new(&files, config.hsts),
            landing: watch::Sender::new(Landing::new(page, compression)),
            not_found: Resource::page(not_found, NO_STORE, compression),
            kept: Mutex::new(LruCache::new(KEPT_PAGES_MAX)),
            files,
            list,
            confirms,
        }
    }

    /// Returns the `ETag` of the landing page in the encoding that a client accepts.
    pub(super) fn landing_etag(&self, request: &HeaderMap) -> Option<HeaderValue> {
        self.landing.borrow().page.etag(request).cloned()
    }

    /// Builds the files from the sources as of now, and the landing page with them.
    fn rebuild(&self, directory: &str) {
        self.files.rebuild(directory);
        locked(&self.kept).clear();
        let landing = Landing::new(self.current(), Compression::Fast);
        self.landing.send_replace(landing);
    }

    /// Returns the contents of the landing page as of now.
    fn current(&self) -> Page {
        self.files.page(self.list.count(), self.confirms)
    }

    /// Returns the landing page with the result of a form that was sent without JavaScript. Its count includes a visitor who
    /// has just joined. `action` is where the form posts.
    pub(super) fn with_form(&self, form: FormState, action: &'static str) -> Resource {
        self.page(KeptPage::Form(self.list.count(), form, action))
    }

    /// Returns the page of a link. A page that names a person has a recipient.
    pub(super) fn link_page(&self, page: LinkPage, recipient: Option<Recipient>) -> Resource {
        self.page(KeptPage::Link(page, recipient))
    }

    /// Returns a page, and renders it unless it is kept. Nobody waits for another request, so several may render it at first.
    fn page(&self, page: KeptPage) -> Resource {
        if let Some(rendered) = locked(&self.kept).get(&page) {
            return rendered.clone();
        }
        let html = match page.clone() {
            KeptPage::Form(count, form, form_action) => document::landing_page(Page {
                form: Some(form),
                form_action,
                ..self.files.page(count, self.confirms)
            }),
            KeptPage::Link(link, recipient) => document::link_page(self.current(), link, recipient),
        };
        let rendered = Resource::page(html, NO_STORE, Compression::Fast);
        if page.names_nobody() {
            locked(&self.kept).put(page, rendered.clone());
        }
        rendered
    }
}

impl KeptPage {
    fn names_nobody(&self) -> bool {
        match self {
            Self::Form(_, form, _) => form.sign_up.email.is_empty(),
            Self::Link(_, recipient) => recipient.is_none(),
        }
    }
}

impl Landing {
    /// Renders and compresses the page.
    fn new(page: Page, compression: Compression) -> Self {
        Self {
            count: page.count,
            page: Resource::page(document::landing_page(page), REVALIDATE, compression),
        }
    }
}

/// Rebuilds the landing page whenever the count changes, for as long as the server runs.
///
/// Rebuilds at once, but at most once per [`PAGE_MIN_INTERVAL`]; until then, the previous page is served. After the start,
/// and while the count keeps changing, the page is compressed as [`Compression::Balanced`]. Once it has been stable for
/// [`PAGE_QUIET_PERIOD`], it is compressed again as [`Compression::Best`].
pub(super) async fn keep_fresh(pages: Arc<Pages>) {
    let mut changes = pages.list.watch_count();
    // The count may have changed since the first page was rendered.
    changes.mark_changed();
    let mut compression = Compression::Balanced;
    loop {
        compression = tokio::select! {
            changed = changes.changed() => match changed {
                Ok(()) if pages.list.count() == pages.landing.borrow().count => continue,
                Ok(()) => Compression::Balanced,
                Err(_) => return,
            },
            () = sleep(PAGE_QUIET_PERIOD), if compression == Compression::Balanced => Compression::Best,
        };
        let started_at = Instant::now();
        changes.mark_unchanged();
        let page = pages.current();
        match tokio::task::spawn_blocking(move || Landing::new(page, compression)).await {
            Ok(rebuilt) => drop(pages.landing.send_replace(rebuilt)),
            Err(error) => tracing::error!(
                "cannot rebuild the page: {error}; the previous one is still served"
            ),
        }
        sleep_until(started_at + PAGE_MIN_INTERVAL).await;
    }
}

/// `GET /`.
pub(super) async fn landing(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    if let Some(directory) = WATCHED_BUILD {
        // It takes a second, and other requests go on.
        tokio::task::block_in_place(|| pages.rebuild(directory));
    }
    let mut parameters = request.uri().query().unwrap_or_default().split('&');
    let headers = request.headers();
    let mut response = match parameters.any(|it| it == JOINED_PARAMETER) {
        true => {
            let form = FormState {
                outcome: FormOutcome::Joined,
                message: waitlist_form::JOINED.into(),
                ..empty_form()
            };
            // Without the query, which would still say so after an error.
            let page = pages.with_form(form, SIGN_UP_URL);
            page.respond(StatusCode::OK, headers)
        }
        false => pages.landing.borrow().page.respond(StatusCode::OK, headers),
    };
    // Says that the browser has the page in its cache, and so the fonts (`islands/head.ts`). Browsers ask for a newer page
    // only then. A script cannot see that, and the site stores nothing in the browser to remember it.
    if headers.contains_key(header::IF_NONE_MATCH) {
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
