//! The landing page and the not-found page, rendered and compressed in memory.
//!
//! The landing page shows the count. A background task rebuilds it when the count changes, at most twice a
//! second, so no request waits for it.

use std::sync::{Arc, PoisonError, RwLock};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use html_escape::encode_quoted_attribute;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    AppState, RequestError,
    error::with_no_store,
    limits::{PAGE_MIN_INTERVAL, PAGE_QUIET_PERIOD},
    resource::{Compression, EncodedBody, HTML_CONTENT_TYPE, NO_STORE, REVALIDATE, Resource},
    source_parameter::SourceParameter,
};
use crate::{
    copy::islands,
    page::{Page, code_form, document, empty_form},
    waitlist::Email,
    wire::{FormOutcome, FormState, FormStep},
};

/// The parameter of the page that a successful sign-up without JavaScript redirects to.
pub(super) const JOINED_PARAMETER: &str = "joined";

/// The parameter of the link that leads from the form for a code back to the one for an address. Without it, the link would
/// be an anchor of the page that asks for the code.
const EMAIL_PARAMETER: &str = "email";

/// Is replaced by the address that a visitor has typed.
const ADDRESS_PLACEHOLDER: &str = "typed-by-a-visitor@example.invalid";

/// The current landing page, and the not-found page.
#[derive(Debug)]
pub(super) struct PageCache {
    landing: RwLock<Arc<CachedLanding>>,
    not_found: Resource,
}

/// The landing page with one count.
#[derive(Debug)]
struct CachedLanding {
    count: u64,
    plain: Resource,
    /// Reports a failed sign-up. Cached, so rejecting a flood of sign-ups costs no rendering.
    failed: Resource,
    /// The same with an address, for each step of the form, split where the address belongs.
    failed_parts: [(FormStep, Vec<String>); 2],
    /// Reports a successful sign-up.
    joined: Resource,
}

impl PageCache {
    /// Renders both pages.
    pub(super) fn new(page: Page) -> Self {
        // Not the best one: the server does not accept requests until this is done.
        let compression = Compression::Balanced;
        let not_found = document::not_found_page(page.clone());
        let not_found = EncodedBody::compress(not_found, compression);
        Self {
            landing: RwLock::new(Arc::new(CachedLanding::new(page, compression))),
            not_found: Resource::new(&HTML_CONTENT_TYPE, NO_STORE, not_found),
        }
    }

    /// Responds with the page that reports that a step of the form has failed without JavaScript, for a reason that has
    /// nothing to do with what was typed. The field keeps a valid address.
    pub(super) fn respond_with_failure(
        &self,
        step: FormStep,
        typed: &str,
        status: StatusCode,
        request: &HeaderMap,
    ) -> Response {
        let landing = self.landing();
        let parts = landing.failed_parts.iter().find(|(it, _)| *it == step);
        let Some(((_, parts), email)) = parts.zip(Email::parse(typed).ok()) else {
            return landing.failed.respond(status, request);
        };
        // An address has neither quotation marks nor backslashes. So this is right in the properties of the island too.
        let html = parts.join(&*encode_quoted_attribute(email.as_typed()));
        let body = EncodedBody::identity(html.into());
        Resource::new(&HTML_CONTENT_TYPE, NO_STORE, body).respond(status, request)
    }

    /// Returns the `ETag` of the landing page in the encoding that a client accepts.
    pub(super) fn etag(&self, request: &HeaderMap) -> Option<HeaderValue> {
        self.landing().plain.etag(request).cloned()
    }

    fn landing(&self) -> Arc<CachedLanding> {
        Arc::clone(&self.landing.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CachedLanding {
    fn new(page: Page, compression: Compression) -> Self {
        let count = page.count;
        let failed = FormState {
            outcome: FormOutcome::Failed,
            message: islands::FAILED.into(),
            ..empty_form()
        };
        let with_address = |form: FormState, message: &str| {
            let form = FormState {
                outcome: FormOutcome::Failed,
                message: message.into(),
                ..form
            };
            let step = form.step;
            let html = document::landing_page(Page {
                form: Some(form),
                ..page.clone()
            });
            (
                step,
                html.split(ADDRESS_PLACEHOLDER).map(str::to_owned).collect(),
            )
        };
        let email_form = FormState {
            email: ADDRESS_PLACEHOLDER.into(),
            ..empty_form()
        };
        let failed_parts = [
            with_address(email_form, islands::FAILED),
            with_address(code_form(ADDRESS_PLACEHOLDER), islands::CODE_FAILED),
        ];
        let failed = render_with_form(page.clone(), failed);
        let joined = render_with_form(page.clone(), joined_form());
        let plain = EncodedBody::compress(document::landing_page(page), compression);
        Self {
            count,
            plain: Resource::new(&HTML_CONTENT_TYPE, REVALIDATE, plain),
            failed,
            failed_parts,
            joined,
        }
    }
}

/// Rebuilds the landing page whenever the count changes, for as long as the server runs.
///
/// Rebuilds at once, but at most once per [`PAGE_MIN_INTERVAL`]; until then, the previous page is served. After the start,
/// and while the count keeps changing, the page is compressed fast. Once it has been stable for [`PAGE_QUIET_PERIOD`], it
/// is compressed again at the highest quality.
pub(super) async fn keep_fresh(state: AppState) {
    let mut changes = state.list.watch_count();
    // The count may have changed since the first page was rendered.
    changes.mark_changed();
    let mut compression = Compression::Balanced;
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
pub(super) async fn landing(State(state): State<AppState>, request: Request) -> Response {
    let landing = if state.files.is_watching() {
        Arc::new(CachedLanding::new(state.current_page(), Compression::Fast))
    } else {
        state.page_cache.landing()
    };
    let (request, _) = request.into_parts();
    let query = request.uri.query().unwrap_or_default();
    if query == EMAIL_PARAMETER
        && let Some(parameter) = SourceParameter::from_referer(&state, &request)
    {
        let redirect = Redirect::to(&format!("/?{parameter}"));
        return with_no_store(redirect.into_response(), None);
    }
    let mut parameters = query.split('&');
    let page = if !parameters.any(|parameter| parameter == JOINED_PARAMETER) {
        &landing.plain
    } else if landing.count == state.list.count() {
        &landing.joined
    } else {
        // The count must include the visitor who has just joined.
        &render_with_form(state.current_page(), joined_form())
    };
    let mut response = page.respond(StatusCode::OK, &request.headers);
    if request.headers.contains_key(header::IF_NONE_MATCH) {
        let (name, value) = REVISIT;
        response.headers_mut().insert(name, value);
    }
    response
}

fn joined_form() -> FormState {
    FormState {
        outcome: FormOutcome::Joined,
        message: islands::JOINED.into(),
        ..empty_form()
    }
}

/// Renders the landing page with the result of a form that was sent without JavaScript.
pub(super) fn render_with_form(page: Page, form: FormState) -> Resource {
    let form = Some(form);
    let html = document::landing_page(Page { form, ..page });
    let body = EncodedBody::compress(html, Compression::Fast);
    Resource::new(&HTML_CONTENT_TYPE, NO_STORE, body)
}

/// Serves a file of the site. Responds with 405 to methods other than GET and HEAD, and with the not-found page
/// to unknown paths.
pub(super) async fn file_or_not_found(State(state): State<AppState>, request: Request) -> Response {
    let is_get_or_head = matches!(request.method().as_str(), "GET" | "HEAD");
    let headers = request.headers();
    let assets = state.files.assets();
    match assets.get(request.uri().path()) {
        Some(file) if is_get_or_head => file.respond(StatusCode::OK, headers),
        // In the format in which axum writes this header for routes.
        Some(_) => (
            [(header::ALLOW, "GET,HEAD")],
            RequestError::MethodNotAllowed,
        )
            .into_response(),
        None => {
            let page = &state.page_cache.not_found;
            page.respond(StatusCode::NOT_FOUND, headers)
        }
    }
}
