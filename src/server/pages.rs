//! The pages and the files of the site: their handlers, and what they share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::{self, MethodRouter},
};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    AppState, RequestError,
    admission::Admission,
    error::with_no_store,
    limits::{PAGE_MIN_INTERVAL, PAGE_QUIET_PERIOD},
    page_cache::{CachedLanding, JOINED_PARAMETER, PageCache, joined_form, render_with_form},
    resource::{Compression, EncodedBody, HTML_CONTENT_TYPE, NO_STORE, Resource},
    site_files::SiteFiles,
    source_parameter::SourceParameter,
    text_files::TextFiles,
};
use crate::{
    config::Config,
    page::{LinkPage, Page, Recipient, document},
    waitlist::Waitlist,
};

/// The parameter of the link that leads from the form for a code back to the one for an address. Without it, the link would
/// be an anchor of the page that asks for the code.
const EMAIL_PARAMETER: &str = "email";

/// The pages and the files of the site, rendered or ready to be.
pub(super) struct Pages {
    pub(super) files: SiteFiles,
    pub(super) cache: PageCache,
    texts: TextFiles,
    /// The pages of links that are the same for everybody, rendered at the first request. A flood of links must not render
    /// them.
    links: Mutex<HashMap<LinkPage, Resource>>,
    /// The list, for the count.
    list: Arc<dyn Waitlist>,
    /// Whether people confirm their address.
    pub(super) confirms: bool,
}

impl Pages {
    /// Renders the pages.
    pub(super) fn new(config: &Config, list: Arc<dyn Waitlist>, confirms: bool) -> Self {
        let files = SiteFiles::new(config);
        Self {
            cache: PageCache::new(files.page(list.count(), confirms)),
            texts: TextFiles::new(files.site()),
            links: Mutex::default(),
            files,
            list,
            confirms,
        }
    }

    /// Returns the contents of the landing page as of now.
    pub(super) fn current(&self) -> Page {
        self.files.page(self.list.count(), self.confirms)
    }

    /// Responds with a page of a link. Without a recipient it is the same for everybody.
    pub(super) fn link_page(
        &self,
        page: LinkPage,
        recipient: Option<Recipient>,
        status: StatusCode,
        request: &HeaderMap,
    ) -> Response {
        if recipient.is_some() {
            let page = self.render_link(page, recipient, Compression::Fast);
            return with_private_headers(page.respond(status, request));
        }
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let resource = links
            .entry(page)
            .or_insert_with(|| self.render_link(page, None, Compression::Balanced));
        with_private_headers(resource.respond(status, request))
    }

    fn render_link(
        &self,
        page: LinkPage,
        recipient: Option<Recipient>,
        compression: Compression,
    ) -> Resource {
        let html = document::link_page(self.current(), page, recipient);
        let body = EncodedBody::compress(html, compression);
        Resource::new(&HTML_CONTENT_TYPE, NO_STORE, body)
    }
}

/// Adds the headers of a page whose URL names a person.
fn with_private_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    let name = HeaderName::from_static("x-robots-tag");
    headers.insert(name, HeaderValue::from_static("noindex"));
    response
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
                Ok(()) if pages.list.count() == pages.cache.landing().count => continue,
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
                pages.cache.replace_landing(rebuilt);
            }
            Err(error) => tracing::error!(
                "cannot rebuild the page: {error}; the previous one is still served"
            ),
        }
        sleep_until(started_at + PAGE_MIN_INTERVAL).await;
    }
}

/// Tells the page that the browser has it in its cache, and so the fonts (`islands/head.ts`). Browsers ask for a
/// newer page only then. A script cannot see that, and the site stores nothing in the browser to remember it.
const REVISIT: (HeaderName, HeaderValue) = (
    HeaderName::from_static("server-timing"),
    HeaderValue::from_static("revisit"),
);

/// `GET /`.
pub(super) async fn landing(
    State(pages): State<Arc<Pages>>,
    State(admission): State<Arc<Admission>>,
    request: Request,
) -> Response {
    let landing = if pages.files.is_watching() {
        Arc::new(CachedLanding::new(pages.current(), Compression::Fast))
    } else {
        pages.cache.landing()
    };
    let (request, _) = request.into_parts();
    let query = request.uri.query().unwrap_or_default();
    if query == EMAIL_PARAMETER
        && let Some(parameter) = SourceParameter::from_referer(&admission, &request)
    {
        let redirect = Redirect::to(&format!("/?{parameter}"));
        return with_no_store(redirect.into_response(), None);
    }
    let mut parameters = query.split('&');
    let page = if !parameters.any(|parameter| parameter == JOINED_PARAMETER) {
        &landing.plain
    } else if landing.count == pages.list.count() {
        &landing.joined
    } else {
        // The count must include the visitor who has just joined.
        &render_with_form(pages.current(), joined_form())
    };
    let mut response = page.respond(StatusCode::OK, &request.headers);
    if request.headers.contains_key(header::IF_NONE_MATCH) {
        let (name, value) = REVISIT;
        response.headers_mut().insert(name, value);
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
        None => {
            let page = pages.cache.not_found();
            page.respond(StatusCode::NOT_FOUND, headers)
        }
    }
}

/// Returns the handler of one text file.
pub(super) fn text_file(select: fn(&TextFiles) -> &Resource) -> MethodRouter<AppState> {
    routing::get(
        move |State(pages): State<Arc<Pages>>, request: Request| async move {
            select(&pages.texts).respond(StatusCode::OK, request.headers())
        },
    )
}
