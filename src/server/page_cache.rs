//! The landing page and the not-found page, rendered and compressed in memory. The landing page shows the count.

use std::sync::{Arc, PoisonError, RwLock};

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode},
    response::Response,
};
use html_escape::encode_quoted_attribute;

use super::resource::{
    Compression, EncodedBody, HTML_CONTENT_TYPE, NO_STORE, REVALIDATE, Resource,
};
use crate::{
    copy::islands,
    page::{Page, code_form, document, empty_form},
    waitlist::Email,
    wire::{FormOutcome, FormState, FormStep, SignUpBody},
};

/// The parameter of the page that a successful sign-up without JavaScript redirects to.
pub(super) const JOINED_PARAMETER: &str = "joined";

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
pub(super) struct CachedLanding {
    pub(super) count: u64,
    pub(super) plain: Resource,
    /// Reports a failed sign-up. Cached, so rejecting a flood of sign-ups costs no rendering.
    failed: Resource,
    /// The same with an address, for each step of the form, split where the address belongs.
    failed_parts: [(FormStep, Vec<String>); 2],
    /// Reports a successful sign-up.
    pub(super) joined: Resource,
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

    pub(super) fn not_found(&self) -> &Resource {
        &self.not_found
    }

    pub(super) fn landing(&self) -> Arc<CachedLanding> {
        Arc::clone(&self.landing.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn replace_landing(&self, landing: CachedLanding) {
        let mut current = self.landing.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(landing);
    }
}

impl CachedLanding {
    /// Renders and compresses the page.
    pub(super) fn new(page: Page, compression: Compression) -> Self {
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
            sign_up: SignUpBody::with_email(ADDRESS_PLACEHOLDER),
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

/// Returns the form after a successful sign-up.
pub(super) fn joined_form() -> FormState {
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
