//! `/unsubscribe/{token}`: the way out.
//!
//! A GET changes nothing, because mail programs and scanners open links. A POST takes the person off the list. It
//! comes from the button on the page, or from the mail program itself (one-click, RFC 8058): then it has neither a
//! cookie nor an `Origin`, and its body does not matter. So it is exempt from the cross-site check and from the limits
//! per client. A token cannot be guessed, and a repeated POST costs little.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};

use super::{
    AppState, RequestError,
    api::read_body,
    error::with_no_store,
    limits::LIST_KEYS_MAX_AGE,
    resource::{Compression, EncodedBody, HTML_CONTENT_TYPE, NO_STORE, Resource},
};
use crate::{
    mail::{PersonTokens, TokenPurpose},
    page::{Page, UnsubscribeStep, document},
    waitlist::{Email, Erasure, StoreError, Waitlist},
};

/// The pages. They are the same for every token.
#[derive(Debug)]
pub(super) struct UnsubscribePages {
    ask: Resource,
    done: Resource,
    invalid: Resource,
    failed: Resource,
}

/// The tokens of the list, with its keys as they were a moment ago.
#[derive(Default)]
pub(super) struct TokenCache(Mutex<Option<(Instant, Arc<PersonTokens>)>>);

impl UnsubscribePages {
    /// Renders the pages.
    pub(super) fn new(page: &Page) -> Self {
        let render = |step| {
            let html = document::unsubscribe_page(page.clone(), step);
            let body = EncodedBody::compress(html, Compression::Balanced);
            Resource::new(&HTML_CONTENT_TYPE, NO_STORE, body)
        };
        Self {
            ask: render(UnsubscribeStep::Ask),
            done: render(UnsubscribeStep::Done),
            invalid: render(UnsubscribeStep::Invalid),
            failed: render(UnsubscribeStep::Failed),
        }
    }
}

impl TokenCache {
    async fn tokens(&self, list: &dyn Waitlist) -> Result<Arc<PersonTokens>, StoreError> {
        let cached = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((read_at, tokens)) = cached
            && read_at.elapsed() < LIST_KEYS_MAX_AGE
        {
            return Ok(tokens);
        }
        let tokens = Arc::new(PersonTokens::new(
            &list.keys().await?,
            TokenPurpose::Unsubscribe,
        ));
        let fresh = Some((Instant::now(), Arc::clone(&tokens)));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(tokens)
    }
}

/// `GET /unsubscribe/{token}`: asks.
pub(super) async fn ask(
    State(state): State<AppState>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Response {
    let pages = &state.unsubscribe_pages;
    match find_person(&state, &token).await {
        Ok(Some(_)) => respond_privately(&pages.ask, StatusCode::OK, &headers),
        Ok(None) => respond_privately(&pages.invalid, StatusCode::NOT_FOUND, &headers),
        Err(error) => respond_with_failure(&state, error, &headers),
    }
}

/// `POST /unsubscribe/{token}`: takes the person off the list.
pub(super) async fn unsubscribe(
    State(state): State<AppState>,
    Path(token): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    // It is read, so that the connection can be used again. If it is too long or breaks off, the person leaves all the
    // same.
    let _ = read_body(&state, body).await;
    let pages = &state.unsubscribe_pages;
    let person = match find_person(&state, &token).await {
        Ok(person) => person,
        Err(error) => return respond_with_failure(&state, error, &parts.headers),
    };
    let Some(email) = person else {
        return respond_privately(&pages.invalid, StatusCode::NOT_FOUND, &parts.headers);
    };
    match leave(&*state.list, email).await {
        Ok(()) => respond_privately(&pages.done, StatusCode::OK, &parts.headers),
        Err(error) => respond_with_failure(&state, error, &parts.headers),
    }
}

async fn find_person(state: &AppState, token: &str) -> Result<Option<Email>, StoreError> {
    let tokens = state.unsubscribe_tokens.tokens(&*state.list).await?;
    Ok(tokens.person(token))
}

/// Erases a person and suppresses the address. An erasure reads the whole list, so it is not repeated.
async fn leave(list: &dyn Waitlist, email: Email) -> Result<(), StoreError> {
    let emails = [email];
    let is_listed = list.are_listed(&emails).await? == [true];
    if is_listed || !list.is_suppressed(&emails[0]).await? {
        list.erase(&emails, Erasure::Suppress).await?;
    }
    Ok(())
}

/// Responds with a page whose URL names a person.
pub(super) fn respond_privately(
    page: &Resource,
    status: StatusCode,
    request: &HeaderMap,
) -> Response {
    let mut response = page.respond(status, request);
    let headers = response.headers_mut();
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    let name = HeaderName::from_static("x-robots-tag");
    headers.insert(name, HeaderValue::from_static("noindex"));
    response
}

fn respond_with_failure(state: &AppState, error: StoreError, request: &HeaderMap) -> Response {
    tracing::error!("a person could not unsubscribe: {error}");
    let error = RequestError::Unavailable(error);
    let page = respond_privately(&state.unsubscribe_pages.failed, error.status(), request);
    with_no_store(page, error.retry_after())
}
